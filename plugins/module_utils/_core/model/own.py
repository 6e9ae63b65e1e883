# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Objects of our own kinds: the declaration is the object's spec, and a name that no object can have becomes a slug."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .names import slug

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .table import Noun

MANAGED = {"app.kubernetes.io/managed-by": "paddleflow"}
NAME = "paddleflow.org/name"
# Of a file system: read by people and by other tools, and never parsed.
FILE_SYSTEM_ID = "paddleflow.org/fs-id"


def build(noun: Noun, name: str, namespace: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": object_name(noun, name)}
    if noun["scope"] == "Namespaced":
        metadata["namespace"] = namespace
    metadata["labels"] = dict(MANAGED)
    if metadata["name"] != name:
        metadata["annotations"] = {NAME: name}
    aside = {name for name, field in noun["spec"].items() if field.get("aside")}
    fields = {name: value for name, value in spec.items() if name not in aside}
    return {"apiVersion": noun["api"], "kind": noun["kind"], "metadata": metadata, "spec": fields}


def object_name(noun: Noun, name: str) -> str:
    """The object's, for the name that people give it."""
    return noun.get("prefix", "") + slug(name)


def is_ours(found: Mapping[str, Any]) -> bool:
    labels: Mapping[str, str] = found.get("metadata", {}).get("labels") or {}
    return MANAGED.items() <= labels.items()


def name_of(found: Mapping[str, Any]) -> str:
    """The name that people gave it."""
    metadata = found.get("metadata", {})
    given: str = metadata.get("annotations", {}).get(NAME) or metadata.get("name", "")
    return given
