# SPDX-License-Identifier: Apache-2.0
"""Inventory, infos and lookups on a cluster that has nodes and nothing of the platform."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from paddleflow_core.kube.client import Client

from tests.support import inventories, modules, plays
from tests.support.control_plane import ControlPlane
from tests.support.inventories import FATAL, config, listing

NAMESPACE = "bare"


def test_kinds_that_are_not_served_are_left_out_and_told_only_when_asked_for(
    api: ControlPlane, client: Client, tmp_path: Path
) -> None:
    inventories.put(client, inventories.node("alone", "10.0.0.1"))
    source = config(tmp_path, kubeconfig=str(api.kubeconfig))
    found = listing(source, **FATAL)
    assert found.variables["alone"]["paddleflow_pods"] == 0
    assert "paddleflow_cached_bytes" not in found.variables["alone"]
    assert sorted(found.data) == ["_meta", "all", "nodes_without_group", "paddleflow_nodes"]
    config(tmp_path, kubeconfig=str(api.kubeconfig), read=["queues", "caches", "pods"])
    asked = listing(source, **FATAL)
    assert asked.code == 0
    told = " ".join(asked.errors.split())
    assert told.count("[WARNING]") == 2
    assert "The inventory is without queues: Could not list Queue" in told
    assert "The inventory is without caches: Could not list NodeCache" in told
    assert asked.output == found.output


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ("query('paddleflow.core.queue', 'team', missing='skip')", "Queue of scheduling.volcano.sh/v1beta1"),
        ("query('paddleflow.core.job')", "Job of batch.volcano.sh/v1alpha1"),
        ("query('paddleflow.core.job', kind='PaddleJob')", "PaddleJob of batch.paddlepaddle.org/v1"),
    ],
)
def test_a_cluster_that_has_none_is_not_one_without_that_one(
    api: ControlPlane, tmp_path: Path, asked: str, kind: str
) -> None:
    task = {"ansible.builtin.debug": {"msg": "{{ " + asked + " }}"}}
    path = tmp_path / "play.yml"
    path.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]))
    done = plays.run(str(path), {}, K8S_AUTH_KUBECONFIG=str(api.kubeconfig))
    assert done.code != 0
    assert f"does not serve {kind}" in " ".join(done.output.split())


def test_a_cluster_tells_what_it_does_not_serve(api: ControlPlane, client: Client) -> None:
    inventories.put(client, inventories.node("alone", "10.0.0.1"))
    answer = modules.run("cluster_info", {"kubeconfig": str(api.kubeconfig)})
    assert (answer["served"]["volcano"], answer["served"]["paddleflow"]) == (False, False)
    assert {"Queue.scheduling.volcano.sh/v1beta1", "PipelineRun.paddleflow.org/v1alpha1"} <= set(
        answer["served"]["missing"]
    )
    assert answer["queues"] is None
    assert answer["total"]["free"]["cpu"] == "15500m"
    assert not answer.get("warnings")


def test_a_noun_that_is_not_served_is_not_one_of_which_there_is_none(api: ControlPlane) -> None:
    answer = modules.run("pipeline_run_info", {"kubeconfig": str(api.kubeconfig)})
    assert answer["failed"]
    assert "does not serve PipelineRun of paddleflow.org/v1alpha1" in answer["msg"]
