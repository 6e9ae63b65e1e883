# SPDX-License-Identifier: Apache-2.0
"""What the cluster is asked about before a job is built, and what of the answers is used."""

from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.model import own
from paddleflow_core.model.jobs import lookups
from paddleflow_core.model.jobs.lookups import Named

NOTHING = Named(frozenset(), frozenset(), "", "")


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({}, NOTHING),
        ({"flavour": {"cpu": 1}}, NOTHING),
        ({"flavour": {"name": "customFlavour", "cpu": 1}}, NOTHING),
        ({"flavour": {"name": "gpu"}}, NOTHING._replace(flavours=frozenset(["gpu"]))),
        ({"limitFlavour": {"name": "NONE"}}, NOTHING),
        ({"limitFlavour": {"name": "gpu"}}, NOTHING._replace(flavours=frozenset(["gpu"]))),
        ({"env": {"PF_JOB_LIMIT_FLAVOUR": "gpu"}}, NOTHING._replace(flavours=frozenset(["gpu"]))),
        ({"members": [{"role": "worker", "flavour": {"name": "gpu"}}]}, NOTHING._replace(flavours=frozenset(["gpu"]))),
        ({"fs": {"name": "data"}}, NOTHING._replace(mounts=frozenset(["data"]))),
        ({"fs": {}}, NOTHING),
        (
            {"fs": {"id": "fs-ada-data"}, "extraFS": [{"name": "other/data"}]},
            NOTHING._replace(mounts=frozenset(["fs-ada-data", "other/data"])),
        ),
        (
            {"members": [{"role": "worker", "extraFS": [{"name": "data"}]}]},
            NOTHING._replace(mounts=frozenset(["data"])),
        ),
        ({"schedulingPolicy": {"queue": "vision"}}, NOTHING._replace(queue="vision")),
        (
            {"annotations": {"paddleflow/job-kind-group-version": "PyTorchJob.kubeflow.org/v1"}},
            NOTHING._replace(kind="PyTorchJob.kubeflow.org/v1"),
        ),
    ],
)
def test_only_what_is_named_is_asked(spec: dict[str, Any], named: Named) -> None:
    assert lookups.named(spec) == named


def test_a_name_alone_says_no_kind_but_an_annotation_does() -> None:
    assert lookups.nameless({})
    for kind in ("Job.batch.volcano.sh/v1alpha1", "PyTorchJob.kubeflow.org/v1"):
        assert not lookups.nameless({"annotations": {"paddleflow/job-kind-group-version": kind}})


def file_system(url: str, **annotations: str) -> dict[str, Any]:
    return {"metadata": {"name": "data", "annotations": annotations}, "spec": {"url": url}}


def test_a_file_system_is_mounted_by_its_claim_and_a_local_one_by_its_path() -> None:
    named = {own.FILE_SYSTEM_ID: "fs-science-data"}
    assert lookups.mount(file_system("s3://bucket/", **named)) == {"id": "fs-science-data", "type": "s3"}
    local = {"id": "fs-science-data", "type": "local", "hostPath": "/srv/data"}
    assert lookups.mount(file_system("local://srv/data", **named)) == local
    assert lookups.mount({"metadata": {"name": "data"}, "spec": {"url": "s3://bucket/"}}) == {
        "id": "fs-data",
        "type": "s3",
    }


def test_of_a_queue_its_state_limit_and_nodes_are_known() -> None:
    assert lookups.queue({"metadata": {"name": "q"}}) == {"state": "Open"}
    spec = {
        "capability": {"cpu": "4"},
        "affinity": {"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["gpu"]}},
    }
    live = {"metadata": {"name": "q"}, "spec": spec, "status": {"state": "Closing"}}
    assert lookups.queue(live) == {"state": "Closing", "max": {"cpu": "4"}, "nodeGroup": "gpu"}
