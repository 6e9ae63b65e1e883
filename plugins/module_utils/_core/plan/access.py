# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What the platform does in a cluster that it did not make, asked of the API server before it does any of it.

The list is what the roles call. tests/api/test_least_access.py runs them as a user who has nothing else, and a unit test
compares it with the objects that the roles apply.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Namespaces by what they are for; the roles' variables may name others.
PLACES: Mapping[str, str] = {"volcano": "volcano-system", "demo": "paddleflow-demo"}
# kubectl's diff and apply, on the server's side.
APPLY = ("get", "create", "patch")
# By label.
REMOVE = ("list", "delete")
# kubectl wait, and delete where finalizers make it last.
WAIT = ("list", "watch")


@dataclass(frozen=True)
class Need:
    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    # One of PLACES; none: in the whole cluster.
    place: str = ""


def _all(*verbs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(verb for some in verbs for verb in some))


_RBAC = "rbac.authorization.k8s.io"
NEEDS = (
    # Roles kubernetes and volcano look around: what there is, how full it is, and whether somebody else's Volcano is there.
    Need("", ("nodes",), ("list",)),
    Need("storage.k8s.io", ("storageclasses",), ("list",)),
    Need("apps", ("daemonsets", "deployments", "statefulsets"), ("list",)),
    # Role crds, and role volcano in the whole cluster.
    Need("apiextensions.k8s.io", ("customresourcedefinitions",), _all(APPLY, WAIT, REMOVE)),
    Need("", ("namespaces",), _all(APPLY, WAIT, REMOVE)),
    Need(_RBAC, ("clusterroles", "clusterrolebindings"), _all(APPLY, REMOVE)),
    Need("scheduling.k8s.io", ("priorityclasses",), _all(APPLY, REMOVE)),
    Need(
        "admissionregistration.k8s.io",
        (
            "mutatingwebhookconfigurations",
            "validatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
        ),
        _all(APPLY, REMOVE),
    ),
    # The trial and the demonstration of role verify use queues of their own, which nobody grants.
    Need("scheduling.volcano.sh", ("queues",), _all(APPLY, WAIT, REMOVE, ("use",))),
    # Role volcano in its namespace.
    Need("", ("configmaps", "secrets", "serviceaccounts"), _all(APPLY, REMOVE), "volcano"),
    Need(_RBAC, ("roles", "rolebindings"), _all(APPLY, REMOVE), "volcano"),
    Need("policy", ("poddisruptionbudgets",), _all(APPLY, REMOVE), "volcano"),
    Need("apps", ("deployments",), _all(APPLY, WAIT, REMOVE), "volcano"),
    Need("coordination.k8s.io", ("leases",), ("delete",), "volcano"),
    # Role verify, whose namespaces have names of their own. What role volcano shows of a program that does not come up, its
    # trial of the webhooks and its Services are among this.
    Need("", ("pods",), _all(APPLY, WAIT, REMOVE)),
    Need("", ("services",), _all(APPLY, REMOVE)),
    Need("", ("pods/log",), ("get",)),
    Need("", ("events",), ("list",)),
    Need("batch.volcano.sh", ("jobs",), _all(APPLY, WAIT, REMOVE)),
    Need("scheduling.volcano.sh", ("podgroups",), _all(("get",), WAIT)),
    Need("", ("configmaps",), APPLY, "demo"),
)
# Only with volcano_adopt: adopt. The programs of the other Volcano may stand in any namespace.
ADOPTING = (Need("apps", ("daemonsets", "deployments", "statefulsets"), _all(("get",), WAIT, REMOVE)),)
# Who writes a role or binds one needs every permission in it, or these. To hold them all is as good, so the lack of these
# is a warning; the API server decides when role volcano compares its roles, which it does before it applies anything.
GRANTING = (
    Need(_RBAC, ("clusterroles",), ("bind", "escalate")),
    Need(_RBAC, ("roles",), ("bind", "escalate"), "volcano"),
)


def _attributes(needs: Iterable[Need], places: Mapping[str, str]) -> Iterator[dict[str, str]]:
    for need in needs:
        for name in need.resources:
            resource, _slash, subresource = name.partition("/")
            for verb in need.verbs:
                values = {"verb": verb, "group": need.group, "resource": resource, "subresource": subresource}
                values["namespace"] = places[need.place] if need.place else ""
                yield {key: value for key, value in values.items() if value}


def reviews(places: Mapping[str, str] | None = None, *, adopt_volcano: bool = False) -> dict[str, t.Any]:
    """One List of SelfSubjectAccessReviews; `kubectl create -f - -o json` answers each, and nothing is stored."""
    needs = (*NEEDS, *(ADOPTING if adopt_volcano else ()), *GRANTING)
    return {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": attributes},
            }
            for attributes in _attributes(needs, places or PLACES)
        ],
    }


def refused(answers: Iterable[Mapping[str, t.Any]]) -> tuple[list[str], list[str]]:
    """What was refused, shortly (`denied`): of what is needed, and of what lets roles be written without holding them."""
    needed: list[Mapping[str, t.Any]] = []
    granting: list[Mapping[str, t.Any]] = []
    for answer in answers:
        verb = ((answer.get("spec") or {}).get("resourceAttributes") or {}).get("verb")
        (granting if verb in ("bind", "escalate") else needed).append(answer)
    return denied(needed), denied(granting)


def denied(answers: Iterable[Mapping[str, t.Any]]) -> list[str]:
    """What was refused, shortly: ``create, patch of deployments.apps, jobs.batch in paddleflow-system``."""
    verbs: dict[tuple[str, str], list[str]] = {}
    for answer in answers:
        if (answer.get("status") or {}).get("allowed"):
            continue
        asked = (answer.get("spec") or {}).get("resourceAttributes") or {}
        resource = "/".join(filter(None, (asked.get("resource"), asked.get("subresource"))))
        name = ".".join(filter(None, (resource, asked.get("group"))))
        verbs.setdefault((name, asked.get("namespace") or ""), []).append(str(asked.get("verb")))
    places: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (name, namespace), refused in verbs.items():
        places.setdefault((name, tuple(refused)), []).append(namespace)
    names: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (name, refused_verbs), where in places.items():
        names.setdefault((refused_verbs, tuple(filter(None, where))), []).append(name)
    return [
        f"{', '.join(refused_verbs)} {', '.join(resources)}" + (f" in {' and '.join(where)}" if where else "")
        for (refused_verbs, where), resources in names.items()
    ]
