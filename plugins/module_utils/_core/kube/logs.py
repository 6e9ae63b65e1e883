# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What a container wrote."""

from __future__ import annotations

import math
import typing as t

from .errors import Asked

if t.TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from .client import Client


def logs(
    client: Client,
    pod: str,
    namespace: str,
    *,
    container: str = "",
    tail: int | None = None,
    since_seconds: int | None = None,
    previous: bool = False,
    timestamps: bool = False,
    follow: bool = False,
    deadline: float | None = None,
    opened: Callable[[socket.socket], None] | None = None,
) -> Iterator[str]:
    """Its lines; with ``follow`` as they come, until the container ends.

    :param opened: is given the socket, so that another thread can shut it down
    """
    wanted = {
        "container": container or None,
        "tailLines": tail,
        "sinceSeconds": since_seconds,
        "previous": "true" if previous else None,
        "timestamps": "true" if timestamps else None,
        "follow": "true" if follow else None,
    }
    path = client.kind("v1", "Pod").object_path(pod, namespace, "log")
    query = [(key, value) for key, value in wanted.items() if value is not None]
    if follow and deadline is None:
        deadline = math.inf
    asked = Asked("read the log of", "Pod", pod, namespace, "v1")
    for line in client.transport.lines(path, query=query, asked=asked, deadline=deadline, opened=opened):
        yield line.decode("utf-8", "replace")
