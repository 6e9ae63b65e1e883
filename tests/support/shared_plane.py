# SPDX-License-Identifier: Apache-2.0
"""One control plane that files of tests use in turn: what the file before made is gone. What the server itself has made is to stay
as it was."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from paddleflow_core.kube import conditions
from paddleflow_core.kube.client import Object
from paddleflow_core.kube.errors import Asked, KindNotServedError
from paddleflow_core.kube.kinds import Kind
from paddleflow_core.kube.wait import Target, wait

from tests.support.control_plane import ControlPlane, control_plane
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
# It makes the first of these last, after it has said that it is ready.
FROM_THE_START = (
    (Kind("v1", "Service", "services", True), "kubernetes", "default"),
    *(
        (Kind("v1", "Namespace", "namespaces", False), name, "")
        for name in ("default", "kube-system", "kube-public", "kube-node-lease")
    ),
)
PATIENCE = 60


class SharedPlane:
    """Starts one when a file asks for it, also after a file that left what could not be taken away."""

    def __init__(self) -> None:
        self._running = contextlib.ExitStack()
        self._plane: CleanPlane | None = None

    @contextlib.contextmanager
    def turn(self) -> Iterator[ControlPlane]:
        """Of one file."""
        if self._plane is None:
            session = Session(self._running.enter_context(control_plane()))
            self._running.callback(session.close)
            self._plane = CleanPlane(session)
        plane, self._plane = self._plane, None
        try:
            yield plane.api
            plane.clean()
        except BaseException:
            self.close()
            raise
        self._plane = plane

    def close(self) -> None:
        self._plane = None
        self._running.close()


class CleanPlane:
    def __init__(self, session: Session) -> None:
        self.api = session.api
        self._client = session.client()
        wait(
            self._client,
            [Target(kind, name, namespace, conditions.exists()) for kind, name, namespace in FROM_THE_START],
            deadline=time.monotonic() + PATIENCE,
        )
        self._from_the_start = {uid(item) for _kind, item in self._items()}

    def clean(self) -> None:
        """Take away all that was not there at the start, with no controller's help.

        :raises AssertionError: when that cannot be undone; WaitError when something stays
        """
        made = [(kind, item) for kind, item in self._items() if uid(item) not in self._from_the_start]
        lasting = [f"{kind.kind} {item['metadata']['name']}" for kind, item in made if kind.kind in LASTING]
        assert not lasting, f"Mark this file's tests own_api, since they leave something that lasts: {lasting}."
        # What is in namespaces before these, and objects before their kinds.
        for kind, item in sorted(made, key=lambda one: (not one[0].namespaced, one[0].kind == DEFINITION)):
            self._remove(kind, item)
        deadline = time.monotonic() + PATIENCE
        for kind in dict.fromkeys(kind for kind, _item in made):
            with contextlib.suppress(KindNotServedError):  # its definition went first, and took it along
                wait(self._client, [_gone(kind, item) for one, item in made if one == kind], deadline=deadline)

    def _remove(self, kind: Kind, item: Object) -> None:
        metadata = item["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        if metadata.get("finalizers") and kind.kind != DEFINITION:
            self._client.patch(kind, name, {"metadata": {"finalizers": None}}, namespace)
        self._client.delete(kind, name, namespace, uid=metadata["uid"], grace=0)
        if kind.kind == "Namespace":
            done = {"metadata": {"name": name}, "spec": {"finalizers": []}}
            self._request("PUT", f"/api/v1/namespaces/{name}/finalize", done)

    def _items(self) -> Iterator[tuple[Kind, Object]]:
        """Of kinds that are served to the end: a definition that a test took away may be going still."""
        for kind in self._kinds():
            with contextlib.suppress(KindNotServedError):
                for item in self._client.list(kind).items:
                    yield kind, item

    def _kinds(self) -> list[Kind]:
        versions = ["/api/v1"]
        for group in self._request("GET", "/apis")["groups"]:
            versions += [f"/apis/{version['groupVersion']}" for version in group["versions"]]
        found: dict[tuple[str, str], Kind] = {}
        for path in versions:
            with contextlib.suppress(KindNotServedError):
                version = path.removeprefix("/apis/").removeprefix("/api/")
                for one in self._request("GET", path)["resources"]:
                    kind = Kind(version, one["kind"], one["name"], one["namespaced"])
                    if {"list", "delete"} <= set(one["verbs"]) and kind.kind not in OF_THE_SERVER:
                        found.setdefault((kind.group, kind.plural), kind)
        return list(found.values())

    def _request(self, method: str, path: str, body: Object | None = None) -> Any:
        return self._client.transport.request(method, path, body=body, asked=Asked(f"{method} {path}"))


def uid(item: Object) -> str:
    return str(item["metadata"]["uid"])


def _gone(kind: Kind, item: Object) -> Target:
    metadata = item["metadata"]
    return Target(kind, metadata["name"], metadata.get("namespace", ""), conditions.deleted(uid(item)))
