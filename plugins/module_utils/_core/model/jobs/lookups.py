# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What a job's declaration names that the cluster has to be asked about, and what is needed of the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .. import queue as queues
from ..own import FILE_SYSTEM_ID
from . import pods, tasks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .tasks import Mount, Queue


class Named(NamedTuple):
    flavours: frozenset[str]
    # Names and identifiers of file systems.
    mounts: frozenset[str]
    queue: str
    # Another kind of object than the usual one.
    kind: str


def named(spec: Mapping[str, Any]) -> Named:
    members = [spec, *spec.get("members", ())]
    flavours = [one.get("flavour", {}) for one in members] + [tasks.limit_flavour(one) for one in members]
    kind = tasks.kind(spec)
    return Named(
        flavours=frozenset(tasks.named(flavour) for flavour in flavours) - {"", "NONE"},
        mounts=frozenset(
            pods.named(mount)
            for one in members
            for mount in [*([one["fs"]] if "fs" in one else []), *one.get("extraFS", ())]
        )
        - {""},
        queue=tasks.queue(spec),
        kind="" if kind == tasks.VOLCANO else kind,
    )


def nameless(spec: Mapping[str, Any]) -> bool:
    """Whether nothing says what kind of object a job is that somebody only names."""
    return tasks.kind(spec) == tasks.VOLCANO and tasks.KIND not in spec.get("annotations", {})


def mount(found: Mapping[str, Any]) -> Mount:
    """Where a file system's data is for a pod."""
    identity = found["metadata"].get("annotations", {}).get(FILE_SYSTEM_ID, f"fs-{found['metadata']['name']}")
    url: str = found["spec"]["url"]
    known: Mount = {"id": identity, "type": url.partition("://")[0]}
    if known["type"] == "local":
        known["hostPath"] = url.removeprefix("local:/")
    return known


def queue(found: Mapping[str, Any]) -> Queue:
    declared = queues.declared(found)
    known: Queue = {"state": found.get("status", {}).get("state", "Open")}
    if "max" in declared:
        known["max"] = declared["max"]
    if "nodeGroup" in declared:
        known["nodeGroup"] = declared["nodeGroup"]
    return known
