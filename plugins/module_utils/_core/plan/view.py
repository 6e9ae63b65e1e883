# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What people see of an object: what somebody wrote into it, without the API server's bookkeeping and without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_BOOKKEEPING = ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"  # the whole object again, secrets and all


View = dict[str, Any]


def pair(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> tuple[View, View]:
    """For a diff: the two show the same exactly when nothing that somebody declares differs between them."""
    old, new = _written(before), _written(after)
    if any(found is not None and is_secret(found) for found in (before, after)):
        for part in ("data", "stringData"):
            was, becomes = old.get(part) or {}, new.get(part) or {}
            if was:
                old[part] = dict.fromkeys(was, "hidden")
            if becomes:
                new[part] = {k: "hidden" if was.get(k) in (None, v) else "hidden, changed" for k, v in becomes.items()}
    return old, new


def _written(found: Mapping[str, Any] | None) -> View:
    if found is None:
        return {}
    metadata = {key: value for key, value in found.get("metadata", {}).items() if key not in _BOOKKEEPING}
    annotations = {k: v for k, v in (metadata.pop("annotations", None) or {}).items() if k != _LAST_APPLIED}
    if annotations:
        metadata["annotations"] = annotations
    return {key: value for key, value in found.items() if key != "status"} | {"metadata": metadata}


def shown(found: Mapping[str, Any]) -> View:
    """A live object with its status, for who goes on with it; without the record of who wrote which field."""
    metadata = {key: value for key, value in found.get("metadata", {}).items() if key != "managedFields"}
    annotations = {k: v for k, v in (metadata.pop("annotations", None) or {}).items() if k != _LAST_APPLIED}
    return {**found, "metadata": {**metadata, **({"annotations": annotations} if annotations else {})}}


def is_secret(found: Mapping[str, Any]) -> bool:
    return found.get("kind") == "Secret" and found.get("apiVersion") == "v1"


def title(found: Mapping[str, Any]) -> str:
    """Kind and name, as messages and diffs name an object."""
    metadata = found.get("metadata", {})
    name = metadata.get("name") or f"{metadata.get('generateName', '')}*"
    return (
        f"{found.get('kind', 'object')} {metadata['namespace']}/{name}"
        if metadata.get("namespace")
        else f"{found.get('kind', 'object')} {name}"
    )
