# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What a job's declaration names that the cluster has to be asked about, and what is needed of the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .. import queue as queues
from ..own import FILE_SYSTEM_ID
from . import tasks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .tasks import Mount, Queue


class Named(NamedTuple):
    flavours: bool
    mounts: bool
    queue: str
    # Another kind of object than the usual one.
    kind: str


def named(spec: Mapping[str, Any]) -> Named:
    members = [spec, *spec.get("members", ())]
    flavours = [one.get("flavour", {}) for one in members] + [tasks.limit_flavour(one) for one in members]
    kind = tasks.kind(spec)
    return Named(
        flavours=any(tasks.named(flavour) not in ("", "NONE") for flavour in flavours),
        mounts=any("fs" in one or one.get("extraFS") for one in members),
        queue=tasks.queue(spec),
        kind="" if kind == tasks.VOLCANO else kind,
    )


def mount(found: Mapping[str, Any]) -> Mount:
    """Where a file system's data is for a pod."""
    identity = found["metadata"].get("annotations", {}).get(FILE_SYSTEM_ID, f"fs-{found['metadata']['name']}")
    url: str = found["spec"]["url"]
    if url.startswith("local://"):
        return {"id": identity, "hostPath": url.removeprefix("local:/")}
    return {"id": identity}


def queue(found: Mapping[str, Any]) -> Queue:
    declared = queues.declared(found)
    known: Queue = {"state": found.get("status", {}).get("state", "Open")}
    if "max" in declared:
        known["max"] = declared["max"]
    if "nodeGroup" in declared:
        known["nodeGroup"] = declared["nodeGroup"]
    return known
