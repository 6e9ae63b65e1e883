# SPDX-License-Identifier: Apache-2.0
"""Lookups of queues and jobs in plays, against a real API server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from paddleflow_core.kube.client import Client, Object
from paddleflow_core.model.names import slug

from tests.support import inventories, plays
from tests.support.control_plane import ControlPlane
from tests.support.plays import Play
from tools import tree

NAMESPACE = "lookups"


def job(name: str, namespace: str, phase: str, queue: str, **state: str) -> Object:
    pod = {"spec": {"containers": [{"name": "main", "image": "none"}], "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": {"volcano.sh/queue-name": queue}},
        "spec": {
            "schedulerName": "volcano",
            "queue": queue,
            "tasks": [{"name": "main", "replicas": 1, "template": pod}],
        },
        "status": {"state": {"phase": phase, **state}},
    }


@pytest.fixture(scope="module")
def cluster(api: ControlPlane, client: Client) -> ControlPlane:
    inventories.served(api)
    for one in inventories.of_the_guide():
        inventories.put(client, one)
    inventories.put(client, inventories.queue("org", allocated={"cpu": "19"}))
    inventories.put(client, inventories.queue("research", "org", allocated={"cpu": "5", "nvidia.com/gpu": "1"}))
    inventories.put(client, inventories.queue("physics"))
    inventories.put(client, job("train", "research", "Running", "team-a"))
    inventories.put(client, job(slug("My Train"), "research", "Running", "physics"))
    inventories.put(client, job("broken", NAMESPACE, "Failed", "team-a", message="no retry left"))
    inventories.put(client, job("other", NAMESPACE, "Running", "physics"))
    return api


def play(folder: Path, tasks: list[dict[str, Any]], **variables: Any) -> Play:
    path = folder / "play.yml"
    path.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "vars": variables, "tasks": tasks}]))
    return plays.run(str(path), {}, HOME=str(folder), K8S_AUTH_HOST="", K8S_AUTH_API_KEY="", KUBECONFIG="")


QUEUE, JOB = "query('paddleflow.core.queue', {}kubeconfig=K)", "query('paddleflow.core.job', {}kubeconfig=K)"
NAMES = " | map(attribute='metadata.name')"


FOUND: list[tuple[str, Any]] = [
    (QUEUE.format("'team-a', 'org', ") + NAMES, ["team-a", "org"]),
    (QUEUE.format("['team-a', 'org'], ") + NAMES, ["team-a", "org"]),
    (QUEUE.format("[], "), []),
    (QUEUE.format("") + NAMES, ["org", "physics", "research", "team-a"]),
    (QUEUE.format("label_selectors='team=org', ") + NAMES, ["org"]),
    (QUEUE.format("label_selectors='team=nobody', "), []),
    (QUEUE.format("'gone', 'org', missing='skip', ") + NAMES, ["org"]),
    # So many names are one list.
    (QUEUE.format("'x1', 'org', 'x2', 'physics', 'x3', missing='skip', ") + NAMES, ["org", "physics"]),
    (JOB.format("'train', namespace='research', ") + NAMES, ["train"]),
    (JOB.format("'train', missing='skip', "), []),
    (
        JOB.format("label_selectors=['volcano.sh/queue-name=team-a'], all_namespaces=true, ") + NAMES,
        ["broken", "train"],
    ),
    (JOB.format("namespace='lookups', ") + NAMES, ["broken", "other"]),
    (JOB.format(""), []),  # of the connection's namespace
    (JOB.format("'My Train', namespace='research', ") + NAMES, [slug("My Train")]),
    ("lookup('paddleflow.core.queue', 'org', kubeconfig=K).metadata.managedFields | default('gone')", "gone"),
    (
        "(lookup('paddleflow.core.queue', 'research', kubeconfig=K)"
        " | paddleflow.core.queue_headroom(" + QUEUE.format("") + ")).cpu",
        {"max": "20", "min": "0", "used": "5", "left": "1", "entitled": "0"},
    ),
    (
        "lookup('paddleflow.core.job', 'broken', namespace='lookups', kubeconfig=K) | paddleflow.core.run_outcome",
        {"state": "failed", "reason": "no retry left", "final": True, "succeeded": False},
    ),
]
REFUSED = [
    ("lookup('paddleflow.core.queue', 'gone', kubeconfig=K)", "Queue gone"),
    ("query('paddleflow.core.queue', 'a', 'b', 'c', 'd', 'org', kubeconfig=K)", "Queue a"),
    ("lookup('paddleflow.core.job', 'gone', namespace='lookups', kubeconfig=K)", "Job lookups/gone"),
    ("query('paddleflow.core.queue', 'org', label_selectors='a=b', kubeconfig=K)", "give one of the two"),
    ("query('paddleflow.core.job', 'train', all_namespaces=true, kubeconfig=K)", "set namespace"),
    ("query('paddleflow.core.job', kind='Pod', kubeconfig=K)", "kind"),
    (
        "query('paddleflow.core.queue', 'org', missing='skip', host='https://127.0.0.1:9', api_key=T)",
        "127.0.0.1:9",
    ),
    ("query('paddleflow.core.queue', 'org', missing='skip')", "set kubeconfig, or host and api_key"),
]
EXPRESSIONS = [one for one, _rest in [*FOUND, *REFUSED]]


@pytest.fixture(scope="module")
def answers(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each expression is, or why it is nothing, from one play; K is the cluster's kubeconfig, T a token."""
    folder = tmp_path_factory.mktemp("play")
    tasks: list[dict[str, Any]] = []
    for number, expression in enumerate(EXPRESSIONS):
        found = {"ansible.builtin.set_fact": {f"is_{number}": "{{ " + expression + " }}"}}
        tasks.append({**found, "register": f"done_{number}", "ignore_errors": True})
    told = "{{ {'vars': vars | dict2items | selectattr('key', 'match', '(is|done)_') | items2dict} | to_json }}"
    tasks.append({"ansible.builtin.copy": {"content": told, "dest": str(folder / "told"), "mode": "0600"}})
    ran = play(folder, tasks, K=str(cluster.kubeconfig), T="planted-token")
    assert ran.code == 0, ran.output
    assert "planted-token" not in ran.output
    said = json.loads((folder / "told").read_text(encoding="utf-8"))["vars"]
    return {
        one: {"is": said.get(f"is_{place}"), "said": said[f"done_{place}"].get("msg", "")}
        for place, one in enumerate(EXPRESSIONS)
    }


@pytest.mark.parametrize(("expression", "expected"), FOUND)
def test_what_is_looked_up(answers: dict[str, Any], expression: str, expected: Any) -> None:
    assert answers[expression].get("is") == expected, answers[expression]


@pytest.mark.parametrize(("expression", "said"), REFUSED)
def test_what_is_not_there_differs_from_what_cannot_be_asked(
    answers: dict[str, Any], expression: str, said: str
) -> None:
    assert said in " ".join(answers[expression]["said"].split())


def examples(name: str) -> list[dict[str, Any]]:
    text = (tree.ROOT / f"plugins/lookup/{name}.py").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = yaml.safe_load(text.partition('EXAMPLES = r"""')[2].partition('"""')[0])
    return found


def test_the_examples_run_and_the_guides_report_too(cluster: ControlPlane, tmp_path: Path) -> None:
    tasks = [*examples("queue"), *examples("job")]
    book = [{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]
    report = yaml.safe_load(inventories.guide("yaml")["playbooks/report.yml"])
    path = tmp_path / "play.yml"
    path.write_text(yaml.safe_dump([*book, *report]), encoding="utf-8")
    done = plays.run(str(path), {}, K8S_AUTH_KUBECONFIG=str(cluster.kubeconfig), HOME=str(tmp_path)).ok()
    assert done.recap["ok"] == len(tasks) + 1
    assert '"no retry left"' in done.output
