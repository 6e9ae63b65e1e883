# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A user: one name, as file systems and jobs have it of their owner, for a person whom the API server knows by others.

It is a role without rules of its own, bound to the person's identities. Kubernetes adds to it the rules of all roles that
carry the user's label, which a grant's role does (grant.py): so a grant names the user and holds for whatever identities
the user has at the time, without either being declared again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import own
from .check import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .table import Field, Noun

# A label's key for each user.
LABEL = "user.paddleflow.org/"
RBAC = "rbac.authorization.k8s.io"
# That of a file system's owner, which is also that of a label's key.
NAME: Field = {"type": "string", "pattern": "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$", "min": 1, "max": 58}

NOUN: Noun = {
    "api": f"{RBAC}/v1",
    "kind": "ClusterRoleBinding",
    "plural": "clusterrolebindings",
    "scope": "Cluster",
    # The names of roles are shared with everybody else's.
    "prefix": "paddleflow-user-",
    "name": NAME,
    "spec": {
        "identities": {
            "type": "list",
            "required": True,
            "items": {"type": "string", "min": 1, "max": 253},
            "max": 100,
        },
    },
}


def problems(_name: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    for number, identity in enumerate(spec["identities"]):
        if identity.startswith("system:") and not identity.startswith("system:serviceaccount:"):
            remedy = "The cluster's own programs have such names."
            yield Problem(("identities", number), f"'{identity}'", "a person or a service account", remedy)


def build(name: str, _namespace: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    role, binding = _identity("ClusterRole", name), _identity(NOUN["kind"], name)
    for made in (role, binding):
        made["metadata"] |= {"labels": dict(own.MANAGED), "annotations": {own.NAME: name}}
    role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": label(name)}]}
    binding["roleRef"] = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role["metadata"]["name"]}
    binding["subjects"] = [
        {"apiGroup": RBAC, "kind": "User", "name": identity} for identity in sorted(set(spec["identities"]))
    ]
    return [role, binding]


def label(name: str) -> dict[str, str]:
    """Of the roles whose rules the user has."""
    return {f"{LABEL}{name}": "true"}


def belongings(name: str, _namespace: str) -> list[dict[str, Any]]:
    """The role goes with its binding."""
    return [_identity("ClusterRole", name)]


def declared(binding: Mapping[str, Any]) -> dict[str, Any]:
    """The declaration that a live binding says."""
    return {"identities": [subject["name"] for subject in binding.get("subjects") or ()]}


def _identity(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": NOUN["api"], "kind": kind, "metadata": {"name": own.object_name(NOUN, name)}}
