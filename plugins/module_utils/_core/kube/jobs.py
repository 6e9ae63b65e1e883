# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Declares jobs: asks the cluster what their declarations name, and changes only what may still be changed of them."""

from __future__ import annotations

import functools
import typing as t

from ..model import flavour, job, own
from ..model.jobs import changes, lookups, state, stop, tasks
from ..model.names import option
from . import stopping
from .declare import Outcome, Wanted, declare, named
from .errors import DeclarationError, KubeError, MissingError, NotFoundError

if t.TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ..model.jobs.tasks import Given, Mount
    from .client import Client, Object
    from .declare import Run

_WHY = "stopped by its owner"


class Request(t.NamedTuple):
    """One job as it was declared. Of a job that is to be stopped or taken away, the name is enough."""

    name: str
    namespace: str
    state: str
    spec: Mapping[str, t.Any]
    metadata: Mapping[str, Mapping[str, str]]
    where: str


def carry(run: Run, requests: Sequence[Request], recreate: bool) -> list[Outcome]:
    known = _Known(run, {tasks.queue(one.spec) for one in requests if one.state == "present"} - {""})
    wanted: list[Wanted | Outcome] = []
    for request in requests:
        if request.state == "present":
            wanted.append(_wanted(known, request, recreate))
        else:
            metadata = {"name": request.name, "namespace": request.namespace}
            kind, _dot, api = tasks.kind(request.spec).partition(".")
            identity = {"apiVersion": api, "kind": kind, "metadata": metadata}
            engine: t.Literal["absent", "found"] = "absent" if request.state == "absent" else "found"
            wanted.append(Wanted(identity, engine, foreground=True, where=request.where))
    written = iter(declare(run, [one for one in wanted if isinstance(one, Wanted)]))
    outcomes = [one if isinstance(one, Outcome) else next(written) for one in wanted]
    return [
        _stopped(run, outcome) if request.state == "stopped" else outcome
        for request, outcome in zip(requests, outcomes, strict=True)
    ]


def _wanted(known: _Known, request: Request, recreate: bool) -> Wanted | Outcome:
    identity = {"kind": job.NOUN["kind"], "metadata": {"name": request.name, "namespace": request.namespace}}
    try:
        given = known.given(request.namespace, request.spec)
    except KubeError as error:
        return Outcome(Wanted(identity, where=request.where), "failed", error=error)
    problems = [one.text(option) for one in job.problems(request.name, request.spec, given)]
    if problems:
        wrong = DeclarationError(f"Job {request.namespace}/{request.name}: {' '.join(problems)}")
        return Outcome(Wanted(identity, where=request.where), "failed", error=wrong)
    (built,) = job.build(request.name, request.namespace, request.spec, given)
    for part, values in request.metadata.items():
        if values:
            built["metadata"][part] = {**values, **built["metadata"].get(part, {})}
    revise = functools.partial(_revised, request, built, recreate)
    return Wanted(built, recreate=recreate, where=request.where, revise=revise, foreground=True)


def _revised(request: Request, built: Object, recreate: bool, live: Object) -> Object | None:
    """What to write for a job that is there; None: another one in its place.

    :raises DeclarationError: when something is declared otherwise that cannot be changed any more
    """
    if live["metadata"].get("deletionTimestamp"):
        return None
    now: str = state.observe(live)["state"]
    ended = now in state.FINAL
    old = job.declared(live)
    found = list(changes.problems(job.NOUN["spec"], old, request.spec, "running" if ended else now))
    if not found:
        return changes.revised(live, built)
    if recreate:
        return None
    said = " ".join(one.text(option) for one in found)
    raise DeclarationError(f"Job {request.namespace}/{request.name}{f', which has {now},' if ended else ''}: {said}")


def _stopped(run: Run, outcome: Outcome) -> Outcome:
    """What is not there does not run."""
    if isinstance(outcome.error, MissingError):
        return outcome._replace(action="unchanged", error=None)
    live = outcome.after
    if outcome.error is not None or live is None or "uid" not in live["metadata"]:
        return outcome._replace(action="unchanged") if outcome.error is None else outcome
    now: str = state.observe(live)["state"]
    orders = changes.stop(live, now, _WHY)
    if orders is None or stop.STOP in live["metadata"].get("annotations", {}):
        return outcome
    try:
        if not run.check:
            live = stopping.stop(run, live, orders)
    except NotFoundError:  # it is gone meanwhile
        pass
    except KubeError as error:
        return outcome.failing(error)
    return outcome._replace(after=live, steered=("stopped", now, "terminated"))


def observe(client: Client, live: Object, deadline: float | None = None) -> dict[str, t.Any]:
    """What has become of a job, and of each of its pods."""
    metadata = live["metadata"]
    pods = client.list(
        client.kind("v1", "Pod"), metadata["namespace"], labels=f"volcano.sh/job-name={metadata['name']}", deadline=deadline
    ).items  # fmt: skip
    groups = client.kind("scheduling.volcano.sh/v1beta1", "PodGroup")
    name = f"{metadata['name']}-{metadata['uid']}"
    return state.observe(live, pods, client.find(groups, name, metadata["namespace"], deadline=deadline))


class _Known:
    """What the cluster says of what declarations name, each thing asked for once, and only what is named."""

    def __init__(self, run: Run, queues: Collection[str]) -> None:
        self._run, self._named = run, queues
        self._flavours: dict[str, Mapping[str, t.Any]] | None = None
        self._mounts: dict[str, dict[str, Mount]] = {}
        self._queues: Mapping[str, Mapping[str, t.Any]] | None = None

    def given(self, namespace: str, spec: Mapping[str, t.Any]) -> Given:
        asked = lookups.named(spec)
        found: Given = {}
        if asked.flavours:
            found["flavours"] = self._all_flavours()
        if asked.mounts:
            if namespace not in self._mounts:
                self._mounts[namespace] = self._file_systems(namespace)
            found["mounts"] = self._mounts[namespace]
        if asked.queue:
            found["queue"] = lookups.queue(self._queue(asked.queue))
        if asked.kind:
            found["kinds"] = self._served(asked.kind)
        return found

    def _all_flavours(self) -> dict[str, Mapping[str, t.Any]]:
        if self._flavours is None:
            kind = self._run.client.kind(flavour.NOUN["api"], flavour.NOUN["kind"])
            listed = self._run.client.list(kind, deadline=self._run.deadline).items
            self._flavours = {own.name_of(one): flavour.declared(one) for one in listed}
        return self._flavours

    def _file_systems(self, namespace: str) -> dict[str, Mount]:
        kind = self._run.client.kind("paddleflow.org/v1alpha1", "FileSystem")
        listed = self._run.client.list(kind, namespace, deadline=self._run.deadline).items
        found: dict[str, Mount] = {}
        for one in listed:
            mount = lookups.mount(one)
            # A declaration names a file system by its name or by its id.
            found.update(dict.fromkeys((own.name_of(one), mount["id"]), mount))
        return found

    def _queue(self, name: str) -> Mapping[str, t.Any]:
        if self._queues is None:
            kind = self._run.client.kind("scheduling.volcano.sh/v1beta1", "Queue")
            self._queues = named(self._run.client, kind, "", self._named, self._run.deadline)
        if name not in self._queues:
            raise MissingError(f"Queue {name} does not exist: declare it first, or name another one.")
        return self._queues[name]

    def _served(self, asked: str) -> list[str]:
        name, _dot, api = asked.partition(".")
        try:
            self._run.client.kind(api, name, deadline=self._run.deadline)
        except NotFoundError:
            return []
        return [asked]
