# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What of a set is no longer declared. A set is everything that one declaration owns, by labels on each of its objects: the
name of the set, and the namespace that remembers it, since another namespace may have a set of the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .compare import MANAGER, owned_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SET = "paddleflow.org/set"
PLACE = "paddleflow.org/set-namespace"


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
    declared: Iterable[Mapping[str, Any]],
    live: Iterable[dict[str, Any]],
    name: str,
    cap: int,
    manager: str = MANAGER,
    namespace: str = "",
) -> list[dict[str, Any]]:
    """Of the live objects that bear the labels of a set those that are not declared. What is on its way out already is left
    to go, and what others made is left to them: controllers copy labels to what they make (a Service's Endpoints).

    :param namespace: of declared objects that name none. Of a kind that is in none no other object can be meant by it, so that
        nobody has to know which of them are of such a kind
    """
    kept = {key(one) for one in declared}
    kept |= {one._replace(namespace=one.namespace or namespace) for one in kept}
    gone = {
        key(one): one
        for one in live
        if key(one) not in kept and not one["metadata"].get("deletionTimestamp") and _ours(one, manager)
    }
    if len(gone) > cap:
        raise TooManyError(len(gone), cap, name)
    return [gone[each] for each in sorted(gone)]


def _ours(one: dict[str, Any], manager: str) -> bool:
    controlled = any(owner.get("controller") for owner in one["metadata"].get("ownerReferences") or ())
    return not controlled and owned_fields(one, manager) is not None
