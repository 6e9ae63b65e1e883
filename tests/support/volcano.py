# SPDX-License-Identifier: Apache-2.0
"""The objects of the role volcano, rendered as the role renders them, without a play."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from tools import tree

ROLE = tree.ROOT / "roles/volcano"
TEMPLATES = ("namespace", "rbac", "config", "admission", "workloads", "queue")
FACTS: dict[str, Any] = {
    "images_refs": {"volcano": "localhost/paddleflow/volcano:test"},
    "volcano_certificate": {"bundle": "QUJD", "id": "0123456789abcdef"},
    "volcano_replica_count": 1,
}


def templar(**overrides: Any) -> Templar:
    """A templar that knows the role's defaults and variables."""
    loader = DataLoader()
    variables: dict[str, Any] = {}
    for name in ("defaults/main.yml", "vars/main.yml"):
        variables.update(loader.load_from_file(str(ROLE / name), trusted_as_template=True))
    return Templar(loader, {**variables, **FACTS, **overrides})


def rendered(name: str, **overrides: Any) -> list[dict[str, Any]]:
    """The objects of one template."""
    text = (ROLE / "templates" / f"{name}.yaml.j2").read_text(encoding="utf-8")
    result = templar(**overrides).template(trust_as_template(text))
    return [item for item in yaml.safe_load_all(str(result)) if item]


def everything(**overrides: Any) -> list[dict[str, Any]]:
    return [item for name in TEMPLATES for item in rendered(name, **overrides)]


def one(items: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    found = [item for item in items if item["kind"] == kind and item["metadata"]["name"] == name]
    assert len(found) == 1, f"{len(found)} objects {kind} {name}"
    return found[0]


def arguments(deployment: Mapping[str, Any]) -> list[str]:
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    return [*container["command"], *container["args"]]
