# SPDX-License-Identifier: Apache-2.0
"""A queue that is taken away, and a server that has something against it. What Volcano does then is seen in tests/api."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from paddleflow_core.kube import queues
from paddleflow_core.kube.client import Client
from paddleflow_core.kube.errors import ForbiddenError, InvalidError, KubeError
from paddleflow_core.kube.wait import WaitTimeoutError
from paddleflow_core.kube.wanted import Outcome, Run, Wanted

from tests.support.kube_stub import Handler, Step, Stream, Stub, ok, refuse

GROUPS = "/apis/scheduling.volcano.sh/v1beta1"
NAME = "team-a"
MAY_NOT = refuse(
    403, "Forbidden", f'queues.scheduling.volcano.sh "{NAME}" is forbidden: User "ann" cannot delete resource "queues"'
)
STILL_OPEN = refuse(
    400, "", 'admission webhook "validatequeue.volcano.sh" denied the request: only queue with state `Closed` can be deleted'
)  # fmt: skip


def live(state: str = "Open", **spec: Any) -> dict[str, Any]:
    metadata = {"name": NAME, "uid": "1", "resourceVersion": "5"}
    status = {"state": state} if state else {}
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": metadata, "spec": spec, "status": status}  # fmt: skip


GANG = {"metadata": {"name": "gang", "namespace": "team", "uid": "2"}, "spec": {"queue": NAME}}


class Cluster:
    """With one queue and its gangs; ``steps`` stand for what it would do itself."""

    def __init__(self, queue: dict[str, Any], *gangs: dict[str, Any], **steps: Step | list[Step]) -> None:
        self.queue, self.gangs, self.steps = queue, gangs, steps
        self.done: list[str] = []

    def __call__(self, handler: Handler) -> None:
        seen = handler.server.seen[-1]
        what = seen.method.lower()
        if what == "get":
            self._read(seen.path, seen.query)(handler)
            return
        if what == "delete" and (seen.body or {}).get("dryRun"):
            what = "try"
        elif what == "post":
            what = seen.body["action"]
        self.done.append(what)
        self._step(what, ok({}))(handler)

    def _read(self, path: str, query: dict[str, str]) -> Step:
        if "watch" in query:
            return self._step("watch", Stream().end())
        if path == f"{GROUPS}/queues/{NAME}":
            return ok(self.queue)
        items = {f"{GROUPS}/queues": [self.queue], f"{GROUPS}/podgroups": [*self.gangs]}.get(path, [])
        return self._step(path.rpartition("/")[2], ok({"items": items, "metadata": {"resourceVersion": "7"}}))

    def _step(self, what: str, otherwise: Step) -> Step:
        steps = self.steps.get(what, otherwise)
        if isinstance(steps, list):
            return steps.pop(0) if steps else otherwise
        return steps


@pytest.fixture
def leave(stub: Stub, client: Client) -> Callable[..., tuple[Outcome, list[str]]]:
    def left(cluster: Cluster, force: bool = True, seconds: float = 30) -> tuple[Outcome, list[str]]:
        stub.always = cluster
        identity = {"apiVersion": cluster.queue["apiVersion"], "kind": "Queue", "metadata": {"name": NAME}}
        run = Run(client, time.monotonic() + seconds)
        (outcome,), remarks = queues.carry(run, [Wanted(identity, "absent")], force)
        return outcome, remarks

    return left


Leave = Callable[..., tuple[Outcome, list[str]]]


def closed() -> Stream:
    return Stream({"type": "MODIFIED", "object": {**live("Closed"), "metadata": {**live()["metadata"], "resourceVersion": "6"}}}).until_left()  # fmt: skip


@pytest.mark.parametrize(
    ("refusal", "kind"), [(MAY_NOT, ForbiddenError), (refuse(400, "", "a policy denied the request"), InvalidError)]
)
def test_nothing_is_stopped_for_a_queue_that_may_not_be_removed(
    leave: Leave, refusal: Step, kind: type[KubeError]
) -> None:
    cluster = Cluster(live(), GANG, **{"try": refusal})
    outcome, remarks = leave(cluster)
    assert (outcome.action, type(outcome.error), remarks) == ("failed", kind, [])
    assert str(outcome.error).startswith(f"Could not delete Queue {NAME}: ")
    assert cluster.done == ["try"]


def test_what_volcano_minds_of_a_queue_that_is_still_used_does_not_keep_it(leave: Leave) -> None:
    cluster = Cluster(live(), watch=closed(), **{"try": STILL_OPEN})
    outcome, remarks = leave(cluster)
    assert (outcome.action, outcome.error, remarks) == ("deleted", None, [])
    assert cluster.done == ["try", "CloseQueue", "delete"]


def test_without_force_nothing_is_tried_before(leave: Leave) -> None:
    cluster = Cluster(live(), watch=closed())
    assert leave(cluster, force=False)[0].action == "deleted"
    assert cluster.done == ["CloseQueue", "delete"]


def test_a_queue_is_opened_again_when_nobody_can_say_what_the_queues_above_keep(leave: Leave) -> None:
    kept = live(guarantee={"resource": {"cpu": "1"}})
    listed = ok({"items": [kept], "metadata": {"resourceVersion": "7"}})
    cluster = Cluster(kept, watch=closed(), queues=[listed, refuse(400, "", "not now")])
    outcome, remarks = leave(cluster)
    assert (outcome.action, remarks) == ("failed", [])
    assert str(outcome.error).startswith("Could not list Queue: ")
    assert cluster.done == ["try", "CloseQueue", "OpenQueue"]


def test_a_queue_is_opened_again_when_the_time_of_the_task_is_over(leave: Leave) -> None:
    cluster = Cluster(live(), watch=Stream().until_left())
    outcome, remarks = leave(cluster, seconds=0.5)
    assert (type(outcome.error), remarks) == (WaitTimeoutError, [])
    assert cluster.done == ["try", "CloseQueue", "OpenQueue"]
