# SPDX-License-Identifier: Apache-2.0
"""The inventory plugin as ansible-inventory runs it, against a real API server, by a user who may do what the guide says and no more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from paddleflow_core.kube import inventory as reader
from paddleflow_core.kube.client import Client

from tests.support import inventories
from tests.support.control_plane import ControlPlane
from tests.support.inventories import FATAL, User, config, listing
from tools import tree

NAMESPACE = "inventory"
ROLE = inventories.guide("yaml")["roles/inventory.yml"]


@pytest.fixture(scope="module")
def cluster(api: ControlPlane, client: Client) -> Client:
    inventories.served(api)
    for one in inventories.of_the_guide():
        inventories.put(client, one)
    return client


@pytest.fixture(scope="module")
def reading(api: ControlPlane, cluster: Client, tmp_path_factory: pytest.TempPathFactory) -> User:
    assert cluster
    return inventories.user(api, "reading", ROLE, tmp_path_factory.mktemp("ca") / "ca.crt")


@pytest.fixture(scope="module")
def nodes_only(api: ControlPlane, cluster: Client, tmp_path_factory: pytest.TempPathFactory) -> User:
    assert cluster
    document = yaml.safe_load(ROLE)
    document["metadata"]["name"] = "nodes-only"
    document["rules"] = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}]
    return inventories.user(api, "nodes-only", yaml.safe_dump(document), tmp_path_factory.mktemp("ca") / "ca.crt")


def test_the_guide_shows_what_comes_out(reading: User, tmp_path: Path) -> None:
    name = "inventory/site.paddleflow.yml"
    source = tmp_path / name
    source.parent.mkdir()
    source.write_text(inventories.guide("yaml")[name], encoding="utf-8")
    block = inventories.guide("console")[f"ansible-inventory -i {name} --graph"]
    shown = listing(source, "--graph", **reading.environment)
    assert (shown.code, shown.errors) == (0, "")
    assert shown.output.strip().splitlines() == block.strip().splitlines()[1:]
    variables = listing(source, **reading.environment).variables
    assert variables["gpu-1"]["free_cpu"] == "12500m"
    assert variables["gpu-2"]["free_cpu"] == "15500m"


@pytest.mark.parametrize("enabled", ["auto", "paddleflow.core.paddleflow", "host_list,script,auto,yaml,ini,toml"])
@pytest.mark.parametrize("name", ["paddleflow.yml", "any-paddleflow.yaml"])
def test_the_environment_alone_is_enough(reading: User, tmp_path: Path, enabled: str, name: str) -> None:
    found = listing(config(tmp_path, name), **reading.environment, **FATAL, ANSIBLE_INVENTORY_ENABLED=enabled)
    assert sorted(found.variables) == ["gpu-1", "gpu-2", "main"]


def test_what_a_host_is_told(reading: User, tmp_path: Path) -> None:
    source = config(tmp_path)
    found = listing(source, **reading.environment)
    assert found.variables["gpu-1"] == {
        "ansible_host": "10.1.0.2",
        "paddleflow_accelerators": {"nvidia.com/gpu": 4},
        "paddleflow_addresses": {"InternalIP": ["10.1.0.2"]},
        "paddleflow_allocatable": {"cpu": "15500m", "memory": "64Gi", "nvidia.com/gpu": "4", "pods": "110"},
        "paddleflow_cached_bytes": {"research/images": 42 * 2**30},
        "paddleflow_capacity": {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "4", "pods": "110"},
        "paddleflow_conditions": {"Ready": "True"},
        "paddleflow_hardware_type": "A100",
        "paddleflow_jobs": ["research/train"],
        "paddleflow_labels": {
            "paddleflow.org/hardware-type": "A100",
            "paddleflow.org/node-group": "a100",
            "topology.kubernetes.io/zone": "east",
        },
        "paddleflow_node_group": "a100",
        "paddleflow_pods": 2,
        "paddleflow_ready": True,
        "paddleflow_requested": {"cpu": "3", "memory": "4Gi"},
        "paddleflow_roles": [],
        "paddleflow_schedulable": True,
        "paddleflow_taints": [
            # The API server's own, on every new node, until a controller takes it away; there is none here.
            {"key": "node.kubernetes.io/not-ready", "value": "", "effect": "NoSchedule"},
            {"key": "paddleflow.org/node-group", "value": "a100", "effect": "NoSchedule"},
        ],
    }
    # A pod that has ended holds nothing.
    assert found.variables["gpu-2"]["paddleflow_pods"] == 0
    assert found.hosts("queue_team_a") == found.hosts("node_group_a100") == ["gpu-1", "gpu-2"]
    assert found.hosts("cached_research__images") == ["gpu-1"]
    assert found.hosts("nodes_without_group") == ["main"]
    again = listing(source, **reading.environment)
    assert again.output == found.output


def test_only_the_nodes_that_are_selected(reading: User, tmp_path: Path) -> None:
    source = config(
        tmp_path,
        label_selectors=["topology.kubernetes.io/zone in (east,west)", "paddleflow.org/node-group"],
        read=["queues"],
    )
    found = listing(source, **reading.environment)
    assert sorted(found.variables) == ["gpu-1", "gpu-2"]
    assert "paddleflow_pods" not in found.variables["gpu-1"]
    assert found.hosts("queue_team_a") == ["gpu-1", "gpu-2"]


def test_what_may_not_be_read_is_left_out_and_told_only_when_it_was_asked_for(nodes_only: User, tmp_path: Path) -> None:
    quiet = listing(config(tmp_path), **nodes_only.environment, **FATAL)
    assert not {"paddleflow_pods", "paddleflow_cached_bytes"} & set(quiet.variables["gpu-1"])
    assert not [group for group in quiet.data if group.startswith(("queue_", "cached_"))]
    asked = listing(config(tmp_path, read=["pods", "caches"]), **nodes_only.environment, **FATAL)
    assert asked.code == 0
    assert [line[:42] for line in asked.errors.splitlines() if "[WARNING]" in line] == [
        "[WARNING]: The inventory is without pods: ",
        "[WARNING]: The inventory is without caches",
    ]
    assert "reading" not in asked.errors
    assert "system:serviceaccount:default:nodes-only" in asked.errors
    assert json.loads(asked.output)["_meta"]["hostvars"] == quiet.variables


@pytest.mark.parametrize(
    ("options", "environment", "said"),
    [
        ({"keyed_group": []}, {}, "keyed_group: no such option; there are "),
        ({"read": ["jobs"]}, {}, "'read'"),
        ({}, {"K8S_AUTH_HOST": "https://127.0.0.1:9"}, "https://127.0.0.1:9"),
        ({}, {"K8S_AUTH_API_KEY": "planted-and-wrong"}, "does not accept the credentials"),
        ({"label_selectors": ["!!"]}, {}, "Could not list Node"),
        ({"strict": True, "compose": {"x": "nothing.at.all"}}, {}, "Could not set x for host gpu-1"),
        ({"kubeconfig": "/nowhere"}, {"K8S_AUTH_API_KEY": ""}, "/nowhere"),
    ],
)
def test_a_source_that_cannot_be_read_says_why_and_fails(
    reading: User, tmp_path: Path, options: dict[str, Any], environment: dict[str, str], said: str
) -> None:
    source = config(tmp_path, **options)
    failed = listing(source, **{**reading.environment, **FATAL, **environment})
    assert failed.code != 0
    assert said in " ".join(failed.errors.split())
    assert "Traceback" not in failed.errors
    assert "planted-and-wrong" not in failed.errors
    assert reading.token not in failed.errors


def test_without_any_cluster_it_says_how_to_name_one(tmp_path: Path) -> None:
    failed = listing(config(tmp_path), **FATAL, HOME=str(tmp_path))
    assert failed.code != 0
    assert "set kubeconfig, or host and api_key" in " ".join(failed.errors.split())


def test_a_file_of_another_name_is_left_to_others(reading: User, tmp_path: Path) -> None:
    failed = listing(config(tmp_path, "site.yml"), **reading.environment, **FATAL)
    assert failed.code != 0
    assert "could not be verified by inventory plugin" in " ".join(failed.errors.split())


def test_options_may_be_templates_and_have_the_names_of_kubernetes_core(reading: User, tmp_path: Path) -> None:
    mine = reading.environment
    source = config(
        tmp_path,
        host=mine["K8S_AUTH_HOST"],
        api_key="{{ lookup('ansible.builtin.env', 'MY_TOKEN') }}",
        verify_ssl=True,
        ssl_ca_cert=mine["K8S_AUTH_SSL_CA_CERT"],
    )
    found = listing(source, "--list", "--export", "-vvvv", MY_TOKEN=reading.token)
    assert found.code == 0, found.errors
    assert '"gpu-1"' in found.output
    assert reading.token not in found.output + found.errors


def test_options_come_before_the_environment(api: ControlPlane, reading: User, tmp_path: Path) -> None:
    source = config(tmp_path, kubeconfig=str(api.kubeconfig))
    # Credentials of the environment would win over those of a kubeconfig, as for modules.
    environment = {"K8S_AUTH_KUBECONFIG": "/nowhere", "KUBECONFIG": "/nowhere"}
    assert sorted(listing(source, **environment).variables) == ["gpu-1", "gpu-2", "main"]
    assert reading


# A template without braces: its first line says what begins one.
HEADER = "#jinja2:variable_start_string:'(',variable_end_string:')'\n(6 * 7)"


def test_what_others_wrote_is_text_and_never_a_template(cluster: Client, reading: User, tmp_path: Path) -> None:
    odd = inventories.node("odd")
    texts = {"Odd": "{{ 6 * 7 }}", "Header": HEADER}
    odd["status"]["conditions"] = [{"type": name, "status": text} for name, text in texts.items()]
    inventories.put(cluster, odd)
    try:
        source = config(
            tmp_path, compose={"seen": "paddleflow_conditions.Odd", "other": "paddleflow_conditions.Header"}
        )
        found = listing(source, **reading.environment).variables["odd"]
        # As Ansible writes what it must not evaluate when it reads the list again.
        assert found["seen"] == found["paddleflow_conditions"]["Odd"] == {"__ansible_unsafe": "{{ 6 * 7 }}"}
        assert found["other"] == found["paddleflow_conditions"]["Header"] == {"__ansible_unsafe": HEADER}
        assert "ansible_host" not in found
    finally:
        cluster.delete(cluster.kind("v1", "Node"), "odd")


@pytest.fixture
def late(cluster: Client) -> Iterator[str]:
    yield "late"
    cluster.delete(cluster.kind("v1", "Node"), "late")


def test_what_was_read_is_kept_for_its_server_and_user_alone(
    cluster: Client, reading: User, nodes_only: User, late: str, tmp_path: Path
) -> None:
    kept: dict[str, Any] = {
        "cache": True,
        "cache_plugin": "ansible.builtin.jsonfile",
        "cache_connection": str(tmp_path / "kept"),
    }
    source = config(tmp_path, **kept)
    before = listing(source, **reading.environment)
    inventories.put(cluster, inventories.node(late))
    again = listing(source, **reading.environment)
    assert again.output == before.output
    # What is composed of it is not kept.
    config(tmp_path, **kept, compose={"two": "1 + 1"})
    assert listing(source, **reading.environment).variables["main"]["two"] == 2
    other = {
        **nodes_only.environment,
        "K8S_AUTH_HOST": nodes_only.environment["K8S_AUTH_HOST"].replace("127.0.0.1", "127.0.0.1."),
    }
    unreachable = listing(source, **{**other, **FATAL, "K8S_AUTH_HOST": "https://127.0.0.1:9"})
    assert unreachable.code != 0
    flushed = listing(source, "--list", "--export", "--flush-cache", **reading.environment)
    assert late in flushed.variables
    assert late in listing(source, **reading.environment).variables


def test_the_example_of_the_documentation_runs(reading: User, tmp_path: Path) -> None:
    text = (tree.ROOT / "plugins/inventory/paddleflow.py").read_text(encoding="utf-8")
    example = text.partition('EXAMPLES = r"""')[2].partition('"""')[0]
    source = tmp_path / "gpu.paddleflow.yml"
    source.write_text(
        example.replace("nvidia.com/gpu.present=true", "paddleflow.org/hardware-type=A100"), encoding="utf-8"
    )
    found = listing(source, **reading.environment)
    assert found.variables["gpu-1"]["free_gpus"] == 4
    assert found.hosts("idle") == ["gpu-2"]
    assert found.hosts("zone_east") == ["gpu-1", "gpu-2"]


def test_each_part_is_one_list(cluster: Client) -> None:
    facts, missing = reader.read(cluster)
    assert missing == {}
    assert {part: len(facts[part]) for part in ("nodes", "pods", "queues", "caches")} == {
        "nodes": 3, "pods": 1, "queues": 1, "caches": 1,
    }  # fmt: skip
