# SPDX-License-Identifier: Apache-2.0
"""Every way in to a real API server, and what is told at every door that stays closed."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paddleflow_core.kube import config, errors
from paddleflow_core.kube.access import can
from paddleflow_core.kube.client import Client
from paddleflow_core.kube.kinds import Kind, known
from paddleflow_core.kube.transport import Transport

from tests.support.control_plane import free_port
from tests.support.kube_api import Session, changed, config_map, kubeconfig
from tests.support.relay import TunnelProxy, closing

EXEC = "client.authentication.k8s.io/v1"
NAMESPACE = "kube-auth"


def kind(api_version: str, name: str) -> Kind:
    found = known(api_version, name)
    assert found is not None
    return found


CONFIG = kind("v1", "ConfigMap")


@pytest.fixture(scope="module")
def account(session: Session) -> str:
    """A token of a service account that may read ConfigMaps in its own namespace."""
    admin = session.client()
    group = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]
    metadata = {"name": "reader", "namespace": NAMESPACE}
    admin.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    admin.apply({"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": rules})
    admin.apply(
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": NAMESPACE}],
        }
    )
    return token(session)


def token(session: Session) -> str:
    return session.api.kubectl("create", "token", "reader", f"--namespace={NAMESPACE}").strip()


def server(session: Session) -> str:
    return f"https://127.0.0.1:{session.api.port}"


def ca(session: Session) -> str:
    return str(session.api.pki / "ca.crt")


def reads(client: Client) -> None:
    assert client.list(CONFIG, NAMESPACE).resource_version


def refusal(kind_of_error: type[errors.KubeError], client: Client) -> Any:
    with pytest.raises(kind_of_error) as raised:
        client.list(CONFIG, NAMESPACE)
    return raised.value


# ---- ways in --------------------------------------------------------------------------------------------------------


def test_a_certificate_in_a_kubeconfig(session: Session) -> None:
    reads(session.client())
    reads(session.client({"KUBECONFIG": str(session.api.kubeconfig)}, context=""))


def test_a_certificate_where_python_has_no_memory_files(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    reads(session.client())


def test_a_certificate_in_files(session: Session, tmp_path: Path) -> None:
    user = session.admin["users"][0]["user"]
    for name, key in (("cert", "client-certificate-data"), ("key", "client-key-data")):
        (tmp_path / name).write_bytes(base64.b64decode(user[key]))
    cert, key = str(tmp_path / "cert"), str(tmp_path / "key")
    reads(session.client(host=server(session), client_cert=cert, client_key=key, ca_cert=ca(session)))


def test_a_token_as_awx_gives_it(session: Session, account: str) -> None:
    environment = {
        "K8S_AUTH_HOST": server(session),
        "K8S_AUTH_API_KEY": account,
        "K8S_AUTH_VERIFY_SSL": "True",
        "K8S_AUTH_SSL_CA_CERT": ca(session),
    }
    reads(session.client(environment, context=""))


def test_a_pod(session: Session, account: str, tmp_path: Path) -> None:
    """With a token that is rotated while the client lives."""
    (tmp_path / "token").write_text(account, encoding="utf-8")
    (tmp_path / "ca.crt").write_bytes((session.api.pki / "ca.crt").read_bytes())
    (tmp_path / "namespace").write_text(NAMESPACE, encoding="utf-8")
    environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(session.api.port)}
    connection = config.resolve({}, environment, service_account=tmp_path)
    client = Client(Transport(connection))
    reads(client)
    (tmp_path / "token").write_text("worthless", encoding="utf-8")
    worthless = Client(Transport(config.resolve({}, environment, service_account=tmp_path)))
    (tmp_path / "token").write_text(token(session), encoding="utf-8")
    reads(worthless)
    assert client.namespace == NAMESPACE
    client.transport.close()
    worthless.transport.close()


def test_a_login_program_that_is_asked_again_when_its_token_is_refused(
    session: Session, account: str, tmp_path: Path
) -> None:
    """The first token it gives is worthless; a second call gives a good one."""
    credential = {"apiVersion": EXEC, "kind": "ExecCredential", "status": {"token": "@"}}
    script = tmp_path / "login"
    (tmp_path / "token").write_text(account, encoding="utf-8")
    script.write_text(
        f"#!/bin/sh\ncd {tmp_path}\ntoken=worthless; [ -e asked ] && token=$(cat token); echo x >>asked\n"
        f"echo '{json.dumps(credential)}' | sed \"s/@/$token/\"\n",
        encoding="utf-8",
    )
    script.chmod(0o755)
    user = {"exec": {"apiVersion": EXEC, "command": str(script), "interactiveMode": "Never"}}
    client = session.client(kubeconfig=changed(session.admin, user=user))
    reads(client)
    reads(client)
    assert (tmp_path / "asked").read_text(encoding="utf-8") == "x\nx\n"


def test_a_login_program_that_gives_a_certificate(session: Session, tmp_path: Path) -> None:
    user = session.admin["users"][0]["user"]
    status = {
        "clientCertificateData": base64.b64decode(user["client-certificate-data"]).decode(),
        "clientKeyData": base64.b64decode(user["client-key-data"]).decode(),
    }
    (tmp_path / "credential").write_text(
        json.dumps({"apiVersion": EXEC, "kind": "ExecCredential", "status": status}), encoding="utf-8"
    )
    user = {"exec": {"apiVersion": EXEC, "command": "cat", "args": [str(tmp_path / "credential")]}}
    reads(session.client(kubeconfig=changed(session.admin, user=user)))


def test_impersonation(session: Session, account: str) -> None:
    assert account
    user = f"system:serviceaccount:{NAMESPACE}:reader"
    reads(session.client(kubeconfig=session.admin, impersonate_user=user))
    found = refusal(errors.ForbiddenError, session.client(kubeconfig=session.admin, impersonate_user="ann"))
    assert "Could not list ConfigMap in kube-auth: ann may not list configmaps in the namespace kube-auth at" in str(
        found
    )
    reads(session.client(kubeconfig=session.admin, impersonate_user="ann", impersonate_groups=["a", "system:masters"]))
    who = session.client(kubeconfig=session.admin, impersonate_user="ännchen", impersonate_groups=["g-1", "g-2"])
    answer = who.transport.request(
        "POST",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        body={"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
        asked=errors.Asked("ask who we are"),
    )["status"]["userInfo"]
    assert (answer["username"], answer["groups"][:2]) == ("ännchen", ["g-1", "g-2"])


def test_several_clusters_in_one_kubeconfig_by_context(session: Session) -> None:
    """The second is the same server under another name, as somebody else."""
    other = kubeconfig(session.api, "bob")
    both = {key: [*session.admin[key], *other[key]] for key in ("users", "contexts")}
    document = {**session.admin, **both}
    reads(session.client(kubeconfig=document, context=session.admin["contexts"][0]["name"]))
    said = refusal(errors.ForbiddenError, session.client(kubeconfig=document, context=other["contexts"][0]["name"]))
    assert "bob may not list configmaps" in str(said)


# ---- proxies --------------------------------------------------------------------------------------------------------


@pytest.fixture
def proxy(session: Session) -> Iterator[TunnelProxy]:
    with closing(lambda: TunnelProxy(("127.0.0.1", session.api.port))) as running:
        assert isinstance(running, TunnelProxy)
        yield running


def test_a_tunnel_through_a_proxy(session: Session, proxy: TunnelProxy) -> None:
    """The server's name is one that only the proxy can resolve."""
    url = f"http://ann:pw@127.0.0.1:{proxy.port}"
    elsewhere = changed(session.admin, server="https://kubernetes.default.svc:6443", proxy_url=url)
    reads(session.client(kubeconfig=elsewhere))
    assert proxy.asked == ["kubernetes.default.svc:6443"]
    assert [line for line in proxy.headers if line.lower() == "proxy-authorization: basic yw5uonb3"]


def test_the_environments_proxy_and_what_it_exempts(session: Session, proxy: TunnelProxy) -> None:
    name = changed(
        session.admin, server=f"https://localhost.localdomain:{session.api.port}", tls_server_name="127.0.0.1"
    )
    environment = {"HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}", "NO_PROXY": "10.0.0.0/8"}
    reads(session.client(environment, kubeconfig=name))
    assert len(proxy.asked) == 1
    reads(session.client(environment, kubeconfig=session.admin))  # loopback goes to no proxy
    exempt = changed(name, server=server(session))
    reads(
        session.client({**environment, "NO_PROXY": "127.0.0.0/8"}, kubeconfig=exempt, proxy=environment["HTTPS_PROXY"])
    )
    reads(session.client(environment, kubeconfig=exempt, proxy=environment["HTTPS_PROXY"], no_proxy="127.0.0.1"))
    assert len(proxy.asked) == 1


def test_a_proxy_that_opens_no_tunnel(session: Session) -> None:
    with closing(lambda: TunnelProxy(("127.0.0.1", 1), refuse=True)) as refusing:
        proxy = f"http://ann:s3cret@127.0.0.1:{refusing.port}"
        found = refusal(errors.UnreachableError, session.client(kubeconfig=session.admin, proxy=proxy))
    assert (found.cause, found.sent) == ("proxy", False)
    assert f"through the proxy http://127.0.0.1:{refusing.port} did not answer: the proxy does not lead there" in str(
        found
    )
    assert "403" in str(found)
    assert "s3cret" not in str(found)


# ---- closed doors ---------------------------------------------------------------------------------------------------


def test_another_authority(session: Session) -> None:
    another = base64.b64encode((session.api.pki / "front-proxy-ca.crt").read_bytes()).decode()
    found = refusal(
        errors.UnreachableError, session.client(kubeconfig=changed(session.admin, certificate_authority_data=another))
    )
    assert (found.cause, found.sent) == ("tls", False)
    assert (
        "its certificate is by another authority than the one that is trusted: fetch the cluster's kubeconfig"
        in str(found)
    )
    system = changed(session.admin, certificate_authority_data=None)
    assert refusal(errors.UnreachableError, session.client(kubeconfig=system)).cause == "tls"


@pytest.mark.parametrize("address", [True, False])
def test_another_name(session: Session, address: bool) -> None:
    """The certificate is for 127.0.0.1 and kubernetes.default.svc."""
    host = "127.0.0.2" if address else "localhost"
    with_name = changed(session.admin, server=f"https://{host}:{session.api.port}")
    if address:
        with closing(lambda: TunnelProxy(("127.0.0.1", session.api.port))) as tunnel:
            through = f"http://127.0.0.1:{tunnel.port}"
            found = refusal(errors.UnreachableError, session.client(kubeconfig=with_name, proxy=through))
    else:
        found = refusal(errors.UnreachableError, session.client(kubeconfig=with_name))
    assert found.cause == "tls"
    assert "its certificate is for another name: use a name of the certificate, or set tls-server-name" in str(found)


def test_another_name_that_is_told(session: Session) -> None:
    renamed = changed(
        session.admin, server=f"https://localhost:{session.api.port}", tls_server_name="kubernetes.default.svc"
    )
    reads(session.client(kubeconfig=renamed))


def test_without_verification(session: Session, account: str) -> None:
    reads(session.client(host=server(session), api_key=account, validate_certs=False))
    reads(
        session.client(
            kubeconfig=changed(session.admin, certificate_authority_data=None, insecure_skip_tls_verify=True)
        )
    )


def test_no_tls_at_all(session: Session) -> None:
    plain = session.client(host=server(session).replace("https", "http"), api_key="x")
    said = str(refusal(errors.StatusError, plain))
    assert "Client sent an HTTP request to an HTTPS server" in said


def test_an_expired_certificate(session: Session) -> None:
    expired = kubeconfig(session.api, "eve", "--validity-period=1ns")
    said = str(refusal(errors.UnauthorizedError, session.client(kubeconfig=expired)))
    assert "context eve@test) does not accept the credentials (the client certificate expired on 20" in said


def test_a_certificate_of_another_cluster(session: Session, tmp_path: Path) -> None:
    """The API server asks for no certificate, so it is not a matter of TLS."""
    key, cert = tmp_path / "key", tmp_path / "cert"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-keyout", str(key), "-out", str(cert), "-subj", "/CN=mallory", "-days", "1"],
        check=True, capture_output=True,
    )  # fmt: skip
    client = session.client(host=server(session), client_cert=str(cert), client_key=str(key), ca_cert=ca(session))
    assert "does not accept the credentials (Unauthorized): log in again" in str(
        refusal(errors.UnauthorizedError, client)
    )


@pytest.mark.parametrize("secret", ["s3cret", ""])
def test_an_unknown_token_and_none(session: Session, secret: str) -> None:
    client = session.client(kubeconfig=changed(session.admin, user={"token": secret}))
    said = str(refusal(errors.UnauthorizedError, client))
    assert (
        f"the API server {server(session)} (the kubeconfig in the option kubeconfig, context admin@test) does not"
        in said
    )
    assert "s3cret" not in said


def test_a_key_with_a_passphrase_asks_nobody(session: Session, tmp_path: Path) -> None:
    user = session.admin["users"][0]["user"]
    (tmp_path / "plain").write_bytes(base64.b64decode(user["client-key-data"]))
    (tmp_path / "cert").write_bytes(base64.b64decode(user["client-certificate-data"]))
    command = [
        "openssl",
        "pkcs8",
        "-topk8",
        "-in",
        f"{tmp_path}/plain",
        "-out",
        f"{tmp_path}/key",
        "-passout",
        "pass:x",
    ]
    subprocess.run(command, check=True, capture_output=True)
    with_phrase: dict[str, Any] = {
        "client_cert": f"{tmp_path}/cert",
        "client_key": f"{tmp_path}/key",
        "host": server(session),
    }
    assert "has a client key with a passphrase: give a key without one" in str(
        refusal(errors.ConfigError, session.client(**with_phrase))
    )
    (tmp_path / "key").write_text("nonsense", encoding="utf-8")
    assert "has a client certificate that cannot be used" in str(
        refusal(errors.ConfigError, session.client(**with_phrase))
    )
    wrong = changed(session.admin, certificate_authority_data="bm9uc2Vuc2U=")
    assert "names an authority that is no PEM certificate" in str(
        refusal(errors.ConfigError, session.client(kubeconfig=wrong))
    )


def test_nothing_listens(session: Session) -> None:
    nobody = changed(session.admin, server=f"https://127.0.0.1:{free_port()}")
    found = refusal(errors.UnreachableError, session.client(kubeconfig=nobody))
    assert (found.cause, found.sent) == ("refused", False)


def test_no_such_name(session: Session) -> None:
    nowhere = changed(session.admin, server="https://no-such-host.invalid:6443")
    assert refusal(errors.UnreachableError, session.client(kubeconfig=nowhere)).cause == "dns"


# ---- permissions ----------------------------------------------------------------------------------------------------


def test_what_one_may_not_is_told_with_verb_object_and_place(session: Session) -> None:
    bob = session.client(kubeconfig=kubeconfig(session.api, "bob"))
    with pytest.raises(errors.ForbiddenError) as raised:
        bob.apply(config_map(NAMESPACE, "settings", a="1"))
    assert str(raised.value).startswith(
        "Could not apply ConfigMap kube-auth/settings: bob may not patch configmaps settings in the namespace kube-auth at"
    )
    assert raised.value.permission


def test_what_one_may_is_asked(session: Session, account: str) -> None:
    assert account
    admin, bob = session.client(), session.client(kubeconfig=kubeconfig(session.api, "bob"))
    queue = kind("scheduling.volcano.sh/v1beta1", "Queue")
    reader = f"system:serviceaccount:{NAMESPACE}:reader"
    assert can(admin, "delete", queue, name="ml").allowed
    assert not can(bob, "delete", queue, name="ml").allowed
    assert can(admin, "list", CONFIG, namespace=NAMESPACE, user=reader).allowed
    assert not can(admin, "list", CONFIG, user=reader).allowed
    assert can(admin, "list", CONFIG, user="ann", groups=["system:masters"]).allowed
    with pytest.raises(errors.ForbiddenError, match="bob may not create subjectaccessreviews"):
        can(bob, "list", CONFIG, user=reader)
