# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The way in which the info module of the cluster works: what its nodes are and have, and what it serves of the platform."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from .._core.kube import inventory as reader
from .._core.kube.errors import ForbiddenError
from .._core.plan import capacity, inventory
from . import arguments, info

if TYPE_CHECKING:
    from .._core.kube.client import Client
    from .module import Module


def run() -> NoReturn:
    info.answer({**arguments.READ, **arguments.AUTH}, _cluster)


def _cluster(module: Module, client: Client, deadline: float) -> dict[str, Any]:
    from .._core.kube.served import served

    version = client.version(deadline=deadline)
    facts, missing = reader.read(client, inventory.PARTS, *info.selectors(module.params), deadline=deadline)
    for part, error in missing.items():
        if isinstance(error, ForbiddenError):  # what is not served is told
            module.warn(f"The answer is without {part}: {error}")
    nodes = [{"name": one["name"], **inventory.told(one, facts)} for one in facts["nodes"]]
    if "pods" in facts:
        nodes = [{**one, "free": capacity.free(one)} for one in nodes]
    return {
        "server": client.transport.connection.server,
        "version": version["gitVersion"],
        "served": served(client, deadline=deadline),
        "queues": len([one for one in facts["queues"] if one["name"] != "root"]) if "queues" in facts else None,
        "nodes": nodes,
        "total": capacity.total(nodes),
    }
