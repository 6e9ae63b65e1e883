# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Waits until all objects of a batch are as they should be: one watch for each kind and namespace, whatever their number."""

from __future__ import annotations

import time
import typing as t

from .conditions import Verdict
from .errors import KubeError
from .stop import Stop
from .watch import watch

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .client import Client, Object
    from .conditions import Check
    from .kinds import Kind
    from .wanted import Outcome, Run
    from .watch import Change

# Of how many objects the events are asked for when a wait ends badly, and for how long.
_EXPLAINED = 10
_EXPLAIN_SECONDS = 10.0
_JOIN_SECONDS = 2.0


class Target(t.NamedTuple):
    kind: Kind
    name: str
    namespace: str
    check: Check
    # What is known of it, from a write. When that is so of all targets, the watch goes on from there and nothing is listed.
    object: Object | None = None

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind.kind} {self.name}"


class Unready(t.NamedTuple):
    target: Target
    why: str
    events: Sequence[str]
    object: Object | None
    failed: bool = False

    def __str__(self) -> str:
        return f"{self.why}{'; last events: ' if self.events else ''}{'; '.join(self.events)}"


class WaitError(KubeError):
    """``unready`` has every object that was not ready, those that failed first."""

    def __init__(self, unready: Sequence[Unready], number: int, seconds: float) -> None:
        self.unready, self.number, self.seconds = unready, number, seconds
        if number == 1:
            text = f"{unready[0].target} {self._how()}: {unready[0]}."
        else:
            lines = [f"{len(unready)} of {number} objects {self._how()}:", *(f"{one.target}: {one}" for one in unready)]
            text = "\n  ".join(lines)
        super().__init__(text)

    def _how(self) -> str:
        return f"{'was' if self.number == 1 else 'were'} not ready after {self.seconds:.0f} s"

    def of(self, one: Unready) -> WaitError:
        """What is said of one of them alone."""
        return type(self)([one], 1, self.seconds)


class WaitTimeoutError(WaitError):
    pass


class WaitFailedError(WaitError):
    """An object failed for good; the others were not waited for any longer."""

    def _how(self) -> str:
        if self.number > 1:
            return "were not ready when one failed"
        return "failed" if self.unready[0].failed else "was not ready when another one failed"


class _Waited:
    def __init__(self, target: Target) -> None:
        self.target, self.object = target, target.object
        # Not asked about None, which would say that it is not there.
        self.verdict = target.check(target.object) if target.object else Verdict("waiting", "nothing is known of it")

    def judge(self, change: Change) -> None:
        if self.verdict.state != "waiting" or _version(change.object) < _version(self.target.object):
            return  # settled, or from before our own write, to which another's may have led the watch
        self.object = None if change.type == "DELETED" else change.object
        self.verdict = self.target.check(self.object)


def _version(found: Object | None) -> int:
    """They are numbers in every API server that there is; of something else, nothing is known."""
    version = str(found["metadata"].get("resourceVersion") or "") if found else ""
    return int(version) if version.isdigit() else 0


def wait(client: Client, targets: Sequence[Target], *, labels: str = "", deadline: float) -> list[Object | None]:
    """The state in which each target was ready; None for what does not exist.

    :param labels: a selector that all targets match, when they are few among many others
    :raises WaitError: when the deadline passes, or as soon as one object fails; KubeError when watching does
    """
    began = time.monotonic()
    waited = [_Waited(target) for target in targets]
    groups: dict[tuple[Kind, str], list[_Waited]] = {}
    for one in waited:
        groups.setdefault((one.target.kind, one.target.namespace), []).append(one)
    running = [group for group in groups.values() if not _settled(group)]
    if not _failed(waited):
        _run(client, running, labels, deadline)
    bad = [one for one in waited if one.verdict.state != "ready"]
    if bad:
        raise _error(client, bad, len(waited), time.monotonic() - began)
    return [one.object for one in waited]


def waited(
    run: Run, checks: Mapping[int, Check], outcomes: Sequence[Outcome], names: Mapping[int, str] | None = None
) -> list[Outcome]:
    """The outcomes again, once the checks of those at some positions hold.

    :param names: of the objects that are looked at, where these are not the written ones
    """
    targets = {}
    again = list(outcomes)
    for position, holds in checks.items():
        live = outcomes[position].after or {}
        kind = run.client.kind(live["apiVersion"], live["kind"])
        name = (names or {}).get(position, live["metadata"]["name"])
        # What was written says from when on it is of interest; of another object nothing is known.
        known = live if name == live["metadata"]["name"] else None
        targets[position] = Target(kind, name, live["metadata"].get("namespace", ""), holds, known)
    try:
        found = wait(run.client, list(targets.values()), deadline=run.deadline)
    except WaitError as error:
        unready = {id(one.target): error.of(one) for one in error.unready}
        for position, target in targets.items():
            if id(target) in unready:
                again[position] = again[position].failing(unready[id(target)])
    except KubeError as error:  # they were written, even if nobody can say what becomes of them
        for position in targets:
            again[position] = again[position].failing(error)
    else:
        for position, after in zip(targets, found, strict=True):
            again[position] = again[position]._replace(after=after)
    return again


def _settled(group: Sequence[_Waited]) -> bool:
    return _failed(group) or all(one.verdict.state == "ready" for one in group)


def _failed(group: Sequence[_Waited]) -> bool:
    return any(one.verdict.state == "failed" for one in group)


def _run(client: Client, groups: Sequence[list[_Waited]], labels: str, deadline: float) -> None:
    """Follows the groups side by side until all are ready, one has failed, or the deadline passes."""
    stop = Stop()
    if len(groups) == 1:
        _follow(client, groups[0], labels, deadline, stop)
        return
    import queue
    import threading

    ended: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()

    def follow(group: list[_Waited]) -> None:
        try:
            _follow(client, group, labels, deadline, stop)
        except Exception as error:  # noqa: BLE001  it is raised below
            ended.put(error)
        else:
            ended.put(None)

    threads = [threading.Thread(target=follow, args=(group,), daemon=True) for group in groups]
    for thread in threads:
        thread.start()
    try:
        for _thread in threads:
            error = ended.get()
            if error is not None:
                raise error
            if any(_failed(group) for group in groups):
                return
    finally:
        stop.set()
        for thread in threads:
            # One that is just connecting ends when that does, by the deadline at last.
            thread.join(_JOIN_SECONDS)


def _follow(client: Client, group: list[_Waited], labels: str, deadline: float, stop: Stop) -> None:
    kind, namespace = group[0].target.kind, group[0].target.namespace
    by_name = {one.target.name: one for one in group}
    fields = f"metadata.name={group[0].target.name}" if len(by_name) == 1 else ""
    expected = [one.object or {"metadata": {"name": one.target.name, "namespace": namespace}} for one in group]
    changes = watch(
        client,
        kind,
        namespace,
        labels=labels,
        fields=fields,
        since=_since(group),
        expected=expected,
        deadline=deadline,
        stop=stop,
    )
    for change in changes:
        one = by_name.get(change.object["metadata"]["name"])
        if one is not None:
            one.judge(change)
            if _settled(group):
                return


def _since(group: Sequence[_Waited]) -> str:
    """The oldest resource version that is known of a batch, so that nothing after it is missed; empty to list first."""
    version = min(_version(one.target.object) for one in group)
    return str(version) if version else ""


def _error(client: Client, bad: Sequence[_Waited], number: int, seconds: float) -> WaitError:
    from .events import last_events

    bad = sorted(bad, key=lambda one: one.verdict.state != "failed")
    until = time.monotonic() + _EXPLAIN_SECONDS
    unready = []
    for place, one in enumerate(bad):
        target, events = one.target, []
        if place < _EXPLAINED and time.monotonic() < until:
            events = last_events(client, target.kind, target.name, target.namespace, deadline=until)
        unready.append(Unready(target, one.verdict.why, events, one.object, one.verdict.state == "failed"))
    return (WaitFailedError if _failed(bad) else WaitTimeoutError)(unready, number, seconds)
