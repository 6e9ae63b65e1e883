# SPDX-License-Identifier: Apache-2.0
"""Waiting for many objects by few watches, and what is told when it ends badly."""

from __future__ import annotations

import re
import time
from collections import Counter
from typing import Any

import pytest
from paddleflow_core.kube import errors
from paddleflow_core.kube.client import Client
from paddleflow_core.kube.conditions import Check, Verdict, deleted, exists, satisfies, unless, value
from paddleflow_core.kube.kinds import Kind
from paddleflow_core.kube.wait import Target, WaitFailedError, WaitTimeoutError, wait

from tests.support.kube_stub import Seen, Step, Stream, Stub, ok, refuse

JOB = Kind("batch.volcano.sh/v1alpha1", "Job", "jobs", True)
QUEUE = Kind("scheduling.volcano.sh/v1beta1", "Queue", "queues", False)
RUNNING = value("status.state.phase", "Running")


def job(name: str, phase: str = "", version: int = 10, **metadata: Any) -> dict[str, Any]:
    whole = {"name": name, "namespace": "team", "resourceVersion": str(version), **metadata}
    return {"metadata": whole, **({"status": {"state": {"phase": phase}}} if phase else {})}


def queue(name: str, state: str, version: int = 10) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}, "status": {"state": state}}


def change(found: dict[str, Any], kind: str = "MODIFIED") -> dict[str, Any]:
    return {"type": kind, "object": found}


def listed(*items: dict[str, Any], version: int = 20) -> Step:
    return ok({"metadata": {"resourceVersion": str(version)}, "items": list(items)})


def target(name: str, check: Check = RUNNING, found: dict[str, Any] | None = None) -> Target:
    return Target(JOB, name, "team", check, found)


def soon(seconds: float = 30.0) -> float:
    return time.monotonic() + seconds


def plan(stub: Stub, routes: dict[str, list[Step]]) -> None:
    """Several kinds are asked for side by side, so what is answered goes by path."""

    def choose(seen: Seen) -> Step:
        steps = routes.get(seen.path.rpartition("/")[2], [])
        return steps.pop(0) if steps else listed()

    stub.choose = choose  # type: ignore[method-assign]


def test_one_list_and_one_watch_serve_all(stub: Stub, client: Client) -> None:
    stub.steps = [
        listed(job("a", "Running"), job("b"), job("foreign")),
        Stream(change(job("foreign", "Running", 21)), change(job("b", "Pending", 22)), change(job("b", "Running", 23))),
    ]
    done = wait(client, [target("b"), target("a")], deadline=soon())
    assert [found["metadata"]["resourceVersion"] if found else None for found in done] == ["23", "10"]
    assert len(stub.seen) == 2


def test_one_object_is_asked_for_by_name(stub: Stub, client: Client) -> None:
    stub.steps = [listed(job("a", "Running"))]
    wait(client, [target("a")], labels="x=y", deadline=soon())
    assert stub.seen[0].query["fieldSelector"] == "metadata.name=a"
    assert stub.seen[0].query["labelSelector"] == "x=y"


def test_what_is_known_is_not_asked_for(stub: Stub, client: Client) -> None:
    known = [job("a", "Running", 11), job("b", "Running", 12)]
    assert wait(client, [target("a", found=known[0]), target("b", found=known[1])], deadline=soon()) == known
    assert wait(client, [], deadline=soon()) == []
    assert stub.seen == []


def test_the_watch_goes_on_from_the_oldest_write(stub: Stub, client: Client) -> None:
    """What it tells of an object from before that object's own write does not count."""
    stub.steps = [
        Stream(change(job("b", "Running", 12)), change(job("a", "Running", 13)), change(job("b", "Running", 16)))
    ]
    done = wait(
        client, [target("a", found=job("a", version=11)), target("b", found=job("b", version=14))], deadline=soon()
    )
    assert [found["metadata"]["resourceVersion"] if found else None for found in done] == ["13", "16"]
    assert stub.seen[0].query["resourceVersion"] == "11"


def test_versions_that_are_no_numbers_are_not_compared(stub: Stub, client: Client) -> None:
    found = job("a")
    found["metadata"]["resourceVersion"] = "x1"
    running = job("a", "Running")
    running["metadata"]["resourceVersion"] = "x2"
    stub.steps = [listed(running)]
    assert wait(client, [target("a", found=found)], deadline=soon()) == [{**JOB_FIELDS, **running}]


JOB_FIELDS = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}


def test_what_is_to_be_gone(stub: Stub, client: Client) -> None:
    stub.steps = [listed(job("b")), Stream(change(job("b", version=21), "DELETED"))]
    assert wait(client, [target("a", deleted()), target("b", deleted())], deadline=soon()) == [None, None]


def test_what_comes_into_being_later(stub: Stub, client: Client) -> None:
    stub.steps = [listed(), Stream(change(job("a", version=21), "ADDED"))]
    assert wait(client, [target("a", exists())], deadline=soon()) != [None]


def test_kinds_and_namespaces_are_watched_side_by_side(stub: Stub, client: Client) -> None:
    """The queue is ready only after the job is; neither waits for the other."""
    queues = Stream()

    def jobs(handler: Any) -> None:
        assert queues.opened.wait(30)
        queues.write(change(queue("ml", "Open", 21)))
        Stream(change(job("a", "Running", 21)))(handler)

    plan(stub, {"jobs": [listed(job("a")), jobs], "queues": [listed(queue("ml", "Closed")), queues]})
    done = wait(client, [target("a"), Target(QUEUE, "ml", "", value("status.state", "Open"))], deadline=soon())
    assert [found["status"]["state"] if found else None for found in done] == [{"phase": "Running"}, "Open"]
    assert Counter(seen.path.rpartition("/")[2] for seen in stub.seen) == {"jobs": 2, "queues": 2}


# ---- ending badly ---------------------------------------------------------------------------------------------------


def timeless(error: Exception) -> str:
    return re.sub(r"after \d+ s", "after N s", str(error))


def events(*messages: str) -> Step:
    return listed(*({"metadata": {}, "reason": "Why", "message": message, "type": "Warning"} for message in messages))


def test_a_timeout_tells_the_last_state_and_the_last_events(stub: Stub, client: Client) -> None:
    stub.steps = [listed(job("a", "Pending")), Stream(), events("no GPU", "no node")]
    with pytest.raises(WaitTimeoutError) as raised:
        wait(client, [target("a")], deadline=soon(1.0))
    assert timeless(raised.value) == (
        "Job team/a was not ready after N s: its status.state.phase is 'Pending', and not 'Running'; "
        "last events: Warning Why: no GPU; Warning Why: no node."
    )
    (unready,) = raised.value.unready
    assert (unready.target.name, unready.events) == ("a", ["Warning Why: no GPU", "Warning Why: no node"])
    assert unready.object == {**JOB_FIELDS, **job("a", "Pending")}


def test_of_many_each_one_is_told(stub: Stub, client: Client) -> None:
    plan(
        stub, {"jobs": [listed(job("a", "Pending"), job("b", "Running")), Stream()], "events": [events("x"), events()]}
    )
    with pytest.raises(WaitTimeoutError) as raised:
        wait(client, [target("a"), target("b"), target("c")], deadline=soon(1.0))
    assert timeless(raised.value).splitlines() == [
        "2 of 3 objects were not ready after N s:",
        "  Job team/a: its status.state.phase is 'Pending', and not 'Running'; last events: Warning Why: x",
        "  Job team/c: it does not exist",
    ]


def test_the_events_of_hundreds_are_not_asked_for(stub: Stub, client: Client) -> None:
    plan(stub, {"jobs": [listed(), Stream()]})
    with pytest.raises(WaitTimeoutError, match="100 of 100"):
        wait(client, [target(f"j{number}") for number in range(100)], deadline=soon(1.0))
    assert sum(seen.path.endswith("/events") for seen in stub.seen) == 10


def failed(found: dict[str, Any]) -> str:
    state = found.get("status", {}).get("state", {})
    return f"it is {state['phase']}" if state.get("phase") == "Failed" else ""


def test_what_fails_ends_the_wait_at_once_also_in_another_kind(stub: Stub, client: Client) -> None:
    plan(
        stub,
        {
            "jobs": [listed(job("a"), job("b")), Stream(change(job("b", "Failed", 21)))],
            "queues": [listed(queue("ml", "Closed")), Stream()],
            "events": [events("OOMKilled"), events(), events()],
        },
    )
    check = unless(failed, RUNNING)
    targets = [Target(QUEUE, "ml", "", value("status.state", "Open")), target("a", check), target("b", check)]
    with pytest.raises(WaitFailedError) as raised:
        wait(client, targets, deadline=soon(60))
    assert str(raised.value).splitlines() == [
        "3 of 3 objects were not ready when one failed:",
        "  Job team/b: it is Failed; last events: Warning Why: OOMKilled",
        "  Queue ml: its status.state is 'Closed', and not 'Open'",
        "  Job team/a: its status.state.phase is not set, and not 'Running'",
    ]


def test_what_has_failed_already_is_not_waited_for(stub: Stub, client: Client) -> None:
    stub.steps = [events()]
    with pytest.raises(WaitFailedError, match="Job team/a failed: it is Failed"):
        wait(client, [target("a", unless(failed, RUNNING), job("a", "Failed"))], deadline=soon(60))
    assert [seen.path for seen in stub.seen] == ["/api/v1/namespaces/team/events"]


@pytest.mark.parametrize("several", [False, True])
def test_what_ends_a_watch_ends_the_wait(stub: Stub, client: Client, several: bool) -> None:
    plan(stub, {"jobs": [refuse(403, "Forbidden")], "queues": [listed(), Stream()]})
    targets = [target("a"), *([Target(QUEUE, "ml", "", exists())] if several else [])]
    with pytest.raises(errors.ForbiddenError):
        wait(client, targets, deadline=soon(60))


@pytest.mark.parametrize("several", [False, True])
def test_a_check_that_breaks_is_not_hidden(stub: Stub, client: Client, several: bool) -> None:
    plan(stub, {"jobs": [listed(job("a")), Stream()], "queues": [listed(), Stream()]})
    broken = satisfies(lambda found: bool(found["no such key"]), "x")
    targets = [target("a", broken), *([Target(QUEUE, "ml", "", exists())] if several else [])]
    with pytest.raises(KeyError, match="no such key"):
        wait(client, targets, deadline=soon(60))


def test_what_was_ready_once_stays_so(stub: Stub, client: Client) -> None:
    seen = []

    def check(found: dict[str, Any] | None) -> Verdict:
        seen.append(found)
        return RUNNING(found)

    stub.steps = [
        listed(job("a", "Running"), job("b")),
        Stream(change(job("a", "Pending", 21)), change(job("b", "Running", 22))),
    ]
    done = wait(client, [target("a", check), target("b")], deadline=soon())
    assert [found["status"]["state"]["phase"] if found else "" for found in done] == ["Running", "Running"]
    assert len(seen) == 1
