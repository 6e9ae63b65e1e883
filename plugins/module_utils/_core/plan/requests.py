# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What a pod asks of its node, as the scheduler counts it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..model import quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    Amounts = dict[str, int]

# The same few amounts stand in thousands of pods.
_parse = functools.lru_cache(maxsize=4096)(quantity.parse)


def of(spec: Mapping[str, Any]) -> Amounts:
    """In billionths. Containers that start before the others need their room only then, unless they stay as sidecars."""
    beside: Amounts = {}
    most: Amounts = {}
    for container in spec.get("initContainers") or ():
        asked = _asked(container)
        if container.get("restartPolicy") == "Always":
            beside = _sum(beside, asked)
            asked = {}
        most = _most(most, _sum(beside, asked))
    running = beside
    for container in spec.get("containers") or ():
        running = _sum(running, _asked(container))
    # What is asked for the pod as a whole counts instead of what its containers ask.
    whole = {**_most(most, running), **_asked(spec)}
    return _sum(whole, _amounts(spec.get("overhead")))


def _asked(holder: Mapping[str, Any]) -> Amounts:
    return _amounts((holder.get("resources") or {}).get("requests"))


def _amounts(resources: Mapping[str, Any] | None) -> Amounts:
    return {name: _parse(amount) for name, amount in resources.items()} if resources else {}


def _sum(one: Amounts, other: Amounts) -> Amounts:
    if not one or not other:
        return one or other
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _most(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}
