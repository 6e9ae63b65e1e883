# SPDX-License-Identifier: Apache-2.0
"""The examples in each module's documentation, run as they stand by ansible-playbook, one after the other and each twice."""

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
# What is told to a controller again and again until it says that it is so, and no controller runs here.
UNSETTLED = {("queue", "closed"), ("queue", "drained"), ("queue", "open"), ("job", "stopped")}
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
    """Each task twice, since the second time nothing is to be changed, and at the end what is expected of that."""
    tasks: list[dict[str, Any]] = []
    expected = []
    for number, task in enumerate(examples.tasks(name)):
        (action,) = [key for key in task if "." in key]
        tasks.append(task)
        if not action.startswith("paddleflow.core."):
            continue
        task[action] = {key: value for key, value in (task[action] or {}).items() if key not in ANSWERED}
        module = action.rpartition(".")[2]
        again = f"again_{number}"
        tasks.append({**task, "register": again})
        results = f"({again}.results if 'results' in {again} else [{again}])"
        said = examples.attributes(module)
        shows = "select" if said["diff_mode"]["support"] == "full" else "reject"
        expected.append(f"{results} | {shows}attr('diff', 'defined') | length == {results} | length")
        # A run without a key is another one each time, which its module says.
        named = said["idempotent"]["support"] == "full" or {"name", "run_key"} & set(task[action])
        if named and (module, task[action].get("state")) not in UNSETTLED:
            expected.append(f"{again} is not changed")
    return [*tasks, {"ansible.builtin.assert": {"that": expected, "quiet": True}}]


def test_the_examples_run_and_change_nothing_the_second_time(served: ControlPlane, tmp_path: Path) -> None:
    """All in one playbook: starting one costs more than what it then does."""
    plays = [
        {
            "name": f"Examples of {name}",
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "diff": True,
            "module_defaults": {"group/paddleflow.core.paddleflow": {"kubeconfig": str(served.kubeconfig)}},
            "tasks": runnable(name),
        }
        for name in MODULES
    ]
    for path, document in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(DOCUMENT.format(document), encoding="utf-8")
    done = checkout_play.run(tmp_path, yaml.dump(plays, Dumper=examples.Dumper), "--inventory=localhost,")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stderr, done.stderr


@pytest.mark.parametrize("name", MODULES)
def test_every_module_has_examples(name: str) -> None:
    assert examples.tasks(name)
