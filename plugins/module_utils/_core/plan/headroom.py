# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What is left of a queue: up to its limit and those of all queues above it, and of what it is entitled to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import amounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Queue = Mapping[str, Any]


def headroom(queue: Queue, queues: Iterable[Queue] = ()) -> dict[str, dict[str, Any]]:
    """By resource. `queues` are those among which the queues above it are found; without them, its own limit alone counts.

    No limit is None; a limit that was lowered below what is in use leaves nothing.
    """
    if not hasattr(queue, "get"):  # a lookup that found nothing gives a template an empty text
        raise ValueError(f"{queue!r} is no queue: give an object of kind Queue, as the API server has it.")
    line = [queue, *_above(queue, queues)]
    resources = sorted({name for one in line for part in (_max(one), _min(queue), _used(one)) for name in part})
    return {name: _left(name, line) for name in resources}


def _left(resource: str, line: list[Queue]) -> dict[str, Any]:
    queue = line[0]
    high, low, used = (_amount(part(queue), resource, queue) for part in (_max, _min, _used))
    free = [
        _amount(_max(one), resource, one) - _amount(_used(one), resource, one) for one in line if resource in _max(one)
    ]
    return {
        "max": amounts.text(resource, high) if resource in _max(queue) else None,
        "min": amounts.text(resource, low),
        "used": amounts.text(resource, used),
        "left": amounts.text(resource, max(min(free), 0)) if free else None,
        "entitled": amounts.text(resource, max(low - used, 0)),
    }


def _above(queue: Queue, queues: Iterable[Queue]) -> list[Queue]:
    known = {_name(one): one for one in queues}
    found: list[Queue] = []
    seen = {_name(queue)}
    parent = _spec(queue).get("parent")
    # A ring of parents comes to an end, and so does a line whose next queue was not read.
    while parent in known and parent not in seen:
        seen.add(parent)
        found.append(known[parent])
        parent = _spec(known[parent]).get("parent")
    return found


def _amount(part: Mapping[str, Any], resource: str, queue: Queue) -> int:
    return amounts.read(part.get(resource, 0), f"{resource} of queue {_name(queue)}")


def _name(queue: Queue) -> str:
    return str(queue.get("metadata", {}).get("name", ""))


def _spec(queue: Queue) -> Mapping[str, Any]:
    spec: Mapping[str, Any] = queue.get("spec") or {}
    return spec


def _max(queue: Queue) -> Mapping[str, Any]:
    return _spec(queue).get("capability") or {}


def _min(queue: Queue) -> Mapping[str, Any]:
    return _spec(queue).get("deserved") or {}


def _used(queue: Queue) -> Mapping[str, Any]:
    return (queue.get("status") or {}).get("allocated") or {}
