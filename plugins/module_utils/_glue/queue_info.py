# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What the info module of queues says beyond the queues themselves: how much of each is used, and who waits in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core.kube import queues
from .._core.model import queue_use

if TYPE_CHECKING:
    from .._core.kube.client import Client, Object
    from .module import Module


def more(_module: Module, client: Client, deadline: float, found: list[Object], entries: list[dict[str, Any]]) -> None:
    users = queues.users(client, {one["metadata"]["name"] for one in found}, deadline)
    for one, entry in zip(found, entries, strict=True):
        inside = users.get(one["metadata"]["name"], [])
        waiting = queue_use.waiting(inside)
        entry["state"] = one.get("status", {}).get("state", "")
        entry["used"] = dict(one.get("status", {}).get("allocated", {}))
        entry["running"] = len(inside) - len(waiting)
        entry["pending"] = waiting
