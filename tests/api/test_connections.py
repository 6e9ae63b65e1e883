# SPDX-License-Identifier: Apache-2.0
"""Whom plays reach, and as whom: several clusters in one play, somebody else, through proxies and past them, all in one run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import checkout_play, guides
from tests.support.control_plane import ControlPlane, control_plane
from tests.support.kube_api import changed, kubeconfig
from tests.support.relay import Relay, TunnelProxy, closing

PAGE = "docs/guides/connections.md"
CLUSTERS = ("berlin", "oslo")
# A name that only the proxy knows, and one that is no loopback address: by the environment alone, those go to no proxy.
BEHIND, NAMED = "https://kubernetes.default.svc:6443", "https://localhost.localdomain:{}"
USER = {"name": "proxied", "identities": ["oidc:proxied@example.com"]}


@pytest.fixture(scope="module")
def oslo() -> Iterator[ControlPlane]:
    with control_plane() as plane:
        yield plane


def merged(**documents: dict[str, Any]) -> dict[str, Any]:
    """One kubeconfig with a context for each, `admin@<name>`."""
    parts: dict[str, list[Any]] = {"clusters": [], "users": [], "contexts": []}
    for name, document in documents.items():
        parts["clusters"].append({"name": name, "cluster": document["clusters"][0]["cluster"]})
        parts["users"].append({"name": name, "user": document["users"][0]["user"]})
        parts["contexts"].append({"name": f"admin@{name}", "context": {"cluster": name, "user": name}})
    return {"apiVersion": "v1", "kind": "Config", "current-context": "", **parts}


def shown(language: str, word: str) -> Any:
    """The block of the guide with that word."""
    (text,) = (block.text for block in guides.blocks(PAGE) if block.language == language and word in block.text)
    return yaml.safe_load(text)


def test_plays_reach_whom_they_name(api: ControlPlane, oslo: ControlPlane, tmp_path: Path) -> None:
    berlin = kubeconfig(api)
    with (
        closing(lambda: TunnelProxy(("127.0.0.1", api.port))) as tunnel,
        closing(lambda: TunnelProxy(("127.0.0.1", 1), refuse=True)) as wall,
    ):
        assert isinstance(tunnel, TunnelProxy)
        contexts = merged(
            berlin=berlin,
            oslo=kubeconfig(oslo),
            behind=changed(berlin, server=BEHIND),
            named=changed(berlin, server=NAMED.format(api.port), tls_server_name="127.0.0.1"),
        )
        through, dead = f"http://127.0.0.1:{tunnel.port}", f"http://127.0.0.1:{wall.port}"
        done = play(tmp_path, contexts, [
            *shown("yaml", "hosts: clusters"),
            guides.play([
                user("as nobody", "berlin", impersonate_user="eve"),
                user("as a group", "berlin", impersonate_user="eve", impersonate_groups=["a", "system:masters"]),
                user("by the option", "behind", proxy=through),
                user("by the environment", "named", {"HTTPS_PROXY": through, "NO_PROXY": "10.0.0.0/8"}),
                user("past the option", "berlin", proxy=dead, no_proxy="127.0.0.0/8"),
                user("past the environment", "berlin", {"K8S_AUTH_PROXY": dead, "NO_PROXY": "example.org,127.0.0.1"}),
                user("into the wall", "berlin", {"K8S_AUTH_PROXY": dead, "NO_PROXY": "example.org"}),
            ]),
        ])  # fmt: skip
    for name, plane, colour in (("berlin", api, "blue"), ("oslo", oslo, "red")):
        found = json.loads(plane.kubectl("get", "configmap", "settings", "--namespace=everywhere", "--output=json"))
        assert found["data"] == {"colour": colour}, name
    failed = {name for name, said in done.items() if said}
    assert failed == {"as nobody", "into the wall"}, done
    assert "eve may not" in done["as nobody"]
    assert "context admin@berlin, as eve" in done["as nobody"]
    assert f"through the proxy {dead} did not answer: the proxy does not lead there" in done["into the wall"]
    assert tunnel.asked == ["kubernetes.default.svc:6443", f"localhost.localdomain:{api.port}"]


def test_a_loop_connects_once_for_each_user(api: ControlPlane, tmp_path: Path) -> None:
    with closing(lambda: Relay(("127.0.0.1", api.port))) as relay:
        contexts = merged(berlin=changed(kubeconfig(api), server=f"https://127.0.0.1:{relay.port}"))
        done = play(tmp_path, contexts, [guides.play([
            {**user("users", "berlin", identities=["{{ item }}"]), "loop": ["ann", "ben", "cleo"]},
            {**user("other users", "berlin", impersonate_user="{{ item }}"), "loop": ["eve", "mallory"]},
        ])])  # fmt: skip
        assert relay.connections == 3
    assert "mallory may not" in done["other users"]
    assert "eve may not" in done["other users"]
    assert not done["users"]


def test_a_loop_goes_on_after_an_item_that_took_too_long(api: ControlPlane, tmp_path: Path) -> None:
    """Ansible's own time limit ends the item wherever it is, here in the middle of an answer."""
    api.kubectl("create", "namespace", "late")
    api.kubectl("create", "serviceaccount", "default", "--namespace=late")
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"colour": "blue"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "main", "image": "localhost/none:1"}]}}
    items = [
        {**one, "metadata": {"name": name, "namespace": "late"}}
        for one, name in ((settings, "before"), (pod, "never"), (settings, "after"))
    ]
    with closing(lambda: Relay(("127.0.0.1", api.port))) as relay:
        contexts = merged(berlin=changed(kubeconfig(api), server=f"https://127.0.0.1:{relay.port}"))
        task = {"context": "admin@berlin", "definition": "{{ item }}", "wait": True, "wait_timeout": 600}
        done = play(tmp_path, contexts, [guides.play([
            {"name": "each", "paddleflow.core.apply": task, "loop": items, "timeout": 10, "ignore_errors": True},
        ])])  # fmt: skip
        assert relay.connections <= 3  # of all items, of the watch, and of what comes after the one that was cut off
    assert done["each"].count("changed: ") == 2, done
    assert "Timed out after 10 second(s)" in done["each"]
    api.kubectl("get", "configmap/after", "pod/never", "--namespace=late")


def user(name: str, context: str, environment: dict[str, str] | None = None, **options: Any) -> dict[str, Any]:
    """A task that may fail."""
    task = {"paddleflow.core.user": {**USER, "context": f"admin@{context}", **options}}
    return {"name": name, **task, "environment": environment or {}, "ignore_errors": True}


def play(folder: Path, contexts: dict[str, Any], plays: list[dict[str, Any]]) -> dict[str, str]:
    """What each task of the last play said when it failed."""
    (folder / ".kube").mkdir()
    (folder / ".kube/config").write_text(json.dumps(contexts), encoding="utf-8")
    (folder / "clusters.yml").write_text(yaml.safe_dump(shown("yaml", "# clusters.yml")), encoding="utf-8")
    done = checkout_play.run(
        folder, yaml.safe_dump(plays), "--inventory=clusters.yml", ANSIBLE_LOCALHOST_WARNING="False"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tasks = re.split(r"^TASK \[(.*?)\].*$", done.stdout, flags=re.MULTILINE)[1:]
    said = dict(zip(tasks[::2], tasks[1::2], strict=True))
    said.pop("The namespace and the settings", None)
    return {name: text if re.search("^(fatal|failed): ", text, re.MULTILINE) else "" for name, text in said.items()}
