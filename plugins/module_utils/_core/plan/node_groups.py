# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Which nodes join and leave groups, and the change to each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..model import node_group
from ..model.check import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Object = dict[str, Any]


class Group(NamedTuple):
    """A declaration; `wanted` is false for one that is to have no nodes any more."""

    name: str
    spec: Mapping[str, Any]
    wanted: bool = True


class Place(NamedTuple):
    """Where a node belongs: the group, and whether it is the group's alone."""

    group: str
    exclusive: bool


NOWHERE = Place("", False)


def places(groups: Sequence[Group], nodes: Sequence[Object]) -> tuple[dict[str, Place], list[tuple[int, Problem]]]:
    """Where each node that some declaration speaks of belongs, by name, and what is wrong, by the declaration's position.

    Leaving comes before joining, so a node moves from one group to another within one list of declarations.
    """
    found: dict[str, Place] = {}
    wrong: list[tuple[int, Problem]] = []
    names = {one.name for one in groups}
    by_name = {node["metadata"]["name"]: node for node in nodes}
    found.update({name: NOWHERE for name, node in by_name.items() if node_group.group_of(node) in names})
    joined: dict[str, int] = {}
    for number, one in enumerate(groups):
        if not one.wanted:
            continue
        listed = list(one.spec.get("nodes", ()))
        selected = [name for name, node in by_name.items() if _matches(one.spec.get("selector", {}), node)]
        for position, name in enumerate([*listed, *selected]):
            path: tuple[str | int, ...] = ("nodes", position) if position < len(listed) else ("selector",)
            if name not in by_name:
                wrong.append((number, Problem(path, f"'{name}'", "the name of a node of the cluster")))
                continue
            other = node_group.group_of(by_name[name])
            if other and other not in names:
                remedy = f"Declare {other} without it first, or in the same task."
                wrong.append(
                    (number, Problem(path, f"'{name}', a node of the group {other}", "one of no group", remedy))
                )
            elif joined.setdefault(name, number) != number:
                theirs = groups[joined[name]].name
                remedy = "A node is in one group."
                wrong.append((number, Problem(path, f"'{name}', which {theirs} declares too", "another one", remedy)))
            else:
                found[name] = Place(one.name, one.spec.get("exclusive", True))
    return found, wrong


def _matches(selector: Mapping[str, str], node: Mapping[str, Any]) -> bool:
    labels = node["metadata"].get("labels", {})
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def moved(node: Object, place: Place) -> Object:
    """The node where it belongs; itself when it is there already."""
    after = node_group.build(node, place.group, place.exclusive)
    return node if _parts(after) == _parts(node) else after


def patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> Object:
    """As a merge patch. Taints are one value to the API server, so it holds only for the state that was read; of labels it
    says ours alone."""
    labels = after["metadata"].get("labels", {})
    ours = (node_group.KEY_OF_GROUP, node_group.VOLCANO)
    return {
        "metadata": {
            "resourceVersion": before["metadata"]["resourceVersion"],
            "labels": {key: labels.get(key) for key in ours},
        },
        "spec": {"taints": after["spec"].get("taints")},
    }


def _parts(node: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    taints: Iterable[Mapping[str, Any]] = node.get("spec", {}).get("taints") or ()
    return node["metadata"].get("labels", {}), [
        {key: value for key, value in taint.items() if key != "timeAdded"} for taint in taints
    ]
