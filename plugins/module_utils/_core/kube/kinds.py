# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""The kinds that need no discovery, and where in the API an object of a kind is."""

from __future__ import annotations

import typing as t
from urllib.parse import quote

from .errors import BadRequestError

# By group and version. * marks what is in no namespace; /name is the plural where the rule of plural() does not give it.
_KNOWN = {
    "v1": (
        "ConfigMap Endpoints/endpoints Event LimitRange Namespace* Node* PersistentVolume* PersistentVolumeClaim Pod "
        "PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount"
    ),
    "admissionregistration.k8s.io/v1": (
        "MutatingWebhookConfiguration* ValidatingAdmissionPolicy* ValidatingAdmissionPolicyBinding* ValidatingWebhookConfiguration*"
    ),
    "apiextensions.k8s.io/v1": "CustomResourceDefinition*",
    "apiregistration.k8s.io/v1": "APIService*",
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "batch/v1": "CronJob Job",
    "certificates.k8s.io/v1": "CertificateSigningRequest*",
    "coordination.k8s.io/v1": "Lease",
    "discovery.k8s.io/v1": "EndpointSlice",
    "events.k8s.io/v1": "Event",
    "networking.k8s.io/v1": "Ingress IngressClass* NetworkPolicy",
    "node.k8s.io/v1": "RuntimeClass*",
    "policy/v1": "PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1": "ClusterRole* ClusterRoleBinding* Role RoleBinding",
    "scheduling.k8s.io/v1": "PriorityClass*",
    "storage.k8s.io/v1": "CSIDriver* CSINode* CSIStorageCapacity StorageClass* VolumeAttachment*",
    "batch.volcano.sh/v1alpha1": "CronJob Job",
    "bus.volcano.sh/v1alpha1": "Command",
    "flow.volcano.sh/v1alpha1": "JobFlow JobTemplate",
    "nodeinfo.volcano.sh/v1alpha1": "Numatopology*",
    "scheduling.volcano.sh/v1beta1": "PodGroup Queue*",
    "topology.volcano.sh/v1alpha1": "HyperNode*",
    "batch.paddlepaddle.org/v1": "PaddleJob",
    "batch.paddlepaddle.org/v1alpha1": "SampleJob SampleSet",
    "paddlepaddle.org/v1": "TrainingJob",
    "paddleflow.org/v1alpha1": "FileSystem FileSystemLink Flavour* NodeCache* Pipeline PipelineRun PipelineSchedule",
}


class Kind(t.NamedTuple):
    api_version: str
    kind: str
    plural: str
    namespaced: bool

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    def object_path(self, name: str, namespace: str = "", subresource: str = "") -> str:
        """
        :raises BadRequestError: when there is no name, or something cannot be one
        """
        if not name:
            # Without it, the path would be that of all objects, and a DELETE theirs.
            raise BadRequestError(f"A {self.kind} was given no name, but is meant alone: set name.")
        return self.path(namespace, name, subresource)

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Of one object, or of all of them (in a namespace) when there is no name.

        :raises BadRequestError: when a name cannot be one, or a namespace is given for a kind that has none
        """
        parts = ["/apis" if "/" in self.api_version else "/api", self.api_version]
        if namespace:
            if not self.namespaced:
                raise BadRequestError(
                    f"{self.kind} {name} was given the namespace {namespace}, but a {self.kind} is in none."
                )
            parts += ["namespaces", segment(namespace, "namespace")]
        elif name and self.namespaced:
            raise BadRequestError(
                f"{self.kind} {name} was given no namespace, but each {self.kind} is in one: set namespace."
            )
        parts.append(self.plural)
        if name:
            parts.append(segment(name, f"name of a {self.kind}"))
        return "/".join([*parts, subresource] if subresource else parts)


def segment(text: str, what: str) -> str:
    """A name as one part of a path; what would lead elsewhere is refused."""
    if text in (".", "..") or "/" in text or "%" in text or not text.isprintable() or len(text) > 253:
        raise BadRequestError(f"{text[:300]!r} cannot be the {what}: use lower-case letters, digits, dots and hyphens.")
    return quote(text, safe=":")


def plural(kind: str) -> str:
    word = kind.lower()
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch")) else f"{word}s"


def kinds(api_version: str) -> list[str]:
    return [entry.rstrip("*").partition("/")[0] for entry in _KNOWN.get(api_version, "").split()]


def known(api_version: str, kind: str) -> Kind | None:
    for entry in _KNOWN.get(api_version, "").split():
        name, _slash, irregular = entry.rstrip("*").partition("/")
        if name == kind:
            return Kind(api_version, kind, irregular or plural(kind), not entry.endswith("*"))
    return None
