# SPDX-License-Identifier: Apache-2.0
"""Documents as playbooks give them: by a file that nothing expands, in place and marked, or by mistake expanded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import checkout_play
from tests.support.binaries import ROOT
from tests.support.control_plane import ControlPlane
from tests.support.kube_api import define
from tests.support.workflow import NESTED, around

pytestmark = checkout_play.NEEDS_ANSIBLE

KINDS = ("pipelines", "pipelineruns")
HEAD = """\
- hosts: localhost
  gather_facts: false
  module_defaults:
    group/paddleflow.core.paddleflow: {kubeconfig: "%s", namespace: default}
  tasks:
"""


@pytest.fixture(scope="module")
def cluster(api: ControlPlane) -> ControlPlane:
    define(api, *(ROOT / f"crds/{kind}.paddleflow.org.yaml" for kind in KINDS))
    return api


def play(api: ControlPlane, folder: Path, tasks: str, *arguments: str) -> tuple[int, str]:
    ours = {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_ASYNC_DIR": str(folder / "async")}
    done = checkout_play.run(folder, HEAD % api.kubeconfig + tasks, *arguments, **ours)
    return done.returncode, done.stdout + done.stderr


def live(api: ControlPlane, kind: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(api.kubectl("get", kind, name, "-o", "json"))
    return found


def test_a_file_is_found_beside_the_playbook_and_never_expanded(cluster: ControlPlane, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files/digits.yaml").write_text(NESTED)
    (tmp_path / "greet.yaml").write_text(around("{a: {command: 'echo {{ PF_RUN_ID }} {% raw %} é'}}", name="greet"))
    tasks = """\
    - paddleflow.core.pipeline: {name: digits, src: digits.yaml}
    - paddleflow.core.pipeline:
        objects:
          - {name: digits, src: digits.yaml}
          - {name: greet, src: "{{ playbook_dir }}/greet.yaml", description: "{{ 1 + 1 }}"}
      register: second
    - assert: {that: ["not second.objects[0].changed", "second.objects[1].changed"]}
    - paddleflow.core.pipeline_run: {src: greet.yaml, run_key: "{{ 'a' ~ 'b' }}", parameters: {}}
"""
    code, output = play(cluster, tmp_path, tasks)
    assert code == 0, output
    assert live(cluster, "pipeline", "digits")["spec"]["document"] == NESTED
    greet = live(cluster, "pipeline", "greet")["spec"]
    assert greet == {"document": (tmp_path / "greet.yaml").read_text(), "description": "2"}
    code, output = play(
        cluster, tmp_path, tasks.replace("second.objects[1].changed", "not second.changed"), "--check", "--diff"
    )
    assert code == 0, output
    assert "changed=0" in output


def test_a_text_that_is_marked_stays_as_it_is(cluster: ControlPlane, tmp_path: Path) -> None:
    tasks = """\
    - paddleflow.core.pipeline:
        name: marked
        document: !unsafe |
          name: marked
          docker_env: i
          entry_points: {a: {command: "echo {{PF_RUN_ID}}"}}
    - paddleflow.core.pipeline:
        objects:
          - name: mapped
            document: !unsafe {name: mapped, docker_env: i, entry_points: {a: {command: "echo {{PF_RUN_ID}}"}}}
"""
    code, output = play(cluster, tmp_path, tasks)
    assert code == 0, output
    assert "echo {{PF_RUN_ID}}" in live(cluster, "pipeline", "marked")["spec"]["document"]
    assert "echo {{PF_RUN_ID}}" in live(cluster, "pipeline", "mapped")["spec"]["document"]


DOCUMENT = around(
    "{a: {artifacts: {output: [o]}}, b: {deps: a, command: x, artifacts: {input: {i: '{{ a.o }}'}}}}", name="eaten"
)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, ["'a' is undefined", "give it as a file by src, which is never expanded, or mark the text with !unsafe"]),
        (
            {"a": {"o": ""}},
            ["input.i (line 4) is '', but must be exactly one template", "give the document as a file by src"],
        ),
        (
            {"a": {"o": "x"}},
            ["input.i (line 4) is 'x', but must be exactly one template", "mark it with !unsafe. [2.3]"],
        ),
    ],
)
@pytest.mark.parametrize("several", [False, True])
def test_a_text_that_was_expanded_is_told_with_the_remedy(
    cluster: ControlPlane, tmp_path: Path, variables: dict[str, Any], said: list[str], several: bool
) -> None:
    one = {"name": "eaten", "document": DOCUMENT}
    task = json.dumps({"paddleflow.core.pipeline": {"objects": [one]} if several else one})
    code, output = play(cluster, tmp_path, f"    - {task}\n", "--extra-vars", json.dumps(variables))
    assert code
    text = " ".join(output.split())
    assert [part for part in said if part not in text] == [], output
    assert cluster.try_kubectl("get", "pipeline", "eaten").returncode


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"src": "nowhere.yaml"}, "nowhere.yaml"),
        ({"src": "some.yaml", "document": "x"}, "src and document are both given: leave one of the two out."),
        ({"objects": [{"name": "a", "src": "some.yaml", "document": "x"}]}, "src and document are both given"),
        (
            {"src": "some.yaml", "name": "other"},
            "name (some.yaml, line 1) is 'some', but must be other, as the pipeline.",
        ),
        ({"objects": "x"}, "objects"),
        ({"name": "{{ undefined_name }}", "src": "some.yaml"}, "'undefined_name' is undefined"),
    ],
)
def test_what_is_wrong_with_a_file(cluster: ControlPlane, tmp_path: Path, options: dict[str, Any], said: str) -> None:
    (tmp_path / "some.yaml").write_text(around("{a: {}}", name="some"))
    task = json.dumps({"paddleflow.core.pipeline": options})
    code, output = play(cluster, tmp_path, f"    - {task}\n")
    assert code
    assert said in " ".join(output.split())
    assert "Traceback" not in output
    assert "!unsafe" not in output


def test_it_can_run_in_the_background(cluster: ControlPlane, tmp_path: Path) -> None:
    (tmp_path / "later.yaml").write_text(around("{a: {}}", name="later"))
    task = {"paddleflow.core.pipeline": {"name": "later", "src": "later.yaml"}, "async": 60, "poll": 1}
    code, output = play(cluster, tmp_path, f"    - {json.dumps(task)}\n")
    assert code == 0, output
    assert "later" in live(cluster, "pipeline", "later")["spec"]["document"]
