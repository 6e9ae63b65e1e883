# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Groups of nodes as people are told of them: each with its nodes, what these have, and how it would be declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..model import node_group
from . import capacity, inventory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Member(NamedTuple):
    """What is kept of a node."""

    group: str
    exclusive: bool
    said: dict[str, Any]


def member(found: Mapping[str, Any]) -> Member:
    kept = inventory.node(found)
    said = {"name": kept["name"], **inventory.told(kept, {})}
    return Member(node_group.group_of(found), node_group.declared(found)["exclusive"], said)


def told(members: Iterable[Member]) -> list[dict[str, Any]]:
    """Nodes of no group are left out. A selector is nothing that nodes could tell: the nodes that it found are named."""
    groups: dict[str, list[Member]] = {}
    for one in members:
        if one.group:
            groups.setdefault(one.group, []).append(one)
    return [_told(name, sorted(groups[name], key=lambda one: str(one.said["name"]))) for name in sorted(groups)]


def _told(name: str, members: list[Member]) -> dict[str, Any]:
    nodes = [
        {**{key: one.said[key] for key in ("name", "ready", "schedulable")}, "exclusive": one.exclusive}
        for one in members
    ]
    return {
        "name": name,
        "namespace": "",
        "declared": {
            "nodes": [one["name"] for one in nodes],
            # One that others' pods may come to leaves the group open.
            "exclusive": all(one["exclusive"] for one in nodes),
        },
        "status": {"nodes": nodes, "total": capacity.total([one.said for one in members])},
    }
