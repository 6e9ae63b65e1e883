# SPDX-License-Identifier: Apache-2.0
"""One control plane that files of tests use in turn. Each finds it as it was started: what the file before made is gone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from paddleflow_core.kube.client import Object
from paddleflow_core.kube.errors import Asked, KindNotServedError
from paddleflow_core.kube.kinds import Kind

from tests.support.control_plane import ControlPlane
from tests.support.kube_api import Session

DEFINITION = "CustomResourceDefinition"
# The API server heeds them for a second and more after they are gone, and nothing tells until when.
LASTING = (
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
)
# What the server makes by itself, and makes again.
OF_THE_SERVER = {"APIService", "IPAddress", "ServiceCIDR", "Lease"}
PATIENCE = 60


class SharedPlane:
    def __init__(self, api: ControlPlane) -> None:
        self.api = api
        self._session = Session(api)
        self._client = self._session.client()
        self._from_the_start = {uid(item) for _kind, item in self._items()}

    def close(self) -> None:
        self._session.close()

    def clean(self) -> None:
        """Take away all that was not there at the start, with no controller's help.

        :raises AssertionError: when that cannot be undone
        """
        made = [(kind, item) for kind, item in self._items() if uid(item) not in self._from_the_start]
        lasting = [f"{kind.kind} {item['metadata']['name']}" for kind, item in made if kind.kind in LASTING]
        # What is in namespaces before these, and objects before their kinds.
        for kind, item in sorted(made, key=lambda one: (not one[0].namespaced, one[0].kind == DEFINITION)):
            self._remove(kind, item)
        deadline = time.monotonic() + PATIENCE
        for kind, item in made:
            while self._is_there(kind, item):
                assert time.monotonic() < deadline, (
                    f"still there after {PATIENCE} s: {kind.kind} {item['metadata']['name']}"
                )
                time.sleep(0.1)
        assert not lasting, f"Mark this file's tests own_api, since they leave something that lasts: {lasting}."

    def _remove(self, kind: Kind, item: Object) -> None:
        metadata = item["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        if metadata.get("finalizers") and kind.kind != DEFINITION:
            self._client.patch(kind, name, {"metadata": {"finalizers": None}}, namespace)
        self._client.delete(kind, name, namespace, uid=metadata["uid"], grace=0)
        if kind.kind == "Namespace":
            self._request(
                "PUT", f"/api/v1/namespaces/{name}/finalize", {"metadata": {"name": name}, "spec": {"finalizers": []}}
            )

    def _is_there(self, kind: Kind, item: Object) -> bool:
        """A definition goes when the server has taken its kind out."""
        metadata = item["metadata"]
        try:
            found = self._client.find(kind, metadata["name"], metadata.get("namespace", ""))
        except KindNotServedError:
            return False
        return found is not None and uid(found) == uid(item)

    def _items(self) -> Iterator[tuple[Kind, Object]]:
        for kind in self._kinds():
            for item in self._client.list(kind).items:
                yield kind, item

    def _kinds(self) -> list[Kind]:
        groups = self._request("GET", "/apis")["groups"]
        versions = ["v1", *(group["preferredVersion"]["groupVersion"] for group in groups)]
        return [
            Kind(version, one["kind"], one["name"], one["namespaced"])
            for version in versions
            for one in self._request("GET", f"/apis/{version}" if "/" in version else f"/api/{version}")["resources"]
            if {"list", "delete"} <= set(one["verbs"]) and one["kind"] not in OF_THE_SERVER
        ]

    def _request(self, method: str, path: str, body: Object | None = None) -> Any:
        return self._client.transport.request(method, path, body=body, asked=Asked(f"{method} {path}"))


def uid(item: Object) -> str:
    return str(item["metadata"]["uid"])
