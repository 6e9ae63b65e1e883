# SPDX-License-Identifier: Apache-2.0
"""Kubeconfigs as kubectl reads them."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from paddleflow_core.kube import kubeconfig
from paddleflow_core.kube.connection import Connection, Credentials
from paddleflow_core.kube.errors import ConfigError


def text(content: str) -> str:
    return base64.b64encode(content.encode()).decode()


def config(user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, **context: Any) -> dict[str, Any]:
    return {
        "current-context": "lab",
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "ann", **context}}],
        "clusters": [{"name": "lab", "cluster": {"server": "https://lab:6443", **(cluster or {})}}],
        "users": [{"name": "ann", "user": user if user is not None else {"token": "s3cret"}}],
    }


def connect(document: Any, folder: Path = Path("/"), context: str = "") -> Connection:
    merged = kubeconfig.merge([(document, folder, "the kubeconfig x")])
    return kubeconfig.connection(merged, context, {})


def refusal(document: Any, context: str = "") -> str:
    with pytest.raises(ConfigError) as raised:
        connect(document, context=context)
    return str(raised.value)


def test_everything_that_a_kubeconfig_says() -> None:
    made = connect(
        config(
            {"client-certificate-data": text("CERT"), "client-key-data": text("KEY"), "username": "u", "password": "p",
             "as": "bob", "as-uid": "7", "as-groups": ["g"], "as-user-extra": {"Example.org/Scope": ["a"]}},
            {"certificate-authority-data": text("CA")[:2] + "\n" + text("CA")[2:], "insecure-skip-tls-verify": True,
             "tls-server-name": "kubernetes", "proxy-url": "http://p:1"},
            namespace="team",
        )
    )  # fmt: skip
    assert made == Connection(
        server="https://lab:6443",
        source="the kubeconfig x, context lab",
        credentials=Credentials(username="u", password="p", certificate=b"CERT", key=b"KEY"),
        ca="CA",
        verify=False,
        tls_server_name="kubernetes",
        proxy="http://p:1",
        impersonate=(
            ("Impersonate-User", "bob"),
            ("Impersonate-Group", "g"),
            ("Impersonate-Uid", "7"),
            ("Impersonate-Extra-example.org%2Fscope", "a"),
        ),
        namespace="team",
    )


def test_a_python_without_pyyaml_is_told_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").write_text(json.dumps(config()), encoding="utf-8")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ConfigError) as raised:
        kubeconfig.read([tmp_path / "one"])
    said = str(raised.value)
    assert said.startswith(
        f"The kubeconfig {tmp_path}/one needs the Python package PyYAML, which {sys.executable} cannot"
    )
    assert "have the task run on the control node (delegate_to: localhost), or run" in said


def test_paths_start_from_the_file_that_they_stand_in(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("ca", "cert", "key", "token"):
        (tmp_path / "sub" / name).write_text(f"{name}-content\n", encoding="utf-8")
    user = {"client-certificate": "cert", "client-key": "./key"}
    (tmp_path / "sub/one").write_text(json.dumps(config(user, {"certificate-authority": "ca"})), encoding="utf-8")
    made = kubeconfig.connection(kubeconfig.read([tmp_path / "sub/one"]), "", {})
    assert (made.ca, made.credentials.certificate, made.credentials.key) == (
        "ca-content\n",
        b"cert-content\n",
        b"key-content\n",
    )
    token = connect(config({"tokenFile": "token", "token": "older"}), tmp_path / "sub")
    assert token.credentials.token == "token-content"
    (tmp_path / "sub/token").write_text("newer", encoding="utf-8")
    assert token.renew is not None
    assert token.renew() == Credentials(token="newer")
    both = connect(config({"tokenFile": "token", "client-certificate": "cert", "client-key": "key"}), tmp_path / "sub")
    assert both.credentials == Credentials("newer", "", "", b"cert-content\n", b"key-content\n")
    assert both.renew is not None
    assert both.renew() == both.credentials


def test_the_first_file_decides_about_an_entry_whole(tmp_path: Path) -> None:
    """And about the current context. What the others add is added."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text(
        json.dumps({"users": [{"name": "ann", "user": {"token": "first"}}], "current-context": "other"}), encoding="utf-8"
    )  # fmt: skip
    document = config({"token": "second", "as": "bob"})
    document["contexts"].append({"name": "other", "context": {"cluster": "lab", "user": "ann", "namespace": "x"}})
    second.write_text(json.dumps(document), encoding="utf-8")
    merged = kubeconfig.read([tmp_path / "missing", first, second])
    made = kubeconfig.connection(merged, "", {})
    assert (made.credentials.token, made.impersonate, made.namespace) == ("first", (), "x")
    assert made.source == f"the kubeconfig {first} and the kubeconfig {second}, context other"


def test_an_empty_file_adds_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("# nothing\n", encoding="utf-8")
    (tmp_path / "full").write_text(json.dumps(config()), encoding="utf-8")
    merged = kubeconfig.read([tmp_path / "empty", tmp_path / "full"])
    assert kubeconfig.connection(merged, "", {}).server == "https://lab:6443"
    with pytest.raises(ConfigError, match="has no current context: set context to one of none"):
        kubeconfig.connection(kubeconfig.read([tmp_path / "empty"]), "", {})


def test_yaml_is_read(tmp_path: Path) -> None:
    path = tmp_path / "yaml"
    path.write_text(
        """\
apiVersion: v1
current-context: lab
contexts:
- {name: lab, context: {cluster: lab}}
clusters:
- name: lab
  cluster:
    server: https://lab:6443
users:
""",
        encoding="utf-8",
    )
    assert kubeconfig.connection(kubeconfig.read([path]), "", {}).credentials == Credentials()


@pytest.mark.parametrize("content", ["a: [", "a: b: s3cret", "\x00", "{'s3cret"])
def test_what_is_no_yaml_is_not_quoted(tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        kubeconfig.read([path])
    assert str(raised.value).startswith(f"The kubeconfig {path} is no YAML (")
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    ("document", "context", "sentence"),
    [
        ("text", "", "The kubeconfig x holds no kubeconfig: write it anew, or name another."),
        (None, "", "The kubeconfig x holds no kubeconfig: write it anew, or name another."),
        ({"users": [{"name": "a", "user": "b"}]}, "", "The kubeconfig x has an entry in users that is no mapping: write it anew."),
        ({**config(), "current-context": ""}, "", "The kubeconfig x has no current context: set context to one of lab."),
        (config(), "lba", "The kubeconfig x has no context lba: set context to one of lab."),
        ({**config(), "clusters": []}, "", "The kubeconfig x, context lab names the cluster 'lab', which has no server: correct it."),
        ({**config(), "users": ["ann"]}, "", "The kubeconfig x, context lab names the user 'ann', whom it does not hold: correct it."),
        (config({"client-key-data": "???"}), "", "The kubeconfig x, context lab has client-key-data that is no base64: fetch the kubeconfig again."),
        (config({"client-key": "/nowhere"}), "", "The kubeconfig x, context lab names /nowhere as its client-key, which cannot be read (No such file or dir"),
        (config({"as-groups": ["x"]}), "", "The kubeconfig x, context lab impersonates groups and no user: name the user too (impersonate_user)."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_one_sentence(document: Any, context: str, sentence: str) -> None:
    assert refusal(document, context).startswith(sentence)


def test_an_empty_token_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"names the token file .*/token, which is empty"):
        connect(config({"tokenFile": "token"}), tmp_path)
