# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Whether a live object is as declared: equal by value in all that is declared, and nothing of ours left over in it.

What we own is what the API server recorded for our field manager. A field that we own and no longer declare would be
removed by the next apply, so it is a difference. A field that another manager owns is none of our business.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..model import quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

MANAGER = "paddleflow"
Object = dict[str, Any]

# Of every kind, what a declaration may hold without it being a field that apply sets.
IDENTITY = {"apiVersion", "kind"}


class Verdict(Enum):
    SAME = "same"
    DIFFERENT = "different"
    ASK = "ask"  # only the API server can tell, by a dry run


def compare(declared: Object, live: Object | None, exact: bool, manager: str = MANAGER) -> Verdict:
    """`exact`: the kind's schema is known here, so that a difference is one and not the server's own way to write it."""
    if live is None:
        return Verdict.DIFFERENT
    owned = owned_fields(live, manager)
    if owned is None:
        return Verdict.DIFFERENT  # apply has to take it over
    wanted = {key: value for key, value in declared.items() if key not in IDENTITY}
    wanted["metadata"] = {k: v for k, v in declared.get("metadata", {}).items() if k not in ("name", "namespace")}
    if holds(wanted, live) and _accounted(owned, wanted):
        return Verdict.SAME
    return Verdict.DIFFERENT if exact else Verdict.ASK


def owned_fields(live: Object, manager: str = MANAGER) -> Mapping[str, Any] | None:
    """What our applies own of an object, as the API server recorded it; None when they own nothing."""
    for entry in live.get("metadata", {}).get("managedFields", ()):
        if entry.get("manager") == manager and entry.get("operation") == "Apply" and not entry.get("subresource"):
            fields: Mapping[str, Any] = entry.get("fieldsV1", {})
            return fields
    return None


def holds(wanted: object, live: object) -> bool:
    """Whether live has all that is wanted, whatever else it has."""
    if isinstance(wanted, dict):
        if isinstance(live, dict):
            return all(holds(value, live.get(key)) for key, value in wanted.items())
        return not wanted and live is None
    if isinstance(wanted, (list, tuple)):
        if isinstance(live, list):
            return len(wanted) == len(live) and all(map(holds, wanted, live))
        return not wanted and live is None
    if isinstance(wanted, bool) or isinstance(live, bool):
        return wanted is live
    # The API server writes quantities in its own form; a whole number may come back as text.
    return wanted == live or (isinstance(live, str) and quantity.same(wanted, live))


def _accounted(owned: Mapping[str, Any], wanted: object) -> bool:
    """Whether every field that we own is still declared."""
    for key, below in owned.items():
        if key == ".":
            continue
        found, item = _step(key, wanted)
        if not found or (below and not _accounted(below, item)):
            return False
    return True


def _step(key: str, wanted: object) -> tuple[bool, Any]:
    """One step of a path of the API server: f:<field>, k:<keys of a list's item>, v:<item of a set>, i:<index>."""
    form, _colon, rest = key.partition(":")
    if form == "f":
        return (True, wanted[rest]) if isinstance(wanted, dict) and wanted.get(rest) is not None else (False, None)
    if not isinstance(wanted, (list, tuple)):
        return False, None
    if form == "i":
        index = int(rest)
        return (True, wanted[index]) if index < len(wanted) else (False, None)
    value = json.loads(rest)
    if form == "v":
        return value in wanted, None
    for item in wanted:
        # Keys that the declaration leaves out are the server's defaults (a port's protocol).
        if isinstance(item, dict) and all(item.get(name, part) == part for name, part in value.items()):
            return True, item
    return False, None
