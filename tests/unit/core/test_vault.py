# SPDX-License-Identifier: Apache-2.0
"""Who is asked for secrets and how, and what is said when they cannot be had. tests/api/test_vault.py has the logins by Kubernetes and TLS."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paddleflow_core import vault
from paddleflow_core.vault import SecretError, Server, VaultError

from tests.support.kube_stub import answer, kube_stub
from tests.support.vault import JSON, SECRET_ID, StandIn, refused, stand_in

URL = "https://vault.example:8200"
KEYS = {"id": "planted-id", "key": "planted-key"}


@pytest.fixture
def standing() -> Iterator[StandIn]:
    with stand_in() as found:
        found.engine("secret", 2)
        found.engine("old", 1)
        found.put("secret", "team/corpus", KEYS)
        found.put("old", "corpus", KEYS)
        yield found


def read(server: Server, engine: str = "secret", path: str = "team/corpus") -> dict[str, Any]:
    with vault.opened(server) as client:
        return client.read(engine, path)


def by_token(standing: StandIn, token: str = "") -> Server:
    return vault.resolve({"url": standing.url, "token": token or standing.token}, {})


def refusal(server: Server, engine: str = "secret", path: str = "team/corpus") -> str:
    with pytest.raises(VaultError) as caught:
        read(server, engine, path)
    assert "planted" not in str(caught.value)
    assert str(caught.value).count(". ") == 0  # one sentence
    return str(caught.value)


def test_a_token_that_was_given_is_renewed_when_half_of_it_is_over(standing: StandIn) -> None:
    for left, kept in ((1801, 1801), (1799, 3600)):
        standing.left = left
        with vault.opened(by_token(standing)) as client:
            client.keep_token()
        assert standing.left == kept
    role, secret = standing.approle("ci", "secret/data/team/corpus")
    server = vault.resolve({"url": standing.url, "auth_method": "approle", "role_id": role, "secret_id": secret}, {})
    standing.left = 1
    with vault.opened(server) as client:
        client.keep_token()  # ends with us
    assert standing.left == 1


# ---- who is asked ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "environment", "found"),
    [
        ({"url": URL, "token": "t"}, {}, Server(URL, credential="t", mount_point="token")),
        ({}, {"VAULT_ADDR": f"{URL}/", "VAULT_TOKEN": "t"}, Server(URL, credential="t", mount_point="token")),
        (
            {},
            {
                "VAULT_ADDR": "http://other",
                "ANSIBLE_HASHI_VAULT_ADDR": URL,
                "VAULT_TOKEN": "u",
                "ANSIBLE_HASHI_VAULT_TOKEN": "t",
            },
            Server(URL, credential="t", mount_point="token"),
        ),
        (
            {"url": URL, "token": "t", "namespace": "team"},
            {"VAULT_ADDR": "http://other", "VAULT_TOKEN": "u", "VAULT_NAMESPACE": "v"},
            Server(URL, "team", credential="t", mount_point="token"),
        ),
        (
            {"url": URL, "auth_method": "approle", "role_id": "r", "secret_id": "s", "mount_point": "/ci/"},
            {"VAULT_TOKEN": "t"},
            Server(URL, method="approle", mount_point="ci", role="r", credential="s"),
        ),
        (
            {},
            {
                "VAULT_ADDR": URL,
                "VAULT_NAMESPACE": "team",
                "ANSIBLE_HASHI_VAULT_AUTH_METHOD": "approle",
                "ANSIBLE_HASHI_VAULT_ROLE_ID": "r",
            },
            Server(URL, "team", method="approle", mount_point="approle", role="r"),
        ),
        (
            {"url": URL, "auth_method": "kubernetes", "role_id": "r", "jwt": "j"},
            {},
            Server(URL, method="kubernetes", mount_point="kubernetes", role="r", credential="j"),
        ),
        ({"url": URL, "token": "t"}, {"VAULT_SKIP_VERIFY": "true"}, Server(URL, "", False, "token", "token", "", "t")),
        (
            {"url": URL, "token": "t", "validate_certs": True},
            {"VAULT_SKIP_VERIFY": "1"},
            Server(URL, "", True, "token", "token", "", "t"),
        ),
        ({"url": URL, "token": "t", "validate_certs": False}, {}, Server(URL, "", False, "token", "token", "", "t")),
        ({"url": URL, "token": "t", "ca_cert": "/"}, {}, Server(URL, "", "/", "token", "token", "", "t")),
        ({"url": URL, "token": "t"}, {"VAULT_CACERT": "/"}, Server(URL, "", "/", "token", "token", "", "t")),
    ],
)
def test_options_come_before_the_environment(
    options: dict[str, Any], environment: dict[str, str], found: Server
) -> None:
    resolved = vault.resolve(options, {"HOME": "/nowhere", **environment})
    assert tuple(resolved) == tuple(found)
    assert repr(resolved) == f"<Server: {URL} by {found.method}>"


def test_a_token_and_that_of_a_pod_are_read_from_their_files(tmp_path: Path) -> None:
    (tmp_path / ".vault-token").write_text("kept\n")
    assert vault.resolve({"url": URL}, {"HOME": str(tmp_path)}).credential == "kept"
    (tmp_path / "token").write_text("account")
    options = {"url": URL, "auth_method": "kubernetes", "role_id": "r"}
    assert vault.resolve(options, {}, tmp_path / "token").credential == "account"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "Nothing says where Vault is: set url of vault_connection, or VAULT_ADDR."),
        ({"url": "vault:8200"}, "The address of Vault is of no known form: write url, or VAULT_ADDR, as https://host:8200."),
        ({"url": "https://me:planted@vault"}, "The address of Vault is of no known form"),
        ({"url": URL}, "neither given nor in /nowhere/.vault-token: set token of vault_connection, or VAULT_TOKEN, or run `vault login`."),
        ({"url": URL, "auth_method": "ldap"}, "auth_method of vault_connection is 'ldap', but must be one of token, approle, kubernetes."),
        ({"url": URL, "auth_method": "approle", "secret_id": "planted"}, "The login to Vault by approle needs a role: set role_id"),
        ({"url": URL, "auth_method": "kubernetes", "role_id": "r"}, "nor in /nowhere: set jwt of vault_connection, or run in a pod that has one."),
        ({"url": URL, "token": "planted", "ca_cert": "/nowhere"}, "The authority of Vault's certificate is not at /nowhere: correct ca_cert"),
    ],
)  # fmt: skip
def test_what_is_missing_is_said_before_anybody_is_asked(options: dict[str, Any], text: str) -> None:
    with pytest.raises(VaultError) as caught:
        vault.resolve(options, {"HOME": "/nowhere"}, Path("/nowhere"))
    assert text in str(caught.value)
    assert "planted" not in str(caught.value)


# ---- reading -----------------------------------------------------------------------------------------------------------


def test_both_versions_of_the_engine_are_read_by_the_same_words(standing: StandIn) -> None:
    server = by_token(standing)
    with vault.opened(server) as client:
        assert client.read("secret", "team/corpus") == KEYS
        assert client.read("/secret/", "team/corpus") == KEYS
        assert client.read("old", "corpus") == KEYS
    asked = [one.path for one in standing.seen if "mounts" in one.path]
    assert asked == ["/v1/sys/internal/ui/mounts/secret", "/v1/sys/internal/ui/mounts/old"]
    assert standing.tokens  # a token that was given is not revoked


def test_a_namespace_is_sent(standing: StandIn) -> None:
    read(by_token(standing)._replace(namespace="team"))
    assert {one.header("X-Vault-Namespace") for one in standing.seen} == {"team"}


def test_a_role_logs_in_and_its_token_does_not_outlive_the_reading(standing: StandIn) -> None:
    role, secret = standing.approle("reader", "secret/data/team/corpus")
    server = vault.resolve(
        {"url": standing.url, "auth_method": "approle", "role_id": role, "secret_id": secret},
        {"VAULT_TOKEN": "planted-of-somebody"},
    )
    assert read(server) == KEYS
    assert list(standing.tokens) == [standing.token]
    assert "planted-of-somebody" not in repr([one.headers for one in standing.seen])


def test_a_token_that_cannot_be_revoked_ends_by_itself() -> None:
    auth = {"auth": {"client_token": "planted"}}
    engine, secret = {"data": {"type": "kv"}}, {"data": KEYS}
    steps = [
        answer(200, auth, JSON),
        answer(200, engine, JSON),
        answer(200, secret, JSON),
        refused(400, "batch tokens"),
    ]
    with kube_stub(*steps) as stub:
        server = Server(stub.url, method="approle", mount_point="approle", role="r", credential="planted")
        assert read(server) == KEYS
    assert [one.method for one in stub.seen] == ["POST", "GET", "GET", "POST"]


# ---- refusals ------------------------------------------------------------------------------------------------------------


def test_a_secret_that_is_not_there_is_named(standing: StandIn) -> None:
    told = f"Vault at {standing.url} has nothing at"
    remedy = "or its newest version is deleted: check path and engine_mount_point."
    assert refusal(by_token(standing), path="team/other") == f"{told} secret/data/team/other, {remedy}"
    assert refusal(by_token(standing), "old", "other") == f"{told} old/other, {remedy}"
    standing.delete("secret", "team/corpus")
    assert refusal(by_token(standing)) == f"{told} secret/data/team/corpus, {remedy}"


def test_a_place_that_is_not_for_us_is_named_as_a_policy_names_it(standing: StandIn) -> None:
    standing.tokens["planted-narrow"] = ["secret/data/team/other"]
    told = refusal(by_token(standing, "planted-narrow"))
    assert told.startswith(f"Vault at {standing.url} does not permit to read secret/data/team/corpus: check")
    for token, engine in (("planted-narrow", "old"), (standing.token, "nowhere"), ("planted-wrong", "secret")):
        told = refusal(by_token(standing, token), engine)
        assert told.startswith(f"Vault at {standing.url} does not permit to read {engine}: check")
        assert "capability read" in told


def test_an_engine_of_another_type_is_refused(standing: StandIn) -> None:
    standing.engines["cloud"] = {"type": "aws", "options": None}
    assert "cloud of Vault at" in refusal(by_token(standing), "cloud")
    with pytest.raises(SecretError):
        read(by_token(standing), "cloud")


def test_a_login_that_is_refused_says_what_to_check(standing: StandIn) -> None:
    role, _secret = standing.approle("reader")
    wrong = {"url": standing.url, "auth_method": "approle", "role_id": role, "secret_id": "planted-wrong"}
    told = refusal(vault.resolve(wrong, {}))
    assert told == (
        f"Vault at {standing.url} refused the login by approle at auth/approle (invalid role or secret ID): "
        "check role_id, secret_id, and mount_point."
    )
    account = {"url": standing.url, "auth_method": "kubernetes", "role_id": "r", "jwt": "planted", "mount_point": "lab"}
    told = refusal(vault.resolve(account, {}))
    assert "refused the login by kubernetes at auth/lab (" in told
    assert told.endswith("check role_id, the role's service accounts, and mount_point.")


def test_what_vault_says_is_repeated_without_what_is_secret() -> None:
    with kube_stub(always=refused(400, f"no login\nwith {SECRET_ID}")) as stub:
        server = Server(stub.url, method="approle", mount_point="approle", role="r", credential=SECRET_ID)
        assert "(no login with ***)" in refusal(server)


@pytest.mark.parametrize(
    ("code", "said", "text"),
    [
        (503, "Vault is sealed", "is sealed: unseal it, and run this again."),
        (501, "Vault is not initialized", "answered with an error (Vault is not initialized): look at it, or try again."),
        (500, "1 error occurred:\n\t* oops", "answered with an error (1 error occurred: * oops): look at it, or try again."),
        (429, "", "answered with an error ("),
        (418, "tea", "answered with an error (tea)"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_vault_itself_is_said(code: int, said: str, text: str) -> None:
    with kube_stub(always=refused(code, *([said] if said else []))) as stub:
        assert f"Vault at {stub.url} {text}" in refusal(Server(stub.url, credential="planted"))


@pytest.mark.parametrize("method", ["token", "approle"])
@pytest.mark.parametrize("body", [b"<html>", {"status": "up"}, []])
def test_what_is_not_vault_is_told_from_it(method: str, body: object) -> None:
    with kube_stub(always=answer(200, body)) as stub:
        assert refusal(Server(stub.url, method=method, role="r", credential="planted")) == (
            f"What answers at {stub.url} is not Vault: correct url of vault_connection."
        )


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with stand_in() as gone:
        server = by_token(gone)
    assert refusal(server) == (
        f"Vault at {server.url} cannot be reached (connection refused): check url of vault_connection, or VAULT_ADDR, the "
        "network and proxies."
    )
    monkeypatch.setattr(vault, "PATIENCE", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        told = refusal(server._replace(url=f"http://127.0.0.1:{silent.getsockname()[1]}"))
    assert "cannot be reached (no answer within 0.05 s)" in told

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert "cannot be reached (name or service not known)" in refusal(server._replace(url="http://vault.invalid"))


def test_plain_http_is_told_from_tls(standing: StandIn) -> None:
    told = refusal(by_token(standing)._replace(url=standing.url.replace("http", "https")))
    assert told.startswith("No secure connection to Vault at https://127.0.0.1:")
    assert told.endswith("): write http where it speaks no TLS.")


def test_a_missing_client_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hvac", None)
    assert refusal(Server(URL, credential="planted")) == (
        f"Secrets in Vault need the Python package hvac, which is not installed for {sys.executable}: run "
        f"{sys.executable} -m pip install 'hvac>=2.4,<3'."
    )


def test_the_remedy_is_the_extra_of_the_wheel() -> None:
    project = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    assert f'vault = ["{vault.REQUIREMENT}"]' in project


def test_importing_it_loads_nothing_heavy() -> None:
    program = "import sys; import paddleflow_core.vault; print(sorted({'hvac', 'requests', 'ssl', 'http'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-Sc", program], stdout=subprocess.PIPE, check=True, text=True,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
    )  # fmt: skip
    assert done.stdout == "[]\n"
