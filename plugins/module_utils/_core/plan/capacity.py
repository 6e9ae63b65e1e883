# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What nodes have, in all, and what of it is free. A node is what `inventory.told` says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import amounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Node = Mapping[str, Any]


def free(node: Node) -> dict[str, str]:
    """What is left of what it allots to pods; nothing of what they ask too much of."""
    asked = {**node["requested"], "pods": node["pods"]}
    return {
        resource: amounts.text(resource, max(amounts.read(amount) - amounts.read(asked.get(resource, 0)), 0))
        for resource, amount in node["allocatable"].items()
    }


def total(nodes: Sequence[Node]) -> dict[str, Any]:
    """Sums of the nodes that take pods; what those ask for, where it was read."""
    usable = [one for one in nodes if one["ready"] and one["schedulable"]]
    found: dict[str, Any] = {"nodes": len(nodes), "usable": len(usable), "accelerators": {}}
    for one in usable:
        for resource, count in one["accelerators"].items():
            found["accelerators"][resource] = found["accelerators"].get(resource, 0) + count
    for part in ("capacity", "allocatable", "requested", "free"):
        if all(part in one for one in nodes):
            found[part] = amounts.total_resources([one[part] for one in usable])
    return found
