# SPDX-License-Identifier: Apache-2.0
"""What role kubernetes' tasks_from apply makes of a comparison that fails: only what is not there yet may be passed over."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.control_plane import ControlPlane, free_port
from tests.support.named_cluster import Site
from tests.support.plays import Play

PLAYBOOK = """\
- hosts: all
  gather_facts: false
  tasks:
    - name: Apply
      ansible.builtin.include_role:
        name: paddleflow.core.kubernetes
        tasks_from: apply
      vars:
        kubernetes_apply_title: something
        kubernetes_apply_objects: "{{ objects }}"
"""


def thing(kind: str, name: str, api: str = "v1", **more: Any) -> dict[str, Any]:
    namespace = {"namespace": more.pop("within")} if "within" in more else {}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **namespace}, **more}


ROOM, KIND = "apply-room", "Thing"
DEFINITION = thing(
    "CustomResourceDefinition", "things.apply.test", "apiextensions.k8s.io/v1",
    spec={
        "group": "apply.test", "scope": "Cluster", "names": {"kind": KIND, "plural": "things"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
    },
)  # fmt: skip
CLASS = thing("PriorityClass", "system-node-critical", "scheduling.k8s.io/v1", value=1)
IMMUTABLE, AWAY = "may not be changed in an update", "connection refused"
FORBIDDEN = 'User "apply" cannot get resource "namespaces"'
# By host: what it applies; what is then said of a comparison that failed, in a run and in a check run. Empty: nothing.
HOSTS: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "within": ([thing("Namespace", ROOM), thing("ConfigMap", "c", within=ROOM)], "", ""),
    # The definition is only accepted once it is established, but the comparison with it is passed over.
    "kind": ([DEFINITION, thing(KIND, "t", "apply.test/v1")], "", ""),
    "value": ([CLASS, thing("ConfigMap", "c", within="apply-none")], IMMUTABLE, IMMUTABLE),
    "forbidden": ([thing("Namespace", "apply-forbidden")], FORBIDDEN, FORBIDDEN),
    "away": ([thing("Namespace", "apply-away")], AWAY, AWAY),
    "away-but-made-here": ([thing("Namespace", "apply-away")], AWAY, ""),
    "no-client": ([thing("Namespace", "apply-none")], "/none/kubectl cannot be run", ""),
}
PROVIDERS = {"away-but-made-here": "embedded", "no-client": "embedded"}


@pytest.fixture(scope="module")
def site(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = Site(api, tmp_path_factory.mktemp("apply"))
    site.write("admin", site.admin)
    site.write("forbidden", site.config_of("apply"))
    site.change("away", server=f"https://127.0.0.1:{free_port()}")
    return site


def run(site: Site, *arguments: str) -> Play:
    hosts = {}
    for host, (objects, *_said) in HOSTS.items():
        config = {"forbidden": "forbidden"}.get(host, "away" if host.startswith("away") else "admin")
        context = json.loads(site.path(config).read_text())["current-context"]
        kubectl = "/none/kubectl" if host == "no-client" else str(site.api.folder / "bin/kubectl")
        client = {"kubectl": [kubectl], "kubeconfig": str(site.path(config)), "context": context}
        provider = PROVIDERS.get(host, "existing")
        hosts[host] = {"objects": objects, "kubernetes_client": client, "kubernetes_provider_chosen": provider}
    return site.run(PLAYBOOK, hosts, *arguments)


@pytest.fixture(scope="module")
def checked(site: Site) -> Play:
    return run(site, "--check")


@pytest.fixture(scope="module")
def applied(site: Site, checked: Play) -> Play:
    assert checked
    return run(site)


def said_of(play: Play, host: str) -> str:
    """The message of the task that judges the comparison; empty when the host passed it."""
    task = play.output.partition("TASK [paddleflow.core.kubernetes : Stop when it cannot be compared: something]")[2]
    result = task.partition("\nTASK [")[0].partition(f"fatal: [{host}]: FAILED! => ")[2]
    return str(json.JSONDecoder().raw_decode(result)[0]["msg"]) if result else ""


@pytest.mark.parametrize("host", HOSTS)
def test_only_what_is_not_there_yet_is_passed_over(checked: Play, applied: Play, host: str) -> None:
    for play, expected in zip((applied, checked), HOSTS[host][1:], strict=True):
        said = said_of(play, host)
        assert (expected in said) if expected else said == ""
        assert said.startswith(
            "Nothing was applied of: something. Comparing it with what the cluster has failed:\n" if said else ""
        )


def test_a_check_run_says_would_apply_only_where_it_would(checked: Play) -> None:
    expected = sum(not check for _objects, _run, check in HOSTS.values())
    assert checked.changed_tasks() == ["paddleflow.core.kubernetes : Would apply something"] * expected


def test_what_is_not_there_yet_is_made_and_nothing_else(site: Site, applied: Play) -> None:
    assert applied.code != 0
    names = site.api.kubectl("get", "namespaces", "--output=name").split()
    assert [name for name in names if "apply-" in name] == [f"namespace/{ROOM}"]
    assert site.api.kubectl("get", "configmap", "c", f"--namespace={ROOM}", "--output=name") == "configmap/c\n"
    assert site.api.kubectl("get", "crd", "things.apply.test", "--output=name") != ""
