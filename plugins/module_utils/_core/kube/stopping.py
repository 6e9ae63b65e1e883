# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Stops a job as the model says: by itself, or with all others of its queue."""

from __future__ import annotations

import contextlib
import typing as t

from .errors import AlreadyExistsError

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .client import Object
    from .wanted import Run


def stop(run: Run, live: Mapping[str, t.Any], orders: tuple[Object, Object | None]) -> Object:
    """The job as it is once its reason stands on it; its engine has been told, or where there is none it is deleted.

    :param live: of the job's object at least its kind and identity
    :raises NotFoundError: when it is gone
    """
    patch, command = orders
    kind, name, namespace = run.client.address(live, deadline=run.deadline)
    found = run.client.patch(kind, name, patch, namespace, deadline=run.deadline)
    if command is not None:
        with contextlib.suppress(AlreadyExistsError):  # it was told already
            run.client.create(command, deadline=run.deadline)
    else:
        run.client.delete(kind, name, namespace, uid=live["metadata"]["uid"], deadline=run.deadline)
    return found
