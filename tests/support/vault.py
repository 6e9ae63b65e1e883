# SPDX-License-Identifier: Apache-2.0
"""Vault for tests: a stand-in, and the real server, which takes minutes to compile.

The stand-in has the paths of the HTTP API that reading secrets takes, with their answers as Vault's documentation has them.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import hvac

from tests.support.binaries import built
from tests.support.control_plane import ControlPlane
from tests.support.kube_stub import Handler, Seen, Server, Step, answer

JSON = {"Content-Type": "application/json"}
ROOT_TOKEN = "hvs.planted-root"
SECRET_ID = "planted-secret-id"


def refused(code: int, *errors: str) -> Step:
    return answer(code, {"errors": list(errors)}, JSON)


DENIED = refused(403, "1 error occurred:\n\t* permission denied\n\n")


@dataclass
class StandIn:
    url: str
    token: str = ROOT_TOKEN
    sealed: bool = False
    left: int = 3600  # seconds of each token
    engines: dict[str, dict[str, Any]] = field(default_factory=dict)
    secrets: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    # By the token: the paths that it may read; nothing means all.
    tokens: dict[str, list[str]] = field(default_factory=lambda: {ROOT_TOKEN: []})
    # By the place of the login: what is sent there, and the paths that a token from there may read.
    logins: dict[str, tuple[dict[str, str], list[str]]] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)

    def engine(self, name: str, version: int) -> None:
        # Version 1 has no options at all where nobody gave some.
        self.engines[name] = {"type": "kv", "options": {"version": "2"} if version == 2 else None}

    def put(self, engine: str, path: str, values: Mapping[str, Any]) -> None:
        self.secrets[self.place(engine, path)] = dict(values)

    def delete(self, engine: str, path: str) -> None:
        self.secrets[self.place(engine, path)] = None

    def approle(self, name: str, *places: str) -> tuple[str, str]:
        """A role that may read at some places: its ID, and a secret ID."""
        self.logins["approle"] = ({"role_id": f"id-of-{name}", "secret_id": SECRET_ID}, list(places))
        return f"id-of-{name}", SECRET_ID

    def kubernetes(self, name: str, account_token: str, *places: str) -> None:
        """A role for the service account of a token."""
        self.logins["kubernetes"] = ({"role": name, "jwt": account_token}, list(places))

    def seal(self) -> None:
        self.sealed = True

    def place(self, engine: str, path: str) -> str:
        versioned = self.engines[engine]["options"] is not None
        return f"{engine}/data/{path}" if versioned else f"{engine}/{path}"

    def choose(self, seen: Seen) -> Step:
        self.seen.append(seen)
        place = seen.path.removeprefix("/v1/")
        if self.sealed:
            return refused(503, "Vault is sealed")
        if seen.method == "POST" and place.endswith("/login"):
            return self._login(place.removeprefix("auth/").removesuffix("/login"), seen.body)
        token = seen.header("X-Vault-Token")
        if token not in self.tokens:
            return DENIED
        if place == "auth/token/lookup-self":
            about = {"renewable": True, "ttl": self.left, "creation_ttl": 3600}
            return answer(200, {"data": about}, JSON)
        if place == "auth/token/renew-self":
            self.left = 3600
            return answer(200, {"auth": {"client_token": token, "lease_duration": 3600}}, JSON)
        if place == "auth/token/revoke-self":
            del self.tokens[token]
            return answer(204, b"")
        if place.startswith("sys/internal/ui/mounts/"):
            return self._engine(place.removeprefix("sys/internal/ui/mounts/"), self.tokens[token])
        if self.tokens[token] and place not in self.tokens[token]:
            return DENIED
        return self._secret(place)

    def _login(self, where: str, sent: Mapping[str, Any]) -> Step:
        wanted, places = self.logins.get(where, ({}, []))
        if not wanted:
            return DENIED
        if sent != wanted:
            return refused(400, "invalid role or secret ID") if where == "approle" else DENIED
        token = f"hvs.planted-login-{len(self.tokens)}"
        self.tokens[token] = places
        return answer(200, {"auth": {"client_token": token, "lease_duration": 60}, "data": None}, JSON)

    def _engine(self, name: str, places: list[str]) -> Step:
        known = name in self.engines and (not places or any(place.startswith(f"{name}/") for place in places))
        said = "preflight capability check returned 403, please ensure client's policies grant access to path"
        return (
            answer(200, {"data": {"path": f"{name}/", **self.engines[name]}}, JSON)
            if known
            else refused(403, f'{said} "{name}/"')
        )

    def _secret(self, place: str) -> Step:
        values = self.secrets.get(place)
        if values is not None:
            body = {"data": values, "metadata": {"version": 1}} if "/data/" in place else values
            return answer(200, {"data": body}, JSON)
        if place in self.secrets:
            gone = {"data": None, "metadata": {"deletion_time": "2026-01-31T08:00:00Z", "version": 1}}
            return answer(404, {"data": gone}, JSON)
        return refused(404)


@contextlib.contextmanager
def stand_in() -> Iterator[StandIn]:
    with Server(("127.0.0.1", 0), Handler) as server:
        vault = StandIn(f"http://127.0.0.1:{server.server_port}")
        server.seen, server.choose = [], vault.choose
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield vault
        finally:
            server.shutdown()
            thread.join()


class Real:
    """A server of its own, with its data in memory, whose logins by Kubernetes an API server judges."""

    def __init__(self, url: str, token: str, api: ControlPlane | None) -> None:
        self.url, self.token, self._api = url, token, api
        make: Any = hvac.Client  # it has no annotations
        self._client = make(url=url, token=token)
        self._versions: dict[str, int] = {}

    def engine(self, name: str, version: int) -> None:
        options = {"version": "2"} if version == 2 else None
        self._client.sys.enable_secrets_engine("kv", path=name, options=options)
        self._versions[name] = version

    def put(self, engine: str, path: str, values: Mapping[str, Any]) -> None:
        kv = self._client.secrets.kv
        if self._versions[engine] == 2:
            kv.v2.create_or_update_secret(path, dict(values), mount_point=engine)
        else:
            kv.v1.create_or_update_secret(path, dict(values), mount_point=engine)

    def delete(self, engine: str, path: str) -> None:
        self._client.secrets.kv.v2.delete_latest_version_of_secret(path, mount_point=engine)

    def approle(self, name: str, *places: str) -> tuple[str, str]:
        auth = self._login("approle", name, places)
        auth.create_or_update_approle(name, token_policies=[name])
        role = auth.read_role_id(name)["data"]["role_id"]
        return role, auth.generate_secret_id(name)["data"]["secret_id"]

    def kubernetes(self, name: str, account_token: str, *places: str) -> None:
        auth = self._login("kubernetes", name, places)
        assert self._api is not None
        self._api.kubectl(
            "create", "clusterrolebinding", f"vault-{name}", "--clusterrole=system:auth-delegator",
            "--group=system:serviceaccounts",
        )  # fmt: skip
        auth.configure(
            f"https://127.0.0.1:{self._api.port}",
            kubernetes_ca_cert=(self._api.pki / "ca.crt").read_text(encoding="utf-8"),
            token_reviewer_jwt=account_token,
            disable_local_ca_jwt=True,
        )
        auth.create_role(name, bound_service_account_names="*", bound_service_account_namespaces="*", policies=[name])

    def lend(self, seconds: int, *places: str) -> str:
        """A token that ends after so long, but for who renews it."""
        rules = {"path": {place: {"capabilities": ["read"]} for place in places}}
        self._client.sys.create_or_update_policy("lent", json.dumps(rules))
        made = self._client.auth.token.create(policies=["lent"], ttl=f"{seconds}s", renewable=True)
        return str(made["auth"]["client_token"])

    def left(self, token: str) -> int:
        """Seconds of a token."""
        return int(self._client.auth.token.lookup(token)["data"]["ttl"])

    def revoke(self, token: str) -> None:
        self._client.auth.token.revoke(token)

    def seal(self) -> None:
        self._client.sys.seal()

    def _login(self, method: str, name: str, places: tuple[str, ...]) -> Any:
        if f"{method}/" not in self._client.sys.list_auth_methods()["data"]:
            self._client.sys.enable_auth_method(method)
        rules = {"path": {place: {"capabilities": ["read"]} for place in places}}
        self._client.sys.create_or_update_policy(name, json.dumps(rules))
        return getattr(self._client.auth, method)


Vault = StandIn | Real


@contextlib.contextmanager
def real(api: ControlPlane | None = None) -> Iterator[Real]:
    """
    :param api: that judges logins by Kubernetes, where there are any
    """
    with subprocess.Popen([built("vault") / "vault"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            said = json.loads(server.stdout.readline())
            yield Real(said["url"], said["token"], api)
        finally:
            server.stdin.close()  # by which it ends
            server.wait(30)
