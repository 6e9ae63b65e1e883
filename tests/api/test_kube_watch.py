# SPDX-License-Identifier: Apache-2.0
"""Watching and waiting on a real API server, over connections that are cut."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator

import pytest
from paddleflow_core.kube import errors
from paddleflow_core.kube.client import Client
from paddleflow_core.kube.conditions import condition, deleted, unless, value
from paddleflow_core.kube.kinds import Kind
from paddleflow_core.kube.wait import Target, WaitFailedError, WaitTimeoutError, wait
from paddleflow_core.kube.watch import Change, watch

from tests.support.kube_api import Session, config_map, kubeconfig
from tests.support.relay import Relay, closing

NAMESPACE = "kube-watch"
CONFIG, NAMESPACES = Kind("v1", "ConfigMap", "configmaps", True), Kind("v1", "Namespace", "namespaces", False)


@pytest.fixture
def relay(session: Session) -> Iterator[Relay]:
    with closing(lambda: Relay(("127.0.0.1", session.api.port))) as running:
        yield running


def soon(seconds: float = 60.0) -> float:
    return time.monotonic() + seconds


def thing(name: str, **data: str) -> dict[str, object]:
    return config_map(NAMESPACE, name, **data)


def told(changes: Iterator[Change]) -> tuple[str, str]:
    change = next(changes)
    return change.type, change.object.get("data", {}).get("n", "")


def test_a_watch_goes_on_over_connections_that_are_cut(session: Session, client: Client, relay: Relay) -> None:
    """Also what happened while there was none is told, once."""
    through = session.client(kubeconfig=session.admin, host=f"https://127.0.0.1:{relay.port}")
    made = client.apply(thing("cut", n="1"))
    changes = watch(through, CONFIG, NAMESPACE, fields="metadata.name=cut", deadline=soon())
    assert told(changes) == ("ADDED", "1")
    for number in range(2, 6):
        client.apply(thing("cut", n=str(number)))
        assert told(changes) == ("MODIFIED", str(number))
        assert relay.cut() >= 1
    client.delete(CONFIG, "cut", NAMESPACE)
    assert told(changes)[0] == "DELETED"
    assert relay.connections >= 5
    from_the_start = watch(
        client,
        CONFIG,
        NAMESPACE,
        fields="metadata.name=cut",
        since=made["metadata"]["resourceVersion"],
        deadline=soon(),
    )
    assert [told(from_the_start)[0] for _time in range(5)] == ["MODIFIED"] * 4 + ["DELETED"]


def test_a_version_that_the_server_has_forgotten_leads_to_a_list(client: Client) -> None:
    client.apply(thing("old", n="1"))
    changes = watch(client, CONFIG, NAMESPACE, fields="metadata.name=old", since="1", deadline=soon())
    assert told(changes) == ("ADDED", "1")
    client.apply(thing("old", n="2"))
    assert told(changes) == ("MODIFIED", "2")


def test_a_quiet_watch_ends_at_its_deadline(client: Client) -> None:
    assert list(watch(client, CONFIG, NAMESPACE, fields="metadata.name=nothing", deadline=soon(0.5))) == []


def test_who_may_not_watch_is_told(session: Session) -> None:
    bob = session.client(kubeconfig=kubeconfig(session.api, "bob"))
    with pytest.raises(errors.ForbiddenError, match=r"bob may not watch configmaps in the namespace kube-watch"):
        next(watch(bob, CONFIG, NAMESPACE, since="1", deadline=soon()))


def later(client: Client, *wanted: dict[str, object]) -> threading.Thread:
    def write() -> None:
        for one in wanted:
            client.apply(one)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def test_a_batch_is_waited_for_from_its_writes_on(client: Client) -> None:
    made = [client.apply(thing(f"batch-{number}", n="1")) for number in range(5)]
    targets = [
        Target(CONFIG, f"batch-{number}", NAMESPACE, value("data.n", "2"), found) for number, found in enumerate(made)
    ]
    writer = later(client, *(thing(f"batch-{number}", n="2") for number in reversed(range(5))))
    done = wait(client, targets, deadline=soon())
    writer.join()
    assert [found["metadata"]["name"] if found else "" for found in done] == [f"batch-{number}" for number in range(5)]


def test_several_kinds_are_waited_for_at_once(client: Client) -> None:
    client.apply(thing("going"))
    targets = [
        Target(CONFIG, "coming", NAMESPACE, value("data.n", "1")),
        Target(CONFIG, "going", NAMESPACE, deleted()),
        Target(NAMESPACES, NAMESPACE, "", value("status.phase", "Active")),
    ]
    writer = later(client, thing("coming", n="1"))
    client.delete(CONFIG, "going", NAMESPACE)
    found = wait(client, targets, deadline=soon())
    writer.join()
    assert [one["metadata"]["name"] if one else None for one in found] == ["coming", None, NAMESPACE]


def test_a_wait_that_times_out_tells_state_and_events(client: Client) -> None:
    client.apply(thing("stuck", n="1"))
    client.create(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": "stuck-", "namespace": NAMESPACE},
            "involvedObject": {"kind": "ConfigMap", "name": "stuck", "namespace": NAMESPACE},
            "reason": "Unlucky",
            "message": "the moon was full",
            "type": "Warning",
        }
    )
    with pytest.raises(WaitTimeoutError) as raised:
        wait(client, [Target(CONFIG, "stuck", NAMESPACE, value("data.n", "2"))], deadline=soon(1.0))
    assert re.sub(r"after \d+ s", "after N s", str(raised.value)) == (
        "ConfigMap kube-watch/stuck was not ready after N s: its data.n is '1', and not '2'; "
        "last events: Warning Unlucky: the moon was full."
    )


def test_a_wait_that_fails_ends_at_once(client: Client) -> None:
    client.apply(thing("failing", n="1"))
    check = unless(lambda found: "n is bad" if found["data"]["n"] == "bad" else "", condition("Ready"))
    targets = [
        Target(CONFIG, "failing", NAMESPACE, check),
        Target(NAMESPACES, NAMESPACE, "", condition("Never")),
    ]
    writer = later(client, thing("failing", n="bad"))
    with pytest.raises(
        WaitFailedError, match=r"2 of 2 objects were not ready when one failed:\n  ConfigMap .*: n is bad"
    ):
        wait(client, targets, deadline=soon(600))
    writer.join()


def test_a_finalizer_that_holds_an_object_is_told(client: Client) -> None:
    held = thing("held")
    held["metadata"] = {"name": "held", "namespace": NAMESPACE, "finalizers": ["example.org/hold"]}
    client.apply(held)
    client.delete(CONFIG, "held", NAMESPACE)
    with pytest.raises(WaitTimeoutError, match=r"which waits for its finalizers example.org/hold"):
        wait(client, [Target(CONFIG, "held", NAMESPACE, deleted())], deadline=soon(1.0))
    client.patch(CONFIG, "held", {"metadata": {"finalizers": None}}, NAMESPACE)
    assert wait(client, [Target(CONFIG, "held", NAMESPACE, deleted())], deadline=soon()) == [None]
