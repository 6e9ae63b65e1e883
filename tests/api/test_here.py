# SPDX-License-Identifier: Apache-2.0
"""Modules say the same within ansible-playbook as in a process of its own; for apply there is a table (test_apply_module.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support import ways
from tests.support.binaries import built
from tests.support.control_plane import ControlPlane
from tests.support.kube_api import define
from tools import tree

SIZE = {"cpu": 1, "memory": "1Gi"}


def store(key: str) -> dict[str, Any]:
    endpoint = {"endpoint": "https://minio.example.org", "access_key": "AKEXAMPLE", "secret_key": key}
    return {"url": "s3://bucket/data", "properties": endpoint}


DOCUMENT = {"name": "p", "entry_points": {"step": {"command": "echo", "docker_env": "image"}}}
# The module, its options, and what else stands in the task.
CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("flavour", {"name": "small", **SIZE}, {}),
    ("flavour", {"name": "small", **SIZE}, {}),
    ("flavour", {"name": "small", "cpu": "a lot", "memory": "1Gi"}, {}),
    ("flavour", {"name": "small", **SIZE, "unknown": 1}, {}),
    ("flavour", {"objects": [{"name": f"f{number}", **SIZE} for number in range(6)], "return_content": True}, {}),
    ("flavour", {"name": "small", **SIZE, "kubeconfig": "/nonexistent"}, {}),
    ("flavour", {"name": "small", **SIZE, "wait_timeout": "abc", "api_key": "planted-key"}, {}),
    ("flavour", {"name": "{{ item }}", **SIZE}, {"loop": ["one", "two"]}),
    ("flavour", {"name": "named", **SIZE, "context": "{{ item }}"}, {"loop": ["nobody", "super-admin@test"]}),
    ("flavour", {"name": "hidden", **SIZE}, {"no_log": True}),
    ("flavour", {"name": "later", **SIZE}, {"async": 60, "poll": 1}),
    ("flavour", {"name": "small", "state": "absent"}, {}),
    ("flavour_info", {}, {}),
    ("flavour_info", {"name": "one", "label_selectors": ["a b"]}, {}),
    ("queue", {"name": "q", "max": {"cpu": 2}, "labels": {"a": "b"}}, {}),
    ("queue", {"name": "q", "min": {"cpu": 3}, "max": {"cpu": 2}}, {}),
    ("queue_info", {"name": "q"}, {}),
    ("filesystem", {"name": "data", **store("planted-s")}, {}),
    ("filesystem", {"name": "data", **store("planted-t")}, {}),
    ("filesystem_info", {"name": "data"}, {}),
    ("pipeline", {"name": "p", "document": DOCUMENT}, {}),
    ("pipeline", {"name": "p", "src": "no-such-file.yaml"}, {}),
    ("job", {"name": "j", "framework": "standalone", "queue": "nowhere", "image": "i", "command": "c"}, {}),
    ("job_info", {"name": "nothing"}, {}),
    ("grant", {"name": "g", "queue": "q"}, {}),
    ("user", {"name": "u", "identities": ["nobody"]}, {}),
    ("node_group", {"name": "n", "nodes": ["nowhere"]}, {}),
    ("sampleset", {"name": "s", "source_secret_ref": {"name": "x"}, "nodes": 0}, {}),
    ("pipeline_run", {"name": "p", "run_key": "k", "unknown": 1}, {}),
    ("cluster_info", {}, {"environment": {"K8S_AUTH_CONTEXT": "nobody"}}),
    ("cluster_info", {}, {}),
]


def test_both_ways_say_the_same(api: ControlPlane, tmp_path: Path) -> None:
    define(api, built("volcano") / "crds", tree.ROOT / "crds")
    found: dict[str, list[str]] = {}
    for way in ways.WAYS:
        space = f"both-{way}"
        api.kubectl("create", "namespace", space)
        runner = ways.Runner(api, tmp_path)
        place = {
            name: {"namespace": space} for name in ("filesystem", "filesystem_info", "pipeline", "job", "job_info")
        }
        tasks = [
            {f"paddleflow.core.{name}": {**place.get(name, {}), **options}, **more} for name, options, more in CASES
        ]
        for mode in (("--check", "--diff"), ("--diff", "-vvv")):
            left_out = ("async", "poll") if mode[0] == "--check" else ()  # Ansible itself refuses the two together
            given = [{key: value for key, value in task.items() if key not in left_out} for task in tasks]
            results = runner.tasks(*given, way=way, arguments=mode)
            found.setdefault(way, []).extend(ways.comparable(result, space) for result in results)
            assert "planted" not in runner.output, way
        # As it was before, for the other way.
        api.kubectl("delete", "flavours.paddleflow.org,queues.scheduling.volcano.sh", "--all")
        roles = ("clusterroles,clusterrolebindings", "--selector=app.kubernetes.io/managed-by=paddleflow")
        api.kubectl("delete", *roles)
    for number, (here, process) in enumerate(zip(found["here"], found["process"], strict=True)):
        assert here == process, CASES[number % len(CASES)]
