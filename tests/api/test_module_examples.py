# SPDX-License-Identifier: Apache-2.0
"""Examples in the modules' documentation, each twice, and the pages that users read: run as they stand by ansible-playbook."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import checkout_play, examples, granted, guides, vault
from tests.support.binaries import built
from tests.support.control_plane import ControlPlane
from tests.support.engine import garbage_collector
from tests.support.kube_api import Session, define
from tests.support.plays import IN_PROCESS
from tools import tree

pytestmark = pytest.mark.own_api

NAMESPACE = "examples"
# Modules that talk to no cluster have tests of their own.
WITHOUT_CLUSTER = {"command_progress", "files"}
MODULES = sorted({path.stem for path in tree.files() if path.match("plugins/modules/*.py")} - WITHOUT_CLUSTER)
# What the examples take for given: files beside the playbook, people, a queue, a run that has failed, and keys in Vault.
FILES = {f"pipelines/{name}.yaml": name for name in ("digits", "experiment")}
DOCUMENT = "name: {}\ndocker_env: python:3.11\nentry_points:\n  make:\n    command: echo\n"
QUEUE: dict[str, Any] = {
    "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "team-a"}, "spec": {"weight": 1},
}  # fmt: skip
STUDENTS = [
    {"apiGroups": ["batch.volcano.sh"], "resources": ["jobs"], "verbs": ["get", "create", "patch"]},
    {"apiGroups": ["scheduling.volcano.sh", "paddleflow.org"], "resources": ["*"], "verbs": ["get", "list"]},
]
# What is told to a controller again and again until it says that it is so, and no controller runs here.
UNSETTLED = {("queue", "closed"), ("queue", "drained"), ("queue", "open"), ("job", "stopped")}
FAILED_RUN: dict[str, Any] = {
    "apiVersion": "paddleflow.org/v1alpha1",
    "kind": "PipelineRun",
    "metadata": {"name": "digits-0123456789", "namespace": "default"},
    "spec": {"pipeline": {"name": "digits"}},
}
VAULT = ("secret", "science/corpus", {"access_key": "example-access-key", "secret_key": "example-secret-key"})


@pytest.fixture(scope="module")
def served(api: ControlPlane, session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    define(api, built("volcano") / "crds", tree.ROOT / "crds")
    api.kubectl("create", "namespace", "science")
    for name in ("gpu-1", "gpu-2"):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        api.kubectl("create", "--filename=-", stdin=json.dumps(node))
    for given in (FAILED_RUN, QUEUE):
        api.kubectl("create", "--filename=-", stdin=json.dumps(given))
    failed = json.dumps(
        {"status": {"phase": "failed", "steps": {"digits.entry_points.train": "failed x2: exit code 7"}}}
    )
    run = FAILED_RUN["metadata"]["name"]
    api.kubectl("patch", "pipelinerun", run, "--subresource=status", "--type=merge", f"--patch={failed}")
    enforce(granted.Granted(api, session))
    # What is taken away in the foreground waits for it.
    with garbage_collector(api, tmp_path_factory.mktemp("collector")):
        yield api


def enforce(world: granted.Granted) -> None:
    """Grants count, for all but the administrator."""
    for namespace in ("room", "bound"):
        world.namespace(namespace)
    world.apply(*granted.role("makers", granted.RULES, granted.subject("Group", granted.MAKERS)))
    world.apply(*granted.role("students", STUDENTS, granted.subject("Group", "students")))
    world.grant("team", queue="team", namespaces=["bound"])
    world.enforce("enforce")
    world.settle()


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    with vault.stand_in() as standing:
        standing.engine(VAULT[0], 2)
        standing.put(*VAULT)
        yield {"VAULT_ADDR": standing.url, "VAULT_TOKEN": standing.token}


def runnable(name: str) -> list[dict[str, Any]]:
    """Each task twice, since the second time nothing is to be changed, and at the end what is expected of that. Modules are sent
    the first time only."""
    tasks: list[dict[str, Any]] = []
    expected = []
    for number, task in enumerate(examples.tasks(name)):
        (action,) = [key for key in task if "." in key]
        if not action.startswith("paddleflow.core."):
            tasks.append(task)
            continue
        task[action] = {key: value for key, value in (task[action] or {}).items() if key not in guides.ANSWERED}
        module = action.rpartition(".")[2]
        again = f"again_{number}"
        sent = {**task, "vars": {**task.get("vars", {}), "ansible_python_interpreter": "{{ other_python }}"}}
        tasks += [sent, {**task, "register": again}]
        results = f"({again}.results if 'results' in {again} else [{again}])"
        said = examples.attributes(module)
        shows = "select" if said["diff_mode"]["support"] == "full" else "reject"
        expected.append(f"{results} | {shows}attr('diff', 'defined') | length == {results} | length")
        # A run without a key is another one each time, which its module says.
        named = said["idempotent"]["support"] == "full" or {"name", "run_key"} & set(task[action])
        if named and (module, task[action].get("state")) not in UNSETTLED:
            expected.append(f"{again} is not changed")
    return [*tasks, {"ansible.builtin.assert": {"that": expected, "quiet": True}}]


def test_the_examples_run_and_change_nothing_the_second_time(
    served: ControlPlane, environment: dict[str, str], tmp_path: Path
) -> None:
    """All in one playbook: starting one costs more than what it then does."""
    plays = [
        {
            "name": f"Examples of {name}",
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "diff": True,
            "vars": {"other_python": str(checkout_play.other_python(tmp_path))},
            "module_defaults": {"group/paddleflow.core.paddleflow": {"kubeconfig": str(served.kubeconfig)}},
            "tasks": runnable(name),
        }
        for name in MODULES
    ]
    for path, document in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(DOCUMENT.format(document), encoding="utf-8")
    done = checkout_play.run(
        tmp_path, yaml.dump(plays, Dumper=examples.Dumper), "--inventory=localhost,", **IN_PROCESS, **environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stderr, done.stderr


@pytest.mark.parametrize("name", MODULES)
def test_every_module_has_examples(name: str) -> None:
    assert examples.tasks(name)


@pytest.mark.parametrize("name", guides.pages())
def test_a_page_does_what_it_shows(
    served: ControlPlane, environment: dict[str, str], tmp_path: Path, name: str
) -> None:
    page = guides.page(name)
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube/config").symlink_to(served.kubeconfig)
    for path, text in page.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    done = checkout_play.run(
        tmp_path, yaml.dump(page.plays, Dumper=examples.Dumper, sort_keys=False),
        PATH=f"{served.folder / 'bin'}:{os.environ['PATH']}",
        ANSIBLE_INVENTORY_UNPARSED_WARNING="False", ANSIBLE_LOCALHOST_WARNING="False",
        **IN_PROCESS, **environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stderr, done.stderr
