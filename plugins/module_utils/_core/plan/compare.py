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
# Here, and below, stand quantities: 1000m is 1. Everywhere else 1.10 is not 1.1.
AMOUNTS = frozenset(
    (
        "requests", "limits", "hard", "capacity", "allocatable", "capability", "deserved", "guarantee", "minResources",
        "podFixed", "scalarResources", "cpu", "memory", "cpuLimit", "memoryLimit", "quota", "blockSize",
    )
)  # fmt: skip
# Here, and below, stands text of the user's, whatever its keys are.
TEXTS = frozenset(
    (
        "labels", "annotations", "matchLabels", "selector", "nodeSelector", "data", "stringData", "parameters", "env",
        "volumeAttributes", "options", "extraConfig", "nodeTaintToleration", "openAPIV3Schema",
    )
)  # fmt: skip


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
    # An API server writes quantities anew in its own kinds only, and of others we know but our own what one is.
    amounts = False if exact or _built_in(declared) else None
    # Of metadata nothing is ever written as one, and the most of it is never ours.
    ours = {key: below for key, below in owned.items() if below or key != "f:metadata"}
    if holds(wanted, live, amounts) and _accounted(ours, wanted, live, amounts):
        return Verdict.SAME
    return Verdict.DIFFERENT if exact else Verdict.ASK


def _built_in(declared: Object) -> bool:
    group = str(declared.get("apiVersion", "")).rpartition("/")[0]
    return "." not in group or group.endswith(".k8s.io")


def owned_fields(live: Object, manager: str = MANAGER) -> Mapping[str, Any] | None:
    """What our applies own of an object, as the API server recorded it; None when they own nothing."""
    for entry in live.get("metadata", {}).get("managedFields", ()):
        if entry.get("manager") == manager and entry.get("operation") == "Apply" and not entry.get("subresource"):
            fields: Mapping[str, Any] = entry.get("fieldsV1", {})
            return fields
    return None


def ours(live: Mapping[str, Any], owned: Mapping[str, Any]) -> Object:
    """What of an object our applies own, whole lists at a time: applied again, it brings back what it was."""
    found = {}
    for mark, below in owned.items():
        key = mark.removeprefix("f:")
        if mark.startswith("f:") and key in live:
            nested = isinstance(live[key], dict) and any(one.startswith("f:") for one in below)
            found[key] = ours(live[key], below) if nested else live[key]
    return found


def holds(wanted: object, live: object, amounts: bool | None = None, whole: bool = False) -> bool:
    """Whether live has all that is wanted, whatever else it has.

    :param amounts: whether text is meant as quantities; None: neither here nor below
    :param whole: nothing else may be there
    """
    if isinstance(wanted, dict):
        if not isinstance(live, dict):
            return not wanted and live is None
        if whole and any(key not in wanted for key in live):
            return False
        return all(holds(value, live.get(key), _amounts(key, amounts), whole) for key, value in wanted.items())
    if isinstance(wanted, (list, tuple)):
        if isinstance(live, list):
            return len(wanted) == len(live) and all(
                holds(one, other, amounts, whole) for one, other in zip(wanted, live, strict=True)
            )
        return not wanted and live is None
    if isinstance(wanted, bool) or isinstance(live, bool):
        return wanted is live
    # A whole number may be text in the one and none in the other.
    return wanted == live or (amounts is True and quantity.same(wanted, live))


def _amounts(key: object, above: bool | None) -> bool | None:
    return None if above is None or key in TEXTS else above or key in AMOUNTS


def _accounted(owned: Mapping[str, Any], wanted: object, live: object, amounts: bool | None) -> bool:
    """Whether every field that we own is still declared, and what is owned as one is all of it declared."""
    for key, below in owned.items():
        if key == ".":
            continue
        found, item = _step(key, wanted)
        if not found:
            return False
        there, field = _step(key, live)[1], _amounts(key.removeprefix("f:"), amounts)
        if below:
            if not _accounted(below, item, there, field):
                return False
        # The record ends at what is written as one, whose parts are owned with it: none of them may be left over.
        elif isinstance(item, (dict, list, tuple)) and not holds(item, there, field, whole=True):
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
