# SPDX-License-Identifier: Apache-2.0
"""Opening, closing, draining and taking away queues, with Volcano's real controllers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import modules
from tests.support.control_plane import ControlPlane
from tests.support.engine import Engine, engine_in

SPACE = "queue-states"
JOB = {"image": "registry.example.org/run:1", "command": "run", "flavour": {"cpu": 1}}


@pytest.fixture(scope="module")
def engine(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("engine")
    with engine_in(api, SPACE, folder, "job-controller", "queue-controller", "podgroup-controller") as running:
        root = {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": "root"},
            "spec": {},
        }
        api.kubectl("apply", "--server-side", "--filename=-", stdin=json.dumps(root))
        yield running


def queue(engine: Engine, name: str, check: bool = False, **options: Any) -> dict[str, Any]:
    """Always waits, so that a state that does not come is a failure."""
    given = {"kubeconfig": str(engine.api.kubeconfig), "name": name, "wait": True, "wait_timeout": 60, **options}
    answer = modules.run("queue", given, check=check, diff=True)
    assert "failed" not in answer or options.get("fails"), answer
    return answer


def refused(engine: Engine, name: str, **options: Any) -> str:
    given = {"kubeconfig": str(engine.api.kubeconfig), "name": name, **options}
    answer = modules.run("queue", given)
    assert answer.get("failed"), answer
    message: str = answer["msg"]
    return message


def state(engine: Engine, name: str) -> str:
    return engine.api.kubectl("get", "queues.scheduling.volcano.sh", name, "--output=jsonpath={.status.state}")


def actions(answer: dict[str, Any]) -> list[str]:
    return [one["action"] for one in answer["objects"] if one["kind"] == "Queue"]


def job(engine: Engine, name: str, in_queue: str) -> None:
    engine.create(name, {"framework": "standalone", **JOB, "schedulingPolicy": {"queue": in_queue}})


def test_a_queue_is_closed_and_opened_by_its_name_alone(engine: Engine) -> None:
    queue(engine, "s-close", max={"cpu": 4})
    closed = queue(engine, "s-close", state="closed")
    assert actions(closed) == ["closed"]
    assert closed["changed"]
    assert "state: Open" in closed["diff"][0]["before"]
    assert "state: Closed" in closed["diff"][0]["after"]
    assert state(engine, "s-close") == "Closed"
    again = queue(engine, "s-close", state="closed")
    assert (actions(again), again["changed"]) == (["unchanged"], False)
    live = json.loads(engine.api.kubectl("get", "queues.scheduling.volcano.sh", "s-close", "--output=json"))
    assert live["spec"]["capability"] == {"cpu": "4"}
    assert actions(queue(engine, "s-close", state="open")) == ["opened"]
    assert state(engine, "s-close") == "Open"


def test_a_queue_can_be_declared_closed(engine: Engine) -> None:
    first = queue(engine, "s-born-closed", max={"cpu": 1}, state="closed")
    assert actions(first) == ["created"]
    assert state(engine, "s-born-closed") == "Closed"
    changed = queue(engine, "s-born-closed", max={"cpu": 2}, state="closed")
    assert actions(changed) == ["changed"]
    assert state(engine, "s-born-closed") == "Closed"


def test_present_leaves_a_closed_queue_closed(engine: Engine) -> None:
    queue(engine, "s-left", max={"cpu": 1}, state="closed")
    assert not queue(engine, "s-left", max={"cpu": 1})["changed"]
    assert state(engine, "s-left") == "Closed"


def test_closing_a_queue_closes_what_is_below_it_and_opening_opens_it_again(engine: Engine) -> None:
    below = {"name": "s-below", "parent": "s-above", "quota_type": "volcanoCapabilityQuota"}
    given = {"kubeconfig": str(engine.api.kubeconfig), "objects": [{"name": "s-above"}, below]}
    assert "failed" not in modules.run("queue", {**given, "wait": True, "wait_timeout": 60})
    queue(engine, "s-above", state="closed")
    engine.wait(lambda: state(engine, "s-below") == "Closed")
    queue(engine, "s-above", state="open")
    engine.wait(lambda: state(engine, "s-below") == "Open")


def test_check_mode_says_it_and_closes_nothing(engine: Engine) -> None:
    queue(engine, "s-check")
    would = queue(engine, "s-check", check=True, state="closed")
    assert (actions(would), would["changed"]) == (["closed"], True)
    assert state(engine, "s-check") == "Open"
    new = queue(engine, "s-check-new", check=True, state="closed", max={"cpu": 1})
    assert actions(new) == ["created"]


def test_a_state_of_a_queue_that_is_not_there_is_refused(engine: Engine) -> None:
    message = refused(engine, "s-never", state="drained")
    assert message == "Queue s-never does not exist: declare it first."


def test_a_closing_queue_waits_for_its_jobs_and_a_drained_one_stops_them(engine: Engine) -> None:
    queue(engine, "s-drain")
    job(engine, "drained", "s-drain")
    pods = engine.run("drained", 1)
    waiting = modules.run(
        "queue",
        {
            "kubeconfig": str(engine.api.kubeconfig),
            "name": "s-drain",
            "state": "closed",
            "wait": True,
            "wait_timeout": 2,
        },
    )
    assert waiting["failed"]
    assert "'Closing'" in waiting["msg"]
    assert set(engine.pods("drained")) == set(pods)
    assert actions(queue(engine, "s-drain", check=True, state="drained")) == ["drained"]
    answer = queue(engine, "s-drain", state="drained", wait=False)
    assert actions(answer) == ["drained"]
    engine.becomes("drained", "terminated")
    engine.wait(lambda: state(engine, "s-drain") == "Closed")
    assert not queue(engine, "s-drain", state="drained")["changed"]


def test_a_drained_queue_stops_pods_that_nobody_declared_as_a_job(engine: Engine) -> None:
    queue(engine, "s-pods")
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"name": "bare", "namespace": SPACE}, "spec": {"minMember": 1, "queue": "s-pods"},
    }  # fmt: skip
    container = {"name": "main", "image": "localhost/none:1"}
    pods = [
        {
            "apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
            "metadata": {"name": name, "namespace": SPACE, "annotations": {"scheduling.k8s.io/group-name": of}},
        }
        for name, of in (("bare-1", "bare"), ("bare-2", "bare"), ("other", "another"))
    ]  # fmt: skip
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": [group, *pods]})
    engine.api.kubectl("create", "--filename=-", stdin=items)
    queue(engine, "s-pods", state="drained", wait=False)

    def left() -> list[str]:
        names = engine.api.kubectl("get", "pods", f"--namespace={SPACE}", "--output=jsonpath={.items[*].metadata.name}")
        return [name for name in names.split() if name.startswith("bare-")]

    engine.wait(lambda: left() == [])
    assert "other" in engine.api.kubectl("get", "pods", f"--namespace={SPACE}", "--output=name")
    engine.api.kubectl("delete", "podgroups.scheduling.volcano.sh", "bare", f"--namespace={SPACE}")


def test_a_queue_that_is_used_is_only_taken_away_by_force(engine: Engine) -> None:
    queue(engine, "s-used")
    job(engine, "using", "s-used")
    engine.run("using", 1)
    message = refused(engine, "s-used", state="absent")
    assert message == (f"Queue s-used is used by {SPACE}/using: wait until they have ended, or set force to stop them.")
    assert state(engine, "s-used") == "Open"
    assert actions(queue(engine, "s-used", state="absent", force=True)) == ["deleted"]
    engine.becomes("using", "terminated")
    assert not queue(engine, "s-used", state="absent", force=True)["changed"]


def test_grants_go_with_their_queue(engine: Engine) -> None:
    """Whoever makes another queue of that name grants it anew."""
    queue(engine, "s-granted")
    grant = {"kubeconfig": str(engine.api.kubeconfig), "name": "s-grant", "queue": "s-granted", "users": ["ada"]}
    other = {**grant, "name": "s-other", "queue": "s-other"}
    assert [modules.run("grant", one)["changed"] for one in (grant, other)] == [True, True]
    assert [one["action"] for one in queue(engine, "s-granted", check=True, state="absent")["objects"]] == [
        "deleted"
    ] * 3
    assert [one["action"] for one in queue(engine, "s-granted", state="absent")["objects"]] == ["deleted"] * 3
    left = engine.api.kubectl("get", "clusterroles,clusterrolebindings", "--output=name")
    assert ("paddleflow-grant-s-grant" in left, left.count("paddleflow-grant-s-other")) == (False, 2)
