# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""How a tree of queues gets from one good state to another one queue at a time, each step being good itself.

All that Volcano asks of a queue is that its children, alone or together, have no more than it has. So everything that
becomes less is written first, children before parents; then everything that becomes more, parents before children. A queue
that gets less of one resource and more of another is written twice: first with the lesser of both in everything.

One thing cannot be had this way: a queue that moves from a parent which is lowered because of that. It is one task more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model import quantity
from . import order

if TYPE_CHECKING:
    from collections.abc import Mapping

Object = dict[str, Any]

# What is compared with parents and children. Guarantees have a writer of their own (kube/guarantees.py).
_LIMITS = ("capability", "deserved")


def lowered(wanted: Object, live: Mapping[str, Any]) -> Object | None:
    """What to write of a queue before anything is raised; nothing when it gets less of nothing. What is not named counts as
    nothing, as it does to Volcano where it compares a limit with the limits below it."""
    new, old = wanted.get("spec") or {}, live.get("spec") or {}
    if not all(_readable(spec) for spec in (new, old)):
        return None  # which the API server refuses with its reason
    less, spec = False, dict(new)
    for limit in _LIMITS:
        before, after = old.get(limit) or {}, new.get(limit) or {}
        both = {name: _lesser(amount, after[name]) for name, amount in before.items() if name in after}
        less = less or any(not quantity.same(both.get(name, ""), amount) for name, amount in before.items())
        spec[limit] = both
    if not less:
        return None
    if "parent" in old:
        spec["parent"] = old["parent"]  # it moves when there is room
    return {**wanted, "spec": {name: value for name, value in spec.items() if value != {} or name not in _LIMITS}}


def final(wanted: Object, first: Object) -> bool:
    """Whether what is written first is all that there is to write."""
    return all(
        _same(wanted.get("spec", {}).get(limit) or {}, first["spec"].get(limit) or {}) for limit in _LIMITS
    ) and wanted.get("spec", {}).get("parent") == first["spec"].get("parent")


def waves(live: Mapping[int, Mapping[str, Any]]) -> list[list[int]]:
    """Positions of live queues, the deepest ones first."""
    depths = order.depths(live.values())
    found: dict[int, list[int]] = {}
    for position, one in live.items():
        found.setdefault(depths[one["metadata"]["name"]], []).append(position)
    return [found[depth] for depth in sorted(found, reverse=True)]


def _readable(spec: Any) -> bool:
    limits = [spec.get(limit) or {} for limit in _LIMITS] if isinstance(spec, dict) else [None]
    return all(isinstance(one, dict) and all(map(quantity.is_quantity, one.values())) for one in limits)


def _lesser(one: object, other: object) -> object:
    return one if quantity.parse(one) <= quantity.parse(other) else other


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.keys() == other.keys() and all(quantity.same(amount, other[name]) for name, amount in one.items())
