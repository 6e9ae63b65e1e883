# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What the platform does in a cluster that it did not make, asked of the API server before it does any of it.

Writing RBAC rules also needs the permissions that they grant (or ``escalate``). Those are not asked for one by one:
the server-side dry run that comes before every write refuses them.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PLATFORM_NAMESPACES = ("paddleflow-system", "volcano-system")
WRITE = ("get", "create", "patch", "delete")
READ = ("get", "list", "watch")


@dataclass(frozen=True)
class Need:
    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    namespaced: bool = False


NEEDS = (
    Need("", ("namespaces",), WRITE),
    Need("", ("nodes",), (*READ, "patch")),
    Need("apiextensions.k8s.io", ("customresourcedefinitions",), (*WRITE, "list")),
    Need("rbac.authorization.k8s.io", ("clusterroles", "clusterrolebindings"), WRITE),
    Need("scheduling.k8s.io", ("priorityclasses",), WRITE),
    Need("storage.k8s.io", ("storageclasses", "csidrivers"), (*WRITE, "list")),
    # Everywhere, to see a Volcano that is there already.
    Need("apps", ("deployments", "statefulsets"), ("list",)),
    Need(
        "admissionregistration.k8s.io",
        (
            "mutatingwebhookconfigurations",
            "validatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
        ),
        WRITE,
    ),
    Need("scheduling.volcano.sh", ("queues",), (*WRITE, "list")),
    Need("", ("configmaps", "secrets", "services", "serviceaccounts"), WRITE, namespaced=True),
    Need("", ("pods",), (*READ, "create", "delete"), namespaced=True),
    Need("apps", ("deployments", "daemonsets"), (*WRITE, *READ[1:]), namespaced=True),
    Need("batch", ("jobs",), WRITE, namespaced=True),
    Need("batch.volcano.sh", ("jobs",), WRITE, namespaced=True),
    Need("coordination.k8s.io", ("leases",), ("get",), namespaced=True),
    Need("policy", ("poddisruptionbudgets",), WRITE, namespaced=True),
    Need("rbac.authorization.k8s.io", ("roles", "rolebindings"), WRITE, namespaced=True),
)


def _attributes(needs: Iterable[Need], namespaces: Iterable[str]) -> Iterator[dict[str, str]]:
    for need in needs:
        for resource in need.resources:
            for namespace in tuple(namespaces) if need.namespaced else ("",):
                for verb in need.verbs:
                    values = {"verb": verb, "group": need.group, "resource": resource, "namespace": namespace}
                    yield {name: value for name, value in values.items() if value}


def reviews(namespaces: Iterable[str] = PLATFORM_NAMESPACES, needs: Iterable[Need] = NEEDS) -> dict[str, t.Any]:
    """One List of SelfSubjectAccessReviews; `kubectl create -f - -o json` answers each, and nothing is stored."""
    return {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": attributes},
            }
            for attributes in _attributes(needs, tuple(namespaces))
        ],
    }


def denied(answers: Iterable[Mapping[str, t.Any]]) -> list[str]:
    """What was refused, shortly: ``create, patch of deployments.apps, jobs.batch in paddleflow-system``."""
    verbs: dict[tuple[str, str], list[str]] = {}
    for answer in answers:
        if (answer.get("status") or {}).get("allowed"):
            continue
        asked = (answer.get("spec") or {}).get("resourceAttributes") or {}
        name = ".".join(filter(None, (asked.get("resource"), asked.get("group"))))
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
