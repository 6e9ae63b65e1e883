# SPDX-License-Identifier: Apache-2.0
"""What is printed of the options of a module that asks a cluster, from before it even knows them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args
from ansible_collections.paddleflow.core.plugins.module_utils._core.model import flavour
from ansible_collections.paddleflow.core.plugins.module_utils._glue import apply, arguments, connect, info
from ansible_collections.paddleflow.core.plugins.module_utils._glue.module import Module

from tests.support.kube_stub import answer, kube_stub

SPECS = {"apply": apply.SPEC, "flavour": arguments.of(flavour.NOUN), "flavour_info": arguments.info(flavour.NOUN)}


def kubeconfig(**user: Any) -> dict[str, Any]:
    return {
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "ann"}}],
        "clusters": [{"name": "lab", "cluster": {"server": "https://lab", "proxy-url": "http://u:planted-1@proxy"}}],
        "users": [{"name": "ann", "user": user}],
    }


SECRET: dict[str, Any] = {
    # Of what the log makes text of, two lines are one with a backslash.
    "kubeconfig": kubeconfig(token="planted-2", **{"client-key-data": "planted-3\nplanted-4\n"}),
    "proxy": "http://ann:planted-5@proxy.example.org:3128",
}
OBJECTS = {"kind": "Secret", "stringData": {"key": "planted-6"}}


def begun(spec: Mapping[str, Any], given: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> tuple[Module, str]:
    """The module, and what it logged."""
    logged: list[str] = []
    monkeypatch.setattr(Module, "log", lambda _module, text, log_args: logged.append(f"{text} {log_args}"))
    with patch_module_args(dict(given)):
        made = Module(spec)
    return made, "\n".join(logged)


TEXT = yaml.safe_dump(SECRET["kubeconfig"])


@pytest.mark.parametrize("config", [SECRET["kubeconfig"], TEXT])
@pytest.mark.parametrize("name", SPECS)
def test_the_log_holds_nothing_secret(name: str, config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {**SECRET, "kubeconfig": config, **({"definition": OBJECTS} if name == "apply" else {})}
    module, logged = begun(SPECS[name], given, monkeypatch)
    assert "proxy=http://ann:********@proxy.example.org:3128" in logged
    assert "planted" not in logged
    assert module.params["kubeconfig"] == config


@pytest.mark.parametrize("config", [SECRET["kubeconfig"], TEXT, f"{TEXT}: : no YAML"])
@pytest.mark.parametrize("alias", ["definition", "resource_definition"])
def test_the_refusal_of_an_option_holds_nothing_secret(
    alias: str, config: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {**SECRET, "kubeconfig": config, alias: OBJECTS, "api_key": "planted-7", "wait_timeout": "abc"}
    with pytest.raises(SystemExit):
        begun(apply.SPEC, given, monkeypatch)
    said = capsys.readouterr().out
    assert "planted" not in said
    shown = json.loads(said)["invocation"]["module_args"]
    assert (shown["kubeconfig"], shown[alias], shown["wait_timeout"]) == ("given inline", "1 documents", "abc")


def test_only_secrets_are_masked() -> None:
    """The words of a login program are part of many names."""
    login = {
        "command": "aws",
        "args": ["--region", "eu-west-1", "eks", "get-token", "--cluster-name", "lab"],
        "env": [{"name": "AWS_PROFILE", "value": "planted-1"}, {"name": "EMPTY"}, "odd"],
    }
    provider = {"name": "oidc", "config": {"id-token": "planted-2", "client-secret": "planted-3"}}
    user = {"exec": login, "auth-provider": provider, "client-certificate-data": "certificate", "password": 12345}
    found = connect.secrets({"kubeconfig": kubeconfig(**user), "proxy": None})
    assert found == {"planted-1", "planted-2", "planted-3", "12345"}


@pytest.mark.parametrize("text", [TEXT, json.dumps(SECRET["kubeconfig"])])
def test_the_secrets_of_a_text_are_those_of_the_kubeconfig_that_it_is(text: str) -> None:
    given = {"kubeconfig": text, "proxy": None}
    assert connect.secrets(given) == connect.secrets({**given, "kubeconfig": SECRET["kubeconfig"]})


def test_secrets_are_masked_in_a_text_that_cannot_be_read() -> None:
    text = "users:\n- user: {token: planted-1, 'password':'planted-2'}\n  client-key-data: \"planted-3\"\n  : :"
    assert connect.secrets({"kubeconfig": text, "proxy": None}) == {"planted-1", "planted-2", "planted-3"}


@pytest.mark.parametrize(
    "config",
    [
        {"users": "x", "clusters": 1},
        {"users": ["x", {"user": "y"}, {"user": {"exec": 1, "auth-provider": "z"}}]},
        "path",
        "path\n",
    ],
)
def test_what_is_no_kubeconfig_has_no_secrets(config: Any) -> None:
    assert connect.secrets({"kubeconfig": config, "proxy": "proxy:1"}) == set()


def test_what_the_server_warns_of_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    page = answer(200, {"items": [], "metadata": {"resourceVersion": "1"}}, {"Warning": '299 - "flavours are old"'})
    told: list[str] = []
    monkeypatch.setattr(Module, "warn", lambda _module, text: told.append(text))
    with (
        kube_stub(always=page) as stub,
        patch_module_args({"host": stub.url, "api_key": "x"}),
        pytest.raises(SystemExit),
    ):
        info.run(flavour)
    assert told == ["The API server warns: flavours are old"]
