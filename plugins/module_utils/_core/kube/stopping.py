# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Stops a job as the model says: by itself, or with all others of its queue."""

from __future__ import annotations

import typing as t

from ..model.jobs.stop import STOP
from .errors import AlreadyExistsError

if t.TYPE_CHECKING:
    from .client import Object
    from .wanted import Run


def stop(run: Run, live: Object, orders: tuple[Object, Object | None]) -> Object | None:
    """The job as it is once its reason stands on it; its engine has been told, or where there is none it is deleted. None
    when both were done before. A reason that stands there alone is that of a stop which failed in the middle, so it stays.

    :param live: of the job's object at least its kind and identity
    :raises NotFoundError: when it is gone
    """
    patch, command = orders
    kind, name, namespace = run.client.address(live, deadline=run.deadline)
    begun = STOP in live["metadata"].get("annotations", {})
    found = live if begun else run.client.patch(kind, name, patch, namespace, dry_run=run.check, deadline=run.deadline)
    if command is None:
        uid = live["metadata"]["uid"]
        run.client.delete(kind, name, namespace, uid=uid, dry_run=run.check, deadline=run.deadline)
        return found
    try:
        run.client.create(command, dry_run=run.check, deadline=run.deadline)
    except AlreadyExistsError:  # it was told already
        return None if begun else found
    return found
