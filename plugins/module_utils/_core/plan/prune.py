# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What of a set is no longer declared. A set is everything that one declaration owns, by a label on each of its objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SET = "paddleflow.org/set"


class Key(NamedTuple):
    """An object, whatever version of its kind it was read in."""

    group: str
    kind: str
    namespace: str
    name: str


class TooManyError(Exception):
    """More would be removed than the declaration allows: most often a list that became empty by mistake."""

    def __init__(self, surplus: int, cap: int, name: str) -> None:
        super().__init__(
            f"The set {name!r} would lose {surplus} objects, and prune_max allows {cap}. Nothing was changed. Look at them with "
            f"--check --diff; when they are to go, set prune_max to {surplus} or more."
        )


def key(found: Mapping[str, Any]) -> Key:
    group = str(found.get("apiVersion", "")).rpartition("/")[0]
    metadata = found.get("metadata", {})
    return Key(group, str(found.get("kind", "")), metadata.get("namespace") or "", metadata.get("name") or "")


def surplus(
    declared: Iterable[Mapping[str, Any]], live: Iterable[Mapping[str, Any]], name: str, cap: int
) -> list[Mapping[str, Any]]:
    """Live objects of the set that are not declared. What is on its way out already is left to go."""
    kept = {key(one) for one in declared}
    gone = [
        one
        for one in live
        if one.get("metadata", {}).get("labels", {}).get(SET) == name
        and key(one) not in kept
        and not one["metadata"].get("deletionTimestamp")
    ]
    if len(gone) > cap:
        raise TooManyError(len(gone), cap, name)
    return sorted(gone, key=key)
