# SPDX-License-Identifier: Apache-2.0
"""Login programs and identity providers, through the official client."""

from __future__ import annotations

import base64
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from paddleflow_core.kube import kubeconfig
from paddleflow_core.kube.connection import Connection, Credentials
from paddleflow_core.kube.errors import ConfigError

API = "client.authentication.k8s.io/v1"


def connect(user: dict[str, Any], folder: Path, environment: dict[str, str] | None = None) -> Connection:
    document = {
        "current-context": "lab",
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "ann"}}],
        "clusters": [{"name": "lab", "cluster": {"server": "https://lab:6443", "certificate-authority-data": "UEVN"}}],
        "users": [{"name": "ann", "user": user}],
    }
    return kubeconfig.connection(kubeconfig.merge([(document, folder, "the kubeconfig x")]), "", environment or {})


def program(folder: Path, status: str, code: int = 0) -> dict[str, Any]:
    """A login program, named by a path that starts from the kubeconfig."""
    script = folder / "bin/login"
    script.parent.mkdir()
    credential = f'{{"apiVersion": "{API}", "kind": "ExecCredential", "status": {status}}}'
    script.write_text(f"#!/bin/sh\ncat <<END\n{credential}\nEND\necho told >&2\nexit {code}\n", encoding="utf-8")
    script.chmod(0o755)
    return {
        "exec": {"apiVersion": API, "command": "bin/login", "args": ["$OWN"], "env": [{"name": "OWN", "value": "1"}]}
    }


def renewed(connection: Connection) -> Credentials:
    assert connection.renew is not None
    return connection.renew()


def refusal(connection: Connection) -> str:
    with pytest.raises(ConfigError) as raised:
        renewed(connection)
    return str(raised.value)


def test_a_program_gives_a_token_and_sees_both_environments(tmp_path: Path) -> None:
    made = connect(program(tmp_path, '{"token": "$OWN-$GIVEN"}'), tmp_path, {"GIVEN": "2"})
    assert made.credentials == Credentials()  # nothing ran yet
    assert renewed(made) == Credentials(token="1-2")


def test_a_program_gives_a_certificate(tmp_path: Path) -> None:
    made = connect(program(tmp_path, '{"clientCertificateData": "CERT", "clientKeyData": "KEY"}'), tmp_path)
    assert renewed(made) == Credentials(certificate=b"CERT", key=b"KEY")


def test_a_program_that_fails_is_told_with_what_it_said(tmp_path: Path) -> None:
    made = connect(program(tmp_path, "{}", code=3), tmp_path)
    assert refusal(made) == (
        f"The kubeconfig x, context lab logs in with the program {tmp_path}/bin/login, which failed "
        "(exec: process returned 3. told): run it by hand, or log in again."
    )


@pytest.mark.parametrize("status", ["{}", '{"clientCertificateData": "CERT"}'])
def test_a_program_that_gives_nothing_is_told(tmp_path: Path, status: str) -> None:
    assert "/bin/login, which gave no credentials: run it" in refusal(connect(program(tmp_path, status), tmp_path))


def test_a_program_that_is_missing_is_told(tmp_path: Path) -> None:
    said = refusal(connect({"exec": {"apiVersion": API, "command": "no-such-login"}}, tmp_path))
    assert "the program no-such-login, which failed ([Errno 2] No such file or directory: 'no-such-login')" in said


def oidc(expires: float) -> dict[str, Any]:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode().rstrip("=")
    return {"auth-provider": {"name": "oidc", "config": {"id-token": f"e30.{claims}.c2ln"}}}


def test_a_provider_gives_its_token(tmp_path: Path) -> None:
    user = oidc(time.time() + 3600)
    assert renewed(connect(user, tmp_path)) == Credentials(token=user["auth-provider"]["config"]["id-token"])


@pytest.mark.parametrize("user", [oidc(1.0), {"auth-provider": {"name": "oidc"}}, {"auth-provider": {"name": "azure"}}])
def test_a_provider_that_cannot_renew_is_told(tmp_path: Path, user: dict[str, Any]) -> None:
    said = refusal(connect(user, tmp_path))
    assert f"logs in with the provider {user['auth-provider']['name']}, which " in said


def test_without_the_official_client_the_remedy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "kubernetes"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    assert refusal(connect(program(tmp_path, "{}"), tmp_path)) == (
        f"The kubeconfig x, context lab logs in with the program {tmp_path}/bin/login, which needs the Python package "
        f"kubernetes.config: install 'paddleflow[kubernetes]' for {sys.executable}, or use a token."
    )
