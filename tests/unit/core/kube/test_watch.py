# SPDX-License-Identifier: Apache-2.0
"""Watches that break, and go on as if they had not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from paddleflow_core.kube import errors
from paddleflow_core.kube.client import Client
from paddleflow_core.kube.kinds import Kind
from paddleflow_core.kube.stop import Stop
from paddleflow_core.kube.transport import Transport
from paddleflow_core.kube.watch import Change, watch

from tests.support.control_plane import free_port
from tests.support.kube_stub import Stream, Stub, ok, refuse, reset

CONFIG = Kind("v1", "ConfigMap", "configmaps", True)


def thing(name: str, version: int, uid: str = "") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team", "resourceVersion": str(version), "uid": uid or f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def event(kind: str, name: str, version: int, uid: str = "") -> dict[str, Any]:
    return {"type": kind, "object": thing(name, version, uid)}


def listed(version: int, *items: dict[str, Any]) -> Any:
    return ok({"metadata": {"resourceVersion": str(version)}, "items": list(items)})


def expired(code: int = 410) -> dict[str, Any]:
    return {"type": "ERROR", "object": {"kind": "Status", "code": code, "reason": "Expired", "message": "too old"}}


def told(changes: Iterator[Change], number: int) -> list[tuple[str, str, str]]:
    """Type, name and version of the next changes."""
    found = []
    for _time in range(number):
        change = next(changes)
        metadata = change.object["metadata"]
        found.append((change.type, metadata["name"], metadata.get("resourceVersion", "")))
    return found


@pytest.fixture
def changes(client: Client) -> Callable[..., Iterator[Change]]:
    def made(**options: Any) -> Iterator[Change]:
        return watch(client, CONFIG, "team", deadline=time.monotonic() + 30, **options)

    return made


Watch = Callable[..., Iterator[Change]]


def test_first_what_is_there_then_what_changes(stub: Stub, changes: Watch) -> None:
    stub.steps = [listed(5, thing("a", 3)), Stream(event("MODIFIED", "a", 6), event("DELETED", "a", 7))]
    assert told(changes(labels="x=y", fields="metadata.name=a"), 3) == [
        ("ADDED", "a", "3"),
        ("MODIFIED", "a", "6"),
        ("DELETED", "a", "7"),
    ]
    selectors = {"labelSelector": "x=y", "fieldSelector": "metadata.name=a"}
    assert stub.seen[0].query == {"limit": "500", **selectors}
    assert stub.seen[1].query == {
        "watch": "true", "allowWatchBookmarks": "true", "resourceVersion": "5", "timeoutSeconds": "30", **selectors,
    }  # fmt: skip


def test_from_a_version_nothing_is_listed(stub: Stub, changes: Watch) -> None:
    stub.steps = [Stream(event("ADDED", "a", 6))]
    assert told(changes(since="5"), 1) == [("ADDED", "a", "6")]
    assert stub.seen[0].query["resourceVersion"] == "5"


@pytest.mark.parametrize("ending", ["cut", "end"])
def test_a_stream_is_taken_up_where_it_ended(stub: Stub, changes: Watch, ending: str) -> None:
    """At the last bookmark, when nothing of ours happened since the last change."""
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}
    first = Stream(event("ADDED", "a", 6), bookmark)
    getattr(first, ending)()
    stub.steps = [first, reset, refuse(503, "ServiceUnavailable"), Stream(event("MODIFIED", "a", 10))]
    assert told(changes(since="5"), 2) == [("ADDED", "a", "6"), ("MODIFIED", "a", "10")]
    assert [seen.query["resourceVersion"] for seen in stub.seen] == ["5", "9", "9", "9"]


@pytest.mark.parametrize("how", ["in the stream", "before it"])
def test_what_the_server_has_forgotten_is_listed_anew_and_only_the_difference_told(
    stub: Stub, changes: Watch, how: str
) -> None:
    kept, gone, changed, new, again = (thing(name, 2) for name in ("kept", "gone", "changed", "new", "again"))
    forgotten = Stream(expired()).end() if how == "in the stream" else refuse(410, "Expired")
    stub.steps = [
        listed(5, kept, gone, changed, again),
        forgotten,
        listed(20, kept, thing("changed", 15), new, thing("again", 16, "another")),
        Stream(event("MODIFIED", "kept", 21)),
    ]
    found = changes()
    assert len(told(found, 4)) == 4
    assert told(found, 6) == [
        ("MODIFIED", "changed", "15"),
        ("ADDED", "new", "2"),
        ("DELETED", "again", "2"),
        ("ADDED", "again", "16"),
        ("DELETED", "gone", "2"),
        ("MODIFIED", "kept", "21"),
    ]
    assert stub.seen[-1].query["resourceVersion"] == "20"


def test_what_is_expected_and_not_there_is_told(stub: Stub, changes: Watch) -> None:
    stub.steps = [listed(5, thing("a", 3)), Stream()]
    expected = [thing("a", 3), {"metadata": {"name": "b", "namespace": "team"}}]
    assert told(changes(expected=expected), 1) == [("DELETED", "b", "")]


def test_what_a_server_refuses_is_final(stub: Stub, changes: Watch) -> None:
    stub.steps = [listed(5), refuse(403, "Forbidden", 'User "ann" cannot watch resource "configmaps" in API group ""')]
    with pytest.raises(errors.ForbiddenError, match="ann may not watch configmaps in the namespace team"):
        next(changes())
    stub.steps = [listed(5), Stream(expired(403)).end()]
    with pytest.raises(errors.ForbiddenError):
        next(changes())


def test_a_server_that_never_answered_is_told_at_once(stub: Stub) -> None:
    transport = Transport(stub.connection(server=f"http://127.0.0.1:{free_port()}"))
    with pytest.raises(errors.UnreachableError):
        next(watch(Client(transport), CONFIG, deadline=time.monotonic() + 30))


def test_a_quiet_watch_ends_at_its_deadline(stub: Stub, client: Client) -> None:
    stub.steps = [Stream()]
    assert list(watch(client, CONFIG, since="5", deadline=time.monotonic() + 0.3)) == []


def test_a_server_that_is_gone_at_the_deadline_is_told(stub: Stub, client: Client) -> None:
    stub.always = refuse(503, "ServiceUnavailable")
    with pytest.raises(errors.ServerError):
        list(watch(client, CONFIG, since="5", deadline=time.monotonic() + 0.5))


def test_a_server_that_came_back_is_no_fault(stub: Stub, client: Client) -> None:
    stub.steps = [refuse(503, "ServiceUnavailable")] * 8 + [Stream()]
    assert list(watch(client, CONFIG, since="5", deadline=time.monotonic() + 1.0)) == []


def test_another_thread_can_end_it(stub: Stub, client: Client) -> None:
    stop, stream = Stop(), Stream()
    stub.steps = [stream]
    found: list[Change] = []
    reader = threading.Thread(target=lambda: found.extend(watch(client, CONFIG, since="5", stop=stop)))
    reader.start()
    assert stream.opened.wait(30)
    stop.set()
    reader.join(30)
    assert not reader.is_alive()
    assert found == []
    assert list(watch(client, CONFIG, since="5", stop=stop)) == []


def test_a_watch_that_is_left_leaves_its_connection(stub: Stub, client: Client) -> None:
    stream = Stream(event("ADDED", "a", 6)).until_left()
    stub.steps = [stream]
    found = watch(client, CONFIG, since="5")
    next(found)
    assert not stream.left.is_set()
    found.close()  # type: ignore[attr-defined]
    assert stream.left.wait(30)


@pytest.mark.parametrize("rest", [b'{"type": "MODIFIED", "obj', b"\n"])
def test_a_line_without_its_end_is_a_stream_that_was_cut(stub: Stub, changes: Watch, rest: bytes) -> None:
    stub.steps = [Stream(event("ADDED", "a", 6), rest).end(), Stream(event("MODIFIED", "a", 7))]
    assert told(changes(since="5"), 2) == [("ADDED", "a", "6"), ("MODIFIED", "a", "7")]
    assert [seen.query["resourceVersion"] for seen in stub.seen] == ["5", "6"]
