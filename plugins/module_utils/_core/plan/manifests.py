# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""From what a user hands to `apply` to a list of objects, each with the place where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .prune import Key


class Manifest(NamedTuple):
    object: dict[str, Any]
    where: str


class ManifestError(Exception):
    """What is handed over is no list of objects: every reason, with its place."""


def objects(documents: list[tuple[Any, str]], namespace: str = "") -> list[Manifest]:
    """
    :param documents: each with its place: an object, a list of them, or a List as kubectl prints it
    :param namespace: of objects that name none; those of kinds that are in none are told apart by the client
    :raises ManifestError: with everything that is wrong
    """
    found = [one for document, where in documents for one in _flat(document, where)]
    wrong = [f"{one.where}: {reason}" for one in found if (reason := _reason(one.object))]
    wrong += _twice([one for one in found if not _reason(one.object)], namespace)
    if wrong:
        raise ManifestError("\n".join(wrong))
    return found


def _flat(document: Any, where: str) -> Iterator[Manifest]:
    if document is None:  # an empty document between two separators
        return
    if isinstance(document, list):
        for number, item in enumerate(document):
            yield from _flat(item, f"{where}[{number}]")
    elif (
        isinstance(document, dict)
        and str(document.get("kind", "")).endswith("List")
        and isinstance(document.get("items"), list)
    ):
        for number, item in enumerate(document["items"]):
            yield from _flat(item, f"{where}.items[{number}]")
    else:
        yield Manifest(document, where)


def _reason(found: Any) -> str:
    if not isinstance(found, dict):
        return f"this is {type(found).__name__} and not an object with apiVersion, kind and metadata."
    missing = [key for key in ("apiVersion", "kind") if not isinstance(found.get(key), str) or not found[key]]
    metadata = found.get("metadata")
    if not isinstance(metadata, dict):
        missing.append("metadata")
    elif not isinstance(metadata.get("name"), str) or not metadata["name"]:
        missing.append("metadata.name")
    if missing:
        return f"{', '.join(missing)} missing, but an object has apiVersion, kind and metadata.name, each a text."
    return _malformed(metadata) if isinstance(metadata, dict) else ""


def _malformed(metadata: dict[str, Any]) -> str:
    """Of what is read here; the rest of an object is for the API server to judge."""
    for key, form, called in (
        ("namespace", str, "a text"),
        ("labels", dict, "a mapping"),
        ("annotations", dict, "a mapping"),
    ):
        value = metadata.get(key)
        if value is not None and not isinstance(value, form):
            return f"metadata.{key} is {type(value).__name__}, but must be {called}."
    return ""


def _twice(found: list[Manifest], namespace: str) -> Iterator[str]:
    from .prune import key

    first: dict[Key, str] = {}
    for one in found:
        identity = key(one.object)
        identity = identity._replace(namespace=identity.namespace or namespace)
        if identity in first:
            yield f"{one.where}: {identity.kind} {identity.name} is declared in {first[identity]} already: keep one of the two."
        first.setdefault(identity, one.where)
