# SPDX-License-Identifier: Apache-2.0
"""`apply` against a real API server: by its action plugin within ansible-playbook, and by a module process, with the same results."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support import ways
from tests.support.control_plane import ControlPlane

# More than one writer writes in a second.
MANY = 1500


@pytest.fixture
def team(api: ControlPlane, request: pytest.FixtureRequest) -> str:
    name = "apply-" + re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:50].strip("-")
    api.kubectl("create", "namespace", name)
    return name


def config(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def applied(check: bool = False, **options: Any) -> dict[str, Any]:
    """A task of it."""
    return {"paddleflow.core.apply": options, **({"check_mode": True, "diff": True} if check else {})}


class Applier(ways.Runner):
    def apply(self, way: str = "here", **options: Any) -> Any:
        (result,) = self.tasks(applied(**options), way=way)
        return result


@pytest.fixture
def runner(api: ControlPlane, tmp_path: Path) -> Applier:
    return Applier(api, tmp_path)


def actions(result: Any) -> list[str]:
    return [f"{one['name']} {one['action']}" for one in result["objects"]]


def live(api: ControlPlane, team: str, name: str) -> Any:
    text = api.kubectl("get", "configmap", name, f"--namespace={team}", "--ignore-not-found", "--output=json")
    return json.loads(text) if text else None


@pytest.mark.parametrize("way", ways.WAYS)
def test_objects_are_applied_once(runner: Applier, team: str, way: str) -> None:
    full = applied(namespace=team, definition=[config("a", x="1"), config("b", y="2")])
    less = applied(namespace=team, definition=[config("a"), config("b", y="2")], state="present")
    none = applied(namespace=team, definition=[config("a"), config("b")], state="absent")
    first, again, lessened, gone = runner.tasks(full, full, less, none, way=way)
    assert actions(first) == ["a created", "b created"]
    assert (again["changed"], actions(again)) == (False, ["a unchanged", "b unchanged"])
    assert actions(lessened) == ["a changed", "b unchanged"]
    assert actions(gone) == ["a deleted", "b deleted"]


def test_both_ways_say_the_same(runner: Applier, api: ControlPlane, team: str) -> None:
    """Each case in the process of the play and in one of its own: the same result, but for where it was run."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"key": "planted-value"}}
    pod = {"containers": [{"name": "main", "image": "none"}]}
    workload = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod}}
    warned = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "warned"}, "spec": workload}
    inline = json.loads(api.kubectl("config", "view", "--raw", "--output=json"))
    inline["users"][0]["user"]["password"] = "planted-password"
    of_environment = {"K8S_AUTH_KUBECONFIG": str(api.kubeconfig)}
    # Options, and what else stands in the task.
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"definition": config("one", a="1")}, {}),
        ({"definition": [config("one", a="2"), config("two")]}, {}),
        ({"definition": json.dumps(config("text")), "return_content": True}, {}),
        ({"definition": secret}, {}),
        ({"definition": {**secret, "stringData": {"key": "planted-other"}}}, {}),
        ({"definition": config("Not-A-Name")}, {}),
        ({"definition": {"kind": "ConfigMap"}}, {}),
        ({"definition": config("one"), "set": "s", "prune": True}, {}),
        ({"definition": config("one"), "prune": True}, {}),
        ({"definition": config("one"), "writers": 0}, {}),
        ({"definition": config("late"), "wait": True, "wait_timeout": 4, "wait_for": {"condition": "Ready"}}, {}),
        ({"definition": {"apiVersion": "no.example.org/v1", "kind": "Nothing", "metadata": {"name": "x"}}}, {}),
        ({"definition": config("one"), "state": "absent"}, {}),
        ({"definition": config("one"), "kubeconfig": "/nonexistent"}, {}),
        ({"definition": config("one"), "unknown": 1}, {}),
        ({"definition": secret, "wait_timeout": "abc", "api_key": "planted-key"}, {}),
        ({}, {}),
        ({"definition": warned}, {}),  # of the namespace's own rule
        ({"definition": config("inline"), "kubeconfig": inline, "proxy": "http://u:planted-pw@127.0.0.1:9"}, {}),
        ({"definition": config("environment"), "kubeconfig": ""}, {"environment": of_environment}),
        ({"definition": config("hidden")}, {"no_log": True}),
        ({"definition": config("later")}, {"async": 60, "poll": 1}),
        ({"definition": config("timed")}, {"timeout": 60}),
        ({"definition": config("delegated")}, {"delegate_to": "there"}),
        ({"definition": config("connected")}, {"vars": {"ansible_connection": "elsewhere"}}),
    ]
    if os.geteuid() == 0 and shutil.which("su"):  # who becomes somebody else needs no password
        cases.append(({"definition": config("become")}, {"become": True, "become_method": "su", "become_user": "root"}))
    found: dict[str, list[Any]] = {}
    for way in ways.WAYS:
        space = f"{team[:40]}-{way}"
        api.kubectl("create", "namespace", space)
        api.kubectl("label", "namespace", space, "pod-security.kubernetes.io/warn=restricted")
        tasks = [{"paddleflow.core.apply": {"namespace": space, **options}, **more} for options, more in cases]
        for mode in (("--check", "--diff"), ("--diff", "-vvv")):
            left_out = ("async", "poll") if mode[0] == "--check" else ()  # Ansible itself refuses the two together
            given = [{key: value for key, value in task.items() if key not in left_out} for task in tasks]
            results = runner.tasks(*given, way=way, arguments=mode)
            found.setdefault(way, []).extend(ways.comparable(result, space) for result in results)
            assert "planted" not in runner.output, way
    for number, (here, process) in enumerate(zip(found["here"], found["process"], strict=True)):
        assert here == process, cases[number % len(cases)]
    told = {json.dumps(one) for one in found["here"] if "The API server warns: would violate PodSecurity" in one}
    assert told


def test_files_and_directories_are_read_as_they_are(runner: Applier, team: str, tmp_path: Path) -> None:
    folder = tmp_path / "manifests"
    (folder / "deeper").mkdir(parents=True)
    braces = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: braces}\ndata: {text: '{{ not a template }}', day: 2026-01-31}\n"
    (folder / "b.yaml").write_text(f"---\n{braces}---\n# nothing\n---\n{json.dumps(config('second'))}\n")
    (folder / "a.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [config("first")]}))
    (folder / "notes.txt").write_text("not a manifest")
    (folder / "deeper/c.yml").write_text(json.dumps(config("third")))
    flat, again = applied(namespace=team, src=[str(folder)]), applied(namespace=team, src=str(folder), recursive=True)
    result, deep = runner.tasks(flat, again)
    assert actions(result) == ["first created", "braces created", "second created"]
    assert live(runner.api, team, "braces")["data"] == {"text": "{{ not a template }}", "day": "2026-01-31"}
    assert actions(deep)[-1] == "third created"
    assert not runner.apply("process", namespace=team, src=str(folder), recursive=True)["changed"]


def test_templates_are_rendered(runner: Applier, team: str, tmp_path: Path) -> None:
    template = tmp_path / "config.yaml.j2"
    template.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rendered}\ndata:\n  who: '{{ who }}'\n")
    task = {"paddleflow.core.apply": {"namespace": team, "template": str(template)}, "vars": {"who": "ann"}}
    (result,) = runner.tasks(task)
    assert actions(result) == ["rendered created"]
    assert live(runner.api, team, "rendered")["data"] == {"who": "ann"}


@pytest.mark.parametrize("way", ways.WAYS)
def test_an_error_names_file_and_line(runner: Applier, team: str, tmp_path: Path, way: str) -> None:
    file = tmp_path / "some.yaml"
    file.write_text(f"{json.dumps(config('good'))}\n---\n{json.dumps(config('Bad_Name'))}\n")
    other = tmp_path / "other.yaml"
    other.write_text("a: [\n")
    result, unread = runner.tasks(applied(namespace=team, src=str(file)), applied(src=str(other)), way=way)
    assert result["failed"]
    assert f"{file}:3: " in result["msg"]
    assert actions(result) == ["good created", "Bad_Name failed"]
    assert f"{other}:2: " in unread["msg"]


def test_a_set_loses_what_is_no_longer_declared_even_of_kinds_that_are_no_longer_named(
    runner: Applier, team: str
) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    given: dict[str, Any] = {"namespace": team, "set": "team", "prune": True}
    runner.api.kubectl("create", "configmap", "theirs", f"--namespace={team}")
    less = {**given, "definition": [config("a")]}
    _first, check, pruned, again = runner.tasks(
        applied(**given, definition=[config("a"), config("b"), account]),
        applied(check=True, **less),
        applied(**less),
        applied(**less),
    )
    assert sorted(actions(check)) == ["a unchanged", "b deleted", "robot deleted"]
    assert sorted(actions(pruned)) == ["a unchanged", "b deleted", "robot deleted"]  # the check took nothing
    assert live(runner.api, team, "b") is None
    assert live(runner.api, team, "theirs")
    assert not again["changed"]


def test_a_set_that_would_lose_too_much_loses_nothing(runner: Applier, team: str) -> None:
    given: dict[str, Any] = {"namespace": team, "set": "team", "prune": True}
    _first, refused, pruned = runner.tasks(
        applied(**given, definition=[config(f"c{number}") for number in range(4)]),
        applied(**given, definition=[config("c0", new="1")], prune_max=2),
        applied(**given, definition=[config("c0")], prune_max=3),
    )
    assert "would lose 3 objects, and prune_max allows 2" in refused["msg"]
    assert sorted(actions(pruned)) == [
        "c0 unchanged",
        "c1 deleted",
        "c2 deleted",
        "c3 deleted",
    ]  # nothing was lost before


@pytest.mark.parametrize("way", ways.WAYS)
def test_the_environment_of_a_task_names_the_cluster(runner: Applier, team: str, way: str) -> None:
    task = {
        "paddleflow.core.apply": {"namespace": team, "definition": config("by-environment")},
        "environment": {"K8S_AUTH_KUBECONFIG": str(runner.api.kubeconfig)},
    }
    before = dict(os.environ)
    (result,) = runner.tasks(task, way=way, module_defaults={})
    assert actions(result) == ["by-environment created"]
    assert dict(os.environ) == before


def test_a_task_that_runs_into_its_timeout_writes_nothing_more(runner: Applier, team: str) -> None:
    """Every object of it is older than what was written after it had returned, also when all is over."""
    waiting = {"definition": config("late"), "namespace": team, "wait": True, "wait_for": {"condition": "Ready"}}
    many = {"namespace": team, "writers": 1, "definition": [config(f"c{number}") for number in range(MANY)]}
    late, busy, _marker = runner.tasks(
        {"paddleflow.core.apply": {**waiting, "wait_timeout": 60}, "timeout": 3},
        {"paddleflow.core.apply": many, "timeout": 1},
        applied(namespace=team, definition=config("marker")),
    )
    assert late["failed"]
    assert live(runner.api, team, "late")
    assert busy["failed"], "so many are written in a second here: declare more"
    after = int(live(runner.api, team, "marker")["metadata"]["resourceVersion"])
    listed = runner.api.kubectl("get", "configmaps", f"--namespace={team}", "--output=json")
    versions = {one["metadata"]["name"]: int(one["metadata"]["resourceVersion"]) for one in json.loads(listed)["items"]}
    assert [name for name, version in versions.items() if version > after] == []


def test_asynchronous_tasks_run_in_a_process(runner: Applier, team: str) -> None:
    task = {"paddleflow.core.apply": {"namespace": team, "definition": config("later")}, "async": 60, "poll": 1}
    (result,) = runner.tasks(task)
    assert actions(result) == ["later created"]


def test_a_loop_applies_one_object_each_time(runner: Applier, team: str) -> None:
    definition = {**config("x"), "metadata": {"name": "loop-{{ item }}"}}
    task = {"paddleflow.core.apply": {"namespace": team, "definition": definition}, "loop": [1, 2, 3]}
    (result,) = runner.tasks(task)
    assert [actions(one) for one in result["results"]] == [[f"loop-{number} created"] for number in (1, 2, 3)]


def test_kinds_that_are_defined_in_the_same_list_can_be_used_in_it(runner: Applier, team: str) -> None:
    names = {"plural": "doors", "singular": "door", "kind": "Door"}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "doors.apply.example.org"},
        "spec": {"group": "apply.example.org", "names": names, "scope": "Namespaced", "versions": [version]},
    }  # fmt: skip
    door = {"apiVersion": "apply.example.org/v1", "kind": "Door", "metadata": {"name": "front"}, "spec": {"open": True}}
    given: dict[str, Any] = {"namespace": team, "definition": [door, definition], "set": "doors", "prune": True}
    less = applied(**{**given, "definition": [definition]})
    check, created, again, lost = runner.tasks(applied(check=True, **given), applied(**given), applied(**given), less)
    assert actions(check) == actions(created) == ["front created", "doors.apply.example.org created"]
    assert not again["changed"]
    assert actions(lost) == ["doors.apply.example.org unchanged", "front deleted"]
    runner.api.kubectl("delete", "crd", "doors.apply.example.org")


def test_an_object_of_a_set_moves_to_a_version_that_the_set_adds_to_its_kind(runner: Applier, team: str) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}

    def gates(*versions: str) -> list[dict[str, Any]]:
        served = [{"name": one, "served": True, "storage": one == "v1", "schema": schema} for one in versions]
        names = {"plural": "gates", "singular": "gate", "kind": "Gate"}
        definition = {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "gates.apply.example.org"},
            "spec": {"group": "apply.example.org", "names": names, "scope": "Namespaced", "versions": served},
        }  # fmt: skip
        gate = {"apiVersion": f"apply.example.org/{versions[-1]}", "kind": "Gate", "metadata": {"name": "north"}}
        return [definition, {**gate, "spec": {"since": versions[-1]}}]

    given: dict[str, Any] = {"namespace": team, "set": "gates", "prune": True}
    _first, check, moved, again = runner.tasks(
        applied(**given, definition=gates("v1")),
        applied(check=True, **given, definition=gates("v1", "v2")),
        applied(**given, definition=gates("v1", "v2")),
        applied(**given, definition=gates("v1", "v2")),
    )
    assert "north deleted" not in actions(check)
    assert actions(moved) == ["gates.apply.example.org changed", "north changed"]
    assert not again["changed"]
    assert "v2" in runner.api.kubectl("get", "gates", "north", f"--namespace={team}", "--output=jsonpath={.spec.since}")
    runner.api.kubectl("delete", "crd", "gates.apply.example.org")
