# SPDX-License-Identifier: Apache-2.0
"""The examples in each module's documentation, run as they stand by ansible-playbook, one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import checkout_play, examples
from tests.support.binaries import built
from tests.support.control_plane import ControlPlane
from tests.support.engine import garbage_collector
from tests.support.kube_api import define
from tools import tree

# Modules that talk to no cluster have tests of their own.
WITHOUT_CLUSTER = {"command_progress", "files"}
MODULES = sorted({path.stem for path in tree.files() if path.match("plugins/modules/*.py")} - WITHOUT_CLUSTER)
# What only a controller answers: the tests of each module wait for it.
ANSWERED = ("wait", "wait_timeout")
# What the examples take for given: files beside the playbook, and a run that has failed.
FILES = {f"pipelines/{name}.yaml": name for name in ("digits", "experiment")}
DOCUMENT = "name: {}\ndocker_env: python:3.11\nentry_points:\n  make:\n    command: echo\n"
FAILED_RUN: dict[str, Any] = {
    "apiVersion": "paddleflow.org/v1alpha1",
    "kind": "PipelineRun",
    "metadata": {"name": "digits-0123456789", "namespace": "default"},
    "spec": {"pipeline": {"name": "digits"}},
}


@pytest.fixture(scope="module")
def served(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    define(api, built("volcano") / "crds", tree.ROOT / "crds")
    api.kubectl("create", "namespace", "science")
    for name in ("gpu-1", "gpu-2"):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        api.kubectl("create", "--filename=-", stdin=json.dumps(node))
    api.kubectl("create", "--filename=-", stdin=json.dumps(FAILED_RUN))
    failed = json.dumps({"status": {"phase": "failed"}})
    run = FAILED_RUN["metadata"]["name"]
    api.kubectl("patch", "pipelinerun", run, "--subresource=status", "--type=merge", f"--patch={failed}")
    # What is taken away in the foreground waits for it.
    with garbage_collector(api, tmp_path_factory.mktemp("collector")):
        yield api


def runnable(name: str) -> list[dict[str, Any]]:
    tasks = examples.tasks(name)
    for task in tasks:
        for action, options in task.items():
            if action.startswith("paddleflow.core."):
                task[action] = {key: value for key, value in (options or {}).items() if key not in ANSWERED}
    return tasks


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(served: ControlPlane, tmp_path: Path, name: str) -> None:
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "module_defaults": {"group/paddleflow.core.paddleflow": {"kubeconfig": str(served.kubeconfig)}},
        "tasks": runnable(name),
    }
    assert play["tasks"]
    for path, document in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(DOCUMENT.format(document), encoding="utf-8")
    done = checkout_play.run(tmp_path, yaml.dump([play], Dumper=examples.Dumper), "--inventory=localhost,")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stderr, done.stderr
