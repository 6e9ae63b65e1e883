# SPDX-License-Identifier: Apache-2.0
"""Trees of queues under Volcano's real webhooks and controllers, declared by the modules as people do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import modules
from tests.support.control_plane import ControlPlane
from tests.support.engine import Engine
from tests.support.volcano_programs import Installed, installed_in

pytestmark = pytest.mark.own_api

SPACE = "queue-tree"
QUEUE = "queues.scheduling.volcano.sh"
JOB = {
    "framework": "standalone",
    "image": "registry.example.org/run:1",
    "command": "run",
    "flavour": {"cpu": 1, "memory": "1Gi"},
}


@pytest.fixture(scope="module")
def volcano(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    with installed_in(api, tmp_path_factory.mktemp("volcano")) as installed:
        for kind in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"):
            hooks = [one for one in installed.objects["admission"] if one["kind"].lower() + "s" == kind]
            api.kubectl("delete", kind, *(one["metadata"]["name"] for one in hooks))
        names = ("root", "default")
        made = [
            {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "Queue",
                "metadata": {"name": name},
                "spec": {"weight": 1},
            }
            for name in names
        ]
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": SPACE}}
        installed.apply([*made, space, account])
        installed.apply([one for one in installed.objects["admission"] if one["kind"].endswith("WebhookConfiguration")])
        with installed.running("controllers"), installed.reached():
            for name in names:
                api.kubectl("wait", "--for=jsonpath={.status.state}=Open", "--timeout=60s", f"{QUEUE}/{name}")
            yield installed


def declare(volcano: Installed, objects: list[dict[str, Any]], check: bool = False, **options: Any) -> dict[str, Any]:
    given = {"kubeconfig": str(volcano.api.kubeconfig), "objects": objects, "wait_timeout": 60, **options}
    return modules.run("queue", given, check=check)


def good(answer: dict[str, Any]) -> dict[str, Any]:
    assert "failed" not in answer, answer
    return answer


def actions(answer: dict[str, Any]) -> list[str]:
    return [one["action"] for one in good(answer)["objects"]]


def warned(answer: dict[str, Any]) -> list[str]:
    """Of a module alone, before Ansible makes sentences of them."""
    found: list[str] = answer.get("warnings", [])
    return found


def live(volcano: Installed, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(volcano.api.kubectl("get", QUEUE, name, "--output=json"))
    return found


def limits(volcano: Installed, *names: str) -> list[Any]:
    return [live(volcano, name)["spec"].get("capability", {}).get("cpu") for name in names]


def tree(prefix: str, org: int, team: int, leaf: int) -> list[dict[str, Any]]:
    """Three levels, in no order that helps."""
    sizes = {"team": (f"{prefix}-org", team), "leaf": (f"{prefix}-team", leaf), "org": ("root", org)}
    return [
        {"name": f"{prefix}-{name}", "parent": parent, "max": {"cpu": size, "memory": "8Gi"}, "min": {"cpu": size}}
        for name, (parent, size) in sizes.items()
    ]


def submit(volcano: Installed, name: str, queue: str) -> dict[str, Any]:
    given = {
        "kubeconfig": str(volcano.api.kubeconfig),
        "name": name,
        "namespace": SPACE,
        **JOB,
        "scheduling_policy": {"queue": queue},
    }
    return modules.run("job", {**given, "wait": False})


def test_a_tree_is_made_raised_lowered_and_taken_away_in_a_task_each(volcano: Installed) -> None:
    assert actions(declare(volcano, tree("a", 8, 8, 8), check=True)) == ["created"] * 3
    assert actions(declare(volcano, tree("a", 8, 8, 8))) == ["created"] * 3
    assert good(submit(volcano, "first", "a-leaf"))["changed"]
    names = ("a-org", "a-team", "a-leaf")
    for size in (16, 4, 12, 2):
        assert actions(declare(volcano, tree("a", size, size, size), check=True)) == ["changed"] * 3
        assert actions(declare(volcano, tree("a", size, size, size))) == ["changed"] * 3
        assert limits(volcano, *names) == [str(size)] * 3
        assert not good(declare(volcano, tree("a", size, size, size)))["changed"]
    gone = [{"name": name} for name in names]
    assert "is used by" in declare(volcano, gone, state="absent")["msg"]
    volcano.api.kubectl("delete", "jobs.batch.volcano.sh", "--all", f"--namespace={SPACE}")
    volcano.api.kubectl("delete", "podgroups.scheduling.volcano.sh", "--all", f"--namespace={SPACE}")
    assert actions(declare(volcano, gone, state="absent")) == ["deleted"] * 3


def test_a_change_that_is_refused_leaves_the_queue_as_it_was(volcano: Installed) -> None:
    above: dict[str, Any] = {"name": "r-org", "max": {"cpu": 2, "memory": "4Gi"}}
    leaf: dict[str, Any] = {
        "name": "r-leaf",
        "parent": "r-org",
        "min": {"cpu": 1, "memory": "1Gi"},
        "max": {"cpu": 1, "memory": "2Gi"},
    }
    assert actions(declare(volcano, [above, leaf])) == ["created"] * 2
    was = live(volcano, "r-leaf")["spec"]
    too_much = {**leaf, "labels": {"cost": "1"}, "min": {"cpu": 1}, "max": {"cpu": 8, "memory": "1Gi"}}
    alone = declare(volcano, [too_much])
    assert (alone["changed"], "exceeds parent queue" in alone["msg"]) == (False, True)
    assert live(volcano, "r-leaf")["spec"] == was
    # With others, what becomes less is written first.
    together = declare(volcano, [{**above, "max": {"cpu": 2, "memory": "5Gi"}}, too_much])
    assert [one["action"] for one in together["objects"]] == ["changed", "failed"]
    found = live(volcano, "r-leaf")
    assert (found["spec"], found["metadata"]["labels"].get("cost")) == (was, None)
    assert not good(declare(volcano, [leaf]))["changed"]
    assert actions(declare(volcano, [{"name": "r-leaf"}, {"name": "r-org"}], state="absent")) == ["deleted"] * 2


def test_a_change_that_is_refused_leaves_a_queue_of_somebody_else_as_it_was(volcano: Installed) -> None:
    good(declare(volcano, [{"name": "s-org", "max": {"cpu": 2, "memory": "4Gi"}}]))
    theirs_limits = {"capability": {"cpu": "1", "memory": "2Gi"}, "deserved": {"cpu": "1"}}
    theirs = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "s-theirs"}}
    text = json.dumps({**theirs, "spec": {"weight": 3, "parent": "s-org", **theirs_limits}})
    volcano.api.kubectl("create", "--filename=-", stdin=text)
    was = live(volcano, "s-theirs")
    above = {"name": "s-org", "max": {"cpu": 2, "memory": "5Gi"}}
    too_much = {"name": "s-theirs", "parent": "s-org", "max": {"cpu": 8, "memory": "1Gi"}}
    together = declare(volcano, [above, too_much], force_conflicts=True)
    assert [one["action"] for one in together["objects"]] == ["changed", "failed"]
    assert "exceeds parent queue" in together["msg"]
    found = live(volcano, "s-theirs")
    # It had become less, and was put back.
    assert found["metadata"]["generation"] == was["metadata"]["generation"] + 2
    assert found["spec"] == was["spec"]


def test_a_queue_that_gets_less_of_one_and_more_of_another_is_written_in_two_steps(volcano: Installed) -> None:
    def mixed(cpu: int, memory: str) -> list[dict[str, Any]]:
        above = {"name": "b-org", "max": {"cpu": cpu, "memory": memory}}
        return [{"name": "b-leaf", "parent": "b-org", "max": {"cpu": cpu, "memory": memory}}, above]

    assert actions(declare(volcano, mixed(8, "2Gi"))) == ["created"] * 2
    assert actions(declare(volcano, mixed(2, "8Gi"))) == ["changed"] * 2
    assert live(volcano, "b-leaf")["spec"]["capability"] == {"cpu": "2", "memory": "8Gi"}
    assert live(volcano, "b-org")["spec"]["capability"] == {"cpu": "2", "memory": "8Gi"}
    assert not good(declare(volcano, mixed(2, "8Gi")))["changed"]


def test_siblings_change_places(volcano: Installed) -> None:
    def shared(one: int, other: int) -> list[dict[str, Any]]:
        sizes = {"c-one": one, "c-other": other}
        leaves: list[dict[str, Any]] = [
            {"name": name, "parent": "c-org", "min": {"cpu": size}} for name, size in sizes.items()
        ]
        return [*leaves, {"name": "c-org", "min": {"cpu": 8}}]

    good(declare(volcano, shared(6, 2)))
    assert actions(declare(volcano, shared(2, 6))) == ["changed", "changed", "unchanged"]


def test_what_is_really_too_much_is_refused_by_the_webhook(volcano: Installed) -> None:
    good(declare(volcano, [{"name": "d-org", "max": {"cpu": 4}}]))
    too_much = [{"name": "d-leaf", "parent": "d-org", "max": {"cpu": 8}}]
    told = declare(volcano, too_much)["msg"]
    assert "exceeds parent queue d-org capability" in told
    assert told.endswith("(To Volcano, capability is max.)")
    assert "exceeds parent queue d-org capability" in declare(volcano, too_much, check=True)["msg"]


def test_a_job_can_follow_its_queue_at_once(volcano: Installed) -> None:
    for number in range(3):
        good(declare(volcano, [{"name": f"e-{number}"}], wait=False))
        assert good(submit(volcano, f"follows-{number}", f"e-{number}"))["changed"]


def test_apply_knows_trees_too(volcano: Installed) -> None:
    def manifests(cpu: int) -> list[dict[str, Any]]:
        parents = {"f-leaf": "f-team", "f-team": "f-org", "f-org": "root"}
        return [
            {
                "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name},
                "spec": {"weight": 1, "parent": parent, "capability": {"cpu": str(cpu)}},
            }
            for name, parent in parents.items()
        ]  # fmt: skip

    for cpu in (8, 2, 4):
        answer = modules.run("apply", {"kubeconfig": str(volcano.api.kubeconfig), "definition": manifests(cpu)})
        assert set(actions(answer)) == {"created" if cpu == 8 else "changed"}


def kept(volcano: Installed, *names: str) -> list[Any]:
    return [live(volcano, name)["spec"].get("guarantee", {}).get("resource", {}).get("cpu") for name in names]


def test_what_is_not_lent_is_kept_by_all_queues_above(volcano: Installed) -> None:
    above: list[dict[str, Any]] = [
        {"name": "g-team", "parent": "g-org", "min": {"cpu": 6}},
        {"name": "g-org", "min": {"cpu": 8}},
    ]

    def leaf(name: str, cpu: int, lendable: bool = False) -> dict[str, Any]:
        return {"name": name, "parent": "g-team", "min": {"cpu": cpu}, "lendable": lendable}

    both = [leaf("g-one", 2), leaf("g-two", 3), *above]
    assert actions(declare(volcano, both, check=True)) == ["created"] * 4
    assert actions(declare(volcano, both)) == ["created"] * 4
    assert kept(volcano, "g-one", "g-two", "g-team", "g-org") == ["2", "3", "5", "5"]
    assert not good(declare(volcano, both))["changed"]
    # Declared alone, a queue above keeps what it keeps.
    assert actions(declare(volcano, above)) == ["unchanged"] * 2
    assert actions(declare(volcano, [{**above[1], "min": {"cpu": 10}}])) == ["changed"]
    assert kept(volcano, "g-org") == ["5"]
    # One gets less, one is lent again, one goes.
    assert actions(declare(volcano, [leaf("g-two", 1)])) == ["changed"]
    assert kept(volcano, "g-two", "g-team", "g-org") == ["1", "3", "3"]
    assert actions(declare(volcano, [leaf("g-one", 2, lendable=True)], check=True)) == ["changed"]
    assert actions(declare(volcano, [leaf("g-one", 2, lendable=True)])) == ["changed"]
    assert kept(volcano, "g-one", "g-team", "g-org") == [None, "1", "1"]
    assert actions(declare(volcano, [{"name": "g-two"}], state="absent")) == ["deleted"]
    assert kept(volcano, "g-team", "g-org") == [None, None]
    assert not good(declare(volcano, [leaf("g-one", 2, lendable=True)]))["changed"]


def test_what_somebody_changes_of_it_is_put_right(volcano: Installed) -> None:
    mine = [{"name": "h-leaf", "min": {"cpu": 4}, "lendable": False}]
    good(declare(volcano, mine))
    volcano.api.kubectl(
        "patch", QUEUE, "h-leaf", "--type=merge", '--patch={"spec": {"guarantee": {"resource": {"cpu": "1"}}}}'
    )
    assert actions(declare(volcano, mine)) == ["changed"]
    assert kept(volcano, "h-leaf") == ["4"]


def test_what_a_queue_above_may_not_keep_is_refused_with_the_sum(volcano: Installed) -> None:
    good(declare(volcano, [{"name": "i-org", "max": {"cpu": 9}}]))
    leaf = {"name": "i-leaf", "parent": "i-org", "min": {"cpu": 4}, "max": {"cpu": 9}, "lendable": False}
    for check in (True, False):
        assert declare(volcano, [leaf], check=check)["msg"] == (
            "objects[0]: Queue i-leaf cannot keep its min to itself: the min of queue i-org above it has to be at least cpu 4: declare it so."
        )
    volcano.api.kubectl("label", QUEUE, "i-org", "app.kubernetes.io/managed-by-")
    assert (
        "i-org above it is not managed by this collection and has to guarantee at least cpu 4"
        in declare(volcano, [leaf])["msg"]
    )
    patch = {"spec": {"deserved": {"cpu": "5"}, "guarantee": {"resource": {"cpu": "5"}}}}
    volcano.api.kubectl("patch", QUEUE, "i-org", "--type=merge", f"--patch={json.dumps(patch)}")
    assert actions(declare(volcano, [leaf])) == ["created"]
    assert kept(volcano, "i-leaf", "i-org") == ["4", "5"]


def test_a_queue_with_others_below_stays_open_and_is_not_taken_away(volcano: Installed) -> None:
    good(declare(volcano, [{"name": "j-leaf", "parent": "j-org"}, {"name": "j-org"}], wait=True))
    refused = declare(volcano, [{"name": "j-org"}], state="absent")
    assert refused["msg"].endswith("Queue j-org has queues below it (j-leaf): take them away first, or move them.")
    assert [live(volcano, name)["status"]["state"] for name in ("j-org", "j-leaf")] == ["Open"] * 2


def test_a_queue_is_closed_before_it_is_taken_away(volcano: Installed) -> None:
    good(declare(volcano, [{"name": "k-queue"}], wait=True))
    assert actions(declare(volcano, [{"name": "k-queue"}], state="absent", check=True)) == ["deleted"]
    assert live(volcano, "k-queue")["status"]["state"] == "Open"
    assert actions(declare(volcano, [{"name": "k-queue"}], state="absent")) == ["deleted"]
    selector = "--field-selector=involvedObject.name=k-queue,reason=CloseQueue"
    assert "Close queue succeed" in Engine.wait(lambda: volcano.api.kubectl("get", "events", selector))


def test_more_in_use_than_a_lowered_limit_is_said(volcano: Installed) -> None:
    good(declare(volcano, [{"name": "l-queue", "max": {"cpu": 8}}], wait=True))
    used = json.dumps({"status": {"allocated": {"cpu": "6"}}})
    volcano.api.kubectl("patch", QUEUE, "l-queue", "--type=merge", "--subresource=status", f"--patch={used}")
    answer = good(declare(volcano, [{"name": "l-queue", "max": {"cpu": 4}}]))
    assert warned(answer) == [
        "queue l-queue: max.cpu is 4, and 6 are in use: what runs goes on, and nothing new begins until enough of it has ended."
    ]
    assert warned(good(declare(volcano, [{"name": "l-queue", "max": {"cpu": 4}}]))) == []


def test_a_queue_of_a_group_asks_for_what_its_nodes_have(volcano: Installed) -> None:
    mine = {"name": "m-queue", "node_group": "small", "min": {"cpu": 4}, "max": {"cpu": 6}}
    answer = good(declare(volcano, [mine], check=True))
    assert warned(answer) == ["queue m-queue: the group small has no nodes yet: its jobs wait until it has."]
    label = {"paddleflow.org/node-group": "small"}
    for number in range(2):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"small-{number}", "labels": label}}
        volcano.api.kubectl("create", "--filename=-", stdin=json.dumps(node))
        room = json.dumps({"status": {"allocatable": {"cpu": "2", "memory": "4Gi"}}})
        volcano.api.kubectl(
            "patch", "node", f"small-{number}", "--type=merge", "--subresource=status", f"--patch={room}"
        )
    assert declare(volcano, [mine])["msg"] == (
        "objects[0]: Queue m-queue: max.cpu is 6, but must be at most 4, what the nodes of the group small have."
    )
    assert actions(declare(volcano, [{**mine, "max": {"cpu": 4}}])) == ["created"]
