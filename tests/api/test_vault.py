# SPDX-License-Identifier: Apache-2.0
"""Keys from Vault: the modules read them, also in check mode, and they are in the Secret and nowhere else.

By a stand-in in every run; where there is time, everything again by the real server, which also keeps the stand-in true.
"""

from __future__ import annotations

import base64
import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from paddleflow_core import vault as adapter

from tests.support import modules, vault
from tests.support.control_plane import ControlPlane
from tests.support.kube_api import define
from tools import tree

NAMESPACE = "vaulted"
KEYS = {"id": "planted-id", "key": "planted-key"}
SPEC: dict[str, Any] = {
    "url": "s3://corpus/2026",
    "properties": {"endpoint": "https://minio.example.org"},
    "vault": {"path": "team/corpus", "keys": {"access_key": "id", "secret_key": "key"}},
}
PLACE = "secret/data/team/corpus"


@pytest.fixture(scope="module")
def served(api: ControlPlane) -> ControlPlane:
    define(
        api, tree.ROOT / "crds/filesystems.paddleflow.org.yaml", tree.ROOT / "crds/filesystemlinks.paddleflow.org.yaml"
    )
    api.kubectl("create", "namespace", NAMESPACE)
    api.kubectl("create", "serviceaccount", "reader", f"--namespace={NAMESPACE}")
    return api


@pytest.fixture(scope="module", params=["stand-in", pytest.param("real", marks=pytest.mark.extended)])
def standing(request: pytest.FixtureRequest, served: ControlPlane) -> Iterator[vault.Vault]:
    made: contextlib.AbstractContextManager[vault.Vault] = (
        vault.stand_in() if request.param == "stand-in" else vault.real(served)
    )
    with made as found:
        found.engine("secret", 2)
        found.engine("old", 1)
        found.put("secret", "team/corpus", KEYS)
        found.put("old", "corpus", KEYS)
        yield found


def run(
    served: ControlPlane,
    standing: vault.Vault,
    name: str,
    check: bool = False,
    module: str = "filesystem",
    **options: Any,
) -> dict[str, Any]:
    given = {"kubeconfig": str(served.kubeconfig), "namespace": NAMESPACE, "name": name, **options}
    environment = {"VAULT_ADDR": standing.url, "HOME": "/nowhere"}
    if "vault_connection" not in options:
        environment["VAULT_TOKEN"] = standing.token
    answer = modules.run(module, given, check=check, diff=True, **environment)
    assert "planted" not in json.dumps(answer)
    return answer


def actions(answer: dict[str, Any]) -> list[str]:
    assert "failed" not in answer, answer
    return [f"{one['kind']} {one['action']}" for one in answer["objects"]]


def held(served: ControlPlane, name: str, kind: str = "filesystem") -> dict[str, str]:
    """What the Secret of an object holds; the object itself shows nothing of it."""
    found = served.kubectl("get", kind, name, f"--namespace={NAMESPACE}", "--output=json")
    assert "planted" not in found
    reference = json.loads(found)["spec"]["secretRef"]["name"]
    secret = json.loads(served.kubectl("get", "secret", reference, f"--namespace={NAMESPACE}", "--output=json"))
    return {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}


def test_keys_from_vault_go_into_the_secret_and_follow_it(served: ControlPlane, standing: vault.Vault) -> None:
    name = "follows"
    would = run(served, standing, name, check=True, **SPEC)
    assert actions(would) == ["Secret created", "FileSystem created"]
    assert "accessKey: hidden" in would["diff"][0]["after"]
    assert actions(run(served, standing, name, **SPEC)) == ["Secret created", "FileSystem created"]
    assert held(served, name) == {"accessKey": "planted-id", "secretKey": "planted-key"}
    assert actions(run(served, standing, name, check=True, **SPEC)) == ["Secret unchanged", "FileSystem unchanged"]

    standing.put("secret", "team/corpus", {**KEYS, "key": "planted-anew"})
    would = run(served, standing, name, check=True, **SPEC)
    assert actions(would) == ["Secret changed", "FileSystem changed"]
    assert "secretKey: hidden, changed" in would["diff"][0]["after"]
    assert "accessKey: hidden\n" in would["diff"][0]["after"]
    assert held(served, name)["secretKey"] == "planted-key"
    assert actions(run(served, standing, name, **SPEC)) == ["Secret changed", "FileSystem changed"]
    assert held(served, name)["secretKey"] == "planted-anew"

    # Without Vault again, what came from there goes.
    referred = {key: value for key, value in SPEC.items() if key != "vault"} | {"secret_ref": {"name": "mine"}}
    assert actions(run(served, standing, name, **referred)) == ["FileSystem changed", "Secret deleted"]
    # What shall go needs nothing of Vault.
    assert actions(run(served, standing, name, state="absent", vault={"path": "nowhere", "keys": {"password": "p"}})) == [
        "FileSystem deleted", "Secret unchanged",
    ]  # fmt: skip


def test_many_of_both_versions_are_declared_at_once(served: ControlPlane, standing: vault.Vault) -> None:
    keyed: dict[str, Any] = {"path": "corpus", "engine_mount_point": "old", "keys": {"secret_key": "key"}}
    properties = {**SPEC["properties"], "access_key": "AKEXAMPLE"}
    inline = {**SPEC, "properties": {**properties, "secret_key": "planted-inline"}}
    del inline["vault"]
    several = [
        {**SPEC, "name": "first"},
        {**SPEC, "name": "second", "properties": properties, "vault": keyed},
        {**inline, "name": "third"},
    ]
    answer = run(served, standing, "", objects=several)
    assert [one["kind"] for one in answer["objects"]] == ["Secret", "FileSystem"] * 3
    assert held(served, "second") == {"secretKey": "planted-key"}
    assert held(served, "third") == {"secretKey": "planted-inline"}


def test_a_link_has_keys_from_vault_too(served: ControlPlane, standing: vault.Vault) -> None:
    options: dict[str, Any] = {**SPEC, "file_system": "first", "path": "/more"}
    assert run(served, standing, "link", module="filesystem_link", **options)["objects"]
    assert set(held(served, "link", "filesystemlink")) == {"accessKey", "secretKey"}


def test_a_role_logs_in_for_the_reading(served: ControlPlane, standing: vault.Vault) -> None:
    role, secret = standing.approle("reader", PLACE)
    login = {"auth_method": "approle", "role_id": role, "secret_id": secret}
    assert actions(run(served, standing, "first", True, vault_connection=login, **SPEC))
    told = run(served, standing, "first", vault_connection={**login, "secret_id": "planted-wrong"}, **SPEC)["msg"]
    assert told == (
        f"Vault at {standing.url} refused the login by approle at auth/approle (invalid role or secret ID): "
        "check role_id, secret_id, and mount_point."
    )


def test_a_service_account_logs_in_for_the_reading(served: ControlPlane, standing: vault.Vault) -> None:
    token = served.kubectl("create", "token", "reader", f"--namespace={NAMESPACE}").strip()
    standing.kubernetes("reader", token, PLACE)
    login = {"auth_method": "kubernetes", "role_id": "reader", "jwt": token}
    assert actions(run(served, standing, "first", True, vault_connection=login, **SPEC))
    told = run(served, standing, "first", vault_connection={**login, "role_id": "planned"}, **SPEC)["msg"]
    assert "refused the login by kubernetes at auth/kubernetes (" in told
    assert token not in told


def test_what_cannot_be_read_is_said_of_each(served: ControlPlane, standing: vault.Vault) -> None:
    role, secret = standing.approle("narrow", "old/corpus")
    login = {"auth_method": "approle", "role_id": role, "secret_id": secret}
    pointed = {"keys": {"secret_key": "secret"}, "engine_mount_point": "old", "path": "corpus"}
    properties = {**SPEC["properties"], "access_key": "a"}
    several = [
        {**SPEC, "name": "one", "properties": properties, "vault": pointed},
        {**SPEC, "name": "two", "properties": properties, "vault": {**pointed, "engine_mount_point": "secret"}},
        {**SPEC, "name": "three", "vault": {**SPEC["vault"], "path": "other", "engine_mount_point": "old"}},
    ]
    first, second, third = run(served, standing, "", objects=several, vault_connection=login)["problems"]
    assert first == (
        "objects[0]: filesystem one: vault.keys.secret_key is 'secret', which the secret does not have, but must be one of id, key."
    )
    assert second.startswith(
        f"objects[1]: filesystem two: Vault at {standing.url} does not permit to read secret: check"
    )
    assert third.startswith(
        f"objects[2]: filesystem three: Vault at {standing.url} does not permit to read old/other: check"
    )
    nowhere = {**SPEC["vault"], "path": "team/nowhere"}
    told = f"has nothing at secret/data/{nowhere['path']}, or its newest version is deleted: check path and engine_mount_point."
    assert told in run(served, standing, "one", **{**SPEC, "vault": nowhere})["msg"]
    standing.put("secret", "team/nowhere", KEYS)
    standing.delete("secret", "team/nowhere")
    assert told in run(served, standing, "one", **{**SPEC, "vault": nowhere})["msg"]


def test_a_certificate_has_to_be_trusted(served: ControlPlane) -> None:
    """By any server with one: only its handshake is looked at."""
    server = adapter.Server(f"https://127.0.0.1:{served.port}", credential="planted")
    with pytest.raises(adapter.VaultError) as untrusted, adapter.opened(server) as client:
        client.read("secret", "team/corpus")
    assert str(untrusted.value).startswith(
        f"The certificate of Vault at {server.url} is not trusted (unable to get local issuer"
    )
    with (
        pytest.raises(adapter.VaultError) as trusted,
        adapter.opened(server._replace(verify=str(served.pki / "ca.crt"))) as client,
    ):
        client.read("secret", "team/corpus")
    assert "answered with an error (" in str(trusted.value)


def test_a_sealed_vault_says_so(served: ControlPlane, standing: vault.Vault) -> None:
    """The last one, for nobody opens it again."""
    standing.seal()
    told = run(served, standing, "one", **SPEC)["msg"]
    assert told == f"Vault at {standing.url} is sealed: unseal it, and run this again."


def test_a_missing_client_is_named_with_the_python_that_needs_it(
    served: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hvac", None)
    connection = {"url": "http://vault", "token": "planted"}
    given = {"kubeconfig": str(served.kubeconfig), "name": "one", **SPEC, "vault_connection": connection}
    assert "-m pip install 'hvac>=2.4,<3'" in modules.run("filesystem", given)["msg"]
