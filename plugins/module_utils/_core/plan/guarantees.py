# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What queues keep to themselves. A queue that does not lend keeps its min; Volcano holds it back from the queue's siblings
only, so every queue above keeps the sum of what those below it keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model import own, quantity
from ..model.queue import LENDABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Amounts = dict[str, int]  # in billionths


def own_of(queue: Mapping[str, Any]) -> Amounts:
    """What it keeps for its own sake. Of a queue that is not ours, whatever it says is its own."""
    if not own.is_ours(queue):
        return said(queue)
    annotations = queue["metadata"].get("annotations") or {}
    return _read(queue.get("spec", {}).get("deserved")) if annotations.get(LENDABLE) == "false" else {}


def said(queue: Mapping[str, Any]) -> Amounts:
    """What it keeps as it is."""
    return _read((queue.get("spec", {}).get("guarantee") or {}).get("resource"))


def settled(wanted: Mapping[str, Any] | None, live: Mapping[str, Any] | None) -> bool:
    """Whether declaring a queue so (None: taking it away) leaves alone what it and those above it keep."""
    after = own_of(wanted) if wanted is not None else {}
    if live is None:
        return not after
    if wanted is not None and _parent(wanted) == _parent(live):
        return after == own_of(live) and (not after or after == said(live))
    return not after and not said(live)


def due(queues: Iterable[Mapping[str, Any]]) -> dict[str, Amounts]:
    """What each queue of a tree has to keep, by name."""
    tree = {one["metadata"]["name"]: one for one in queues}
    found = {name: own_of(one) for name, one in tree.items()}
    below: dict[str, Amounts] = {name: {} for name in tree}
    for name in _deepest_first(tree):
        above = _parent(tree[name])
        found[name] = _most(found[name], below[name])
        if above in below:
            for resource, amount in found[name].items():
                below[above][resource] = below[above].get(resource, 0) + amount
    return found


def short_of(queue: Mapping[str, Any], amounts: Amounts) -> str:
    """Why a queue cannot keep that much: what it would need, in words; empty when it can."""
    ours = own.is_ours(queue)
    has = _read(queue.get("spec", {}).get("deserved")) if ours else said(queue)
    lacking = {resource: amount for resource, amount in amounts.items() if amount > has.get(resource, 0)}
    if not lacking:
        return ""
    needed = ", ".join(f"{resource} {shown}" for resource, shown in texts(lacking).items())
    if ours:
        return f"the min of queue {queue['metadata']['name']} above it has to be at least {needed}: declare it so"
    return (
        f"queue {queue['metadata']['name']} above it is not managed by this collection and has to guarantee at least "
        f"{needed}: have its spec.guarantee.resource set so, or adopt it by declaring it"
    )


def above(name: str, queues: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The queues above one, the nearest first."""
    found: list[str] = []
    while name in queues and (name := _parent(queues[name])) in queues and name not in found and name != "root":
        found.append(name)
    return found


def texts(amounts: Amounts) -> dict[str, str]:
    return {name: quantity.text(amount, name == "memory") for name, amount in amounts.items()}


def lesser(one: Amounts, other: Amounts) -> Amounts:
    return {name: min(amount, other[name]) for name, amount in one.items() if name in other}


def _read(amounts: Mapping[str, Any] | None) -> Amounts:
    read = {name: quantity.parse(amount) for name, amount in (amounts or {}).items()}
    return {name: amount for name, amount in read.items() if amount}


def _parent(queue: Mapping[str, Any]) -> str:
    return str(queue.get("spec", {}).get("parent") or "root")


def _most(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def _deepest_first(tree: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return sorted(tree, key=lambda name: -len(above(name, tree)))
