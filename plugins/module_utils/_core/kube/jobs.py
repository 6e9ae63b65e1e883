# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Declares jobs: asks the cluster what their declarations name, and changes only what may still be changed of them."""

from __future__ import annotations

import contextlib
import functools
import typing as t

from ..model import flavour, job, own
from ..model.jobs import changes, lookups, pods, state, stop, tasks
from ..model.names import option, slug
from . import stopping
from .declare import declare, named
from .errors import (
    BadRequestError,
    DeclarationError,
    ForbiddenError,
    KindNotServedError,
    KubeError,
    MissingError,
    NotFoundError,
)
from .wanted import Outcome, Wanted

if t.TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ..model.jobs.tasks import Given, Mount
    from .client import Client, Object
    from .wanted import Run

_WHY = "stopped by its owner"
FILE_SYSTEM = "paddleflow.org/v1alpha1", "FileSystem"
QUEUE = "scheduling.volcano.sh/v1beta1", "Queue"


class Request(t.NamedTuple):
    """One job as it was declared. Of a job that is to be stopped or taken away, the name is enough."""

    name: str
    namespace: str
    state: str
    spec: Mapping[str, t.Any]
    metadata: Mapping[str, Mapping[str, str]]
    where: str


def carry(run: Run, requests: Sequence[Request], recreate: bool) -> tuple[list[Outcome], list[str]]:
    """What became of each, and what is worth a look."""
    staying = _staying(run, requests)
    left = [one for position, one in enumerate(requests) if one.state == "present" and position not in staying]
    known = _Known(run, {tasks.queue(one.spec) for one in left} - {""})
    wanted: list[Wanted | Outcome] = []
    for position, request in enumerate(requests):
        live = staying.get(position)
        if live is not None:
            wanted.append(Outcome(Wanted(_identity(request), where=request.where), "unchanged", live, live))
        elif request.state == "present":
            wanted.append(_wanted(known, request, recreate))
        else:
            engine: t.Literal["absent", "found"] = "absent" if request.state == "absent" else "found"
            wanted.append(Wanted(_identity(request), engine, foreground=True, where=request.where))
    run = run._replace(queues=frozenset(known.unmade))
    written = iter(declare(run, [one for one in wanted if isinstance(one, Wanted)]))
    outcomes = [one if isinstance(one, Outcome) else next(written) for one in wanted]
    outcomes = _elsewhere(run, requests, outcomes)
    done = [_completed(run, request, one) for request, one in zip(requests, outcomes, strict=True)]
    return done, known.remarks


def _completed(run: Run, request: Request, outcome: Outcome) -> Outcome:
    """With what has to be done beside writing the object."""
    if request.state == "stopped":
        return _stopped(run, outcome)
    return _emptied(run, request, outcome) if request.state == "present" else outcome


def _identity(request: Request, live: Object | None = None) -> Object:
    kind, _dot, api = tasks.kind(request.spec).partition(".")
    identity = live or {"apiVersion": api, "kind": kind}
    metadata = {"name": request.name, "namespace": request.namespace}
    return {"apiVersion": identity["apiVersion"], "kind": identity["kind"], "metadata": metadata}


def _staying(run: Run, requests: Sequence[Request]) -> dict[int, Object]:
    """The jobs that are there as they are declared, by position: no more is asked about them."""
    places: dict[tuple[str, str], list[int]] = {}
    for position, one in enumerate(requests):
        if one.state == "present":
            places.setdefault((tasks.kind(one.spec), one.namespace), []).append(position)
    staying: dict[int, Object] = {}
    for (kind, namespace), positions in places.items():
        # Who may not read them, or has not their kind, is told by what is done next.
        with contextlib.suppress(BadRequestError, ForbiddenError, NotFoundError):
            found = _of_kind(run, kind, namespace, {requests[position].name for position in positions})
            for position in positions:
                live = found.get(requests[position].name)
                if live is not None and changes.same(live, requests[position].spec):
                    staying[position] = live
    return staying


def _of_kind(run: Run, asked: str, namespace: str, names: Collection[str]) -> dict[str, Object]:
    name, _dot, api = asked.partition(".")
    kind = run.client.kind(api, name, deadline=run.deadline)
    return named(run.client, kind, namespace, names, run.deadline)


def _elsewhere(run: Run, requests: Sequence[Request], outcomes: list[Outcome]) -> list[Outcome]:
    """A job that is to go or to stop is named, and its kind seldom: where Volcano has none of that name, an operator may. Only
    then their kinds are asked, those that are served. One that may not be read is an error: the job may be of it."""
    lost: dict[str, set[int]] = {}
    for position, (request, outcome) in enumerate(zip(requests, outcomes, strict=True)):
        gone = outcome.before is None and (outcome.error is None or isinstance(outcome.error, MissingError))
        if request.state != "present" and gone and lookups.nameless(request.spec):
            lost.setdefault(request.namespace, set()).add(position)
    again: dict[int, Wanted] = {}
    for namespace, positions in lost.items():
        try:
            live = _operators_own(run, namespace, {requests[position].name for position in positions})
        except KubeError as error:
            for position in positions:
                outcomes[position] = outcomes[position]._replace(action="failed", error=error)
        else:
            found = {
                position: live[requests[position].name] for position in positions if requests[position].name in live
            }
            again |= {
                position: outcomes[position].wanted._replace(object=_identity(requests[position], one))
                for position, one in found.items()
            }
    for position, outcome in zip(again, declare(run, list(again.values())), strict=True):
        outcomes[position] = outcome
    return outcomes


def _operators_own(run: Run, namespace: str, names: Collection[str]) -> dict[str, Object]:
    from ..model.jobs import operators

    found: dict[str, Object] = {}
    for kind in operators.KINDS:
        with contextlib.suppress(NotFoundError):
            live = _of_kind(run, kind, namespace, names)
            # Of two versions of a kind the first one tells.
            found = {name: one for name, one in live.items() if own.is_ours(one)} | found
    return found


def _wanted(known: _Known, request: Request, recreate: bool) -> Wanted | Outcome:
    identity = _identity(request)
    try:
        given = known.given(request.namespace, request.spec)
    except KubeError as error:
        return Outcome(Wanted(identity, where=request.where), "failed", error=error)
    problems = [one.text(option) for one in job.problems(request.name, request.spec, given)]
    if problems:
        wrong = DeclarationError(f"Job {request.namespace}/{request.name}: {' '.join(problems)}")
        return Outcome(Wanted(identity, where=request.where), "failed", error=wrong)
    # A flavour that is not there yet is of no size; a job that names it can be made all the same.
    given = {"flavours": {name: {} for name in lookups.named(request.spec).flavours}, **given}
    (built,) = job.build(request.name, request.namespace, request.spec, given)
    for part, values in request.metadata.items():
        if values:
            built["metadata"][part] = {**values, **built["metadata"].get(part, {})}
    revise = functools.partial(_revised, request, built, recreate, given)
    return Wanted(built, recreate=recreate, where=request.where, revise=revise, foreground=True)


def _revised(request: Request, built: Object, recreate: bool, given: Given, live: Object) -> Object | None:
    """What to write for a job that is there; None: another one in its place.

    :raises DeclarationError: when something is declared otherwise that cannot be changed any more
    """
    if live["metadata"].get("deletionTimestamp"):
        return None
    now: str = state.observe(live)["state"]
    ended = now in state.FINAL
    old = job.declared(live)
    found = list(changes.problems(old, request.spec, "running" if ended else now))
    if not found:
        return changes.revised(live, built, request.spec, given)
    if recreate:
        return None
    said = " ".join(one.text(option) for one in found)
    raise DeclarationError(f"Job {request.namespace}/{request.name}{f' (which has {now})' if ended else ''}: {said}")


def _emptied(run: Run, request: Request, outcome: Outcome) -> Outcome:
    """Without the labels and annotations that are declared as empty, whoever wrote them."""
    live = outcome.after
    gone = changes.emptied(request.spec, live) if outcome.error is None and live is not None else {}
    if live is None or not gone:
        return outcome
    kind, name, namespace = run.client.address(live, deadline=run.deadline)
    try:
        after = run.client.patch(kind, name, {"metadata": gone}, namespace, dry_run=run.check, deadline=run.deadline)
    except KubeError as error:
        return outcome._replace(action="failed", error=error)
    return outcome._replace(action="changed" if outcome.action == "unchanged" else outcome.action, after=after)


def _stopped(run: Run, outcome: Outcome) -> Outcome:
    """What is not there does not run."""
    if isinstance(outcome.error, MissingError):
        return outcome._replace(action="unchanged", error=None)
    live = outcome.after
    if outcome.error is not None or live is None or "uid" not in live["metadata"]:
        return outcome._replace(action="unchanged") if outcome.error is None else outcome
    now: str = state.observe(live)["state"]
    orders = changes.stop(live, now, _WHY)
    # The reason alone stops nothing: it is written first, and what follows may have failed.
    if orders is None or (now == "terminating" and stop.STOP in live["metadata"].get("annotations", {})):
        return outcome
    after: Object | None = live
    try:
        after = stopping.stop(run, live, orders)
    except NotFoundError:  # it is gone meanwhile
        pass
    except KubeError as error:
        return outcome.failing(error)
    return outcome if after is None else outcome._replace(after=after, steered=("stopped", now, "terminated"))


def observe(client: Client, live: Object, deadline: float | None = None) -> dict[str, t.Any]:
    """What has become of a job, and of each of its pods."""
    metadata = live["metadata"]
    mark = f"{state.label(live['apiVersion'])}={metadata['name']}"
    pods = client.list(client.kind("v1", "Pod"), metadata["namespace"], labels=mark, deadline=deadline).items
    groups = client.kind("scheduling.volcano.sh/v1beta1", "PodGroup")
    name = f"{metadata['name']}-{metadata['uid']}"
    return state.observe(live, pods, client.find(groups, name, metadata["namespace"], deadline=deadline))


class _Known:
    """What the cluster says of what declarations name, each thing asked for once, and only what is named. In check mode an
    earlier task may have left out to make what is not there: that counts as not asked, with a remark."""

    def __init__(self, run: Run, queues: Collection[str]) -> None:
        self._run, self._named = run, queues
        self._flavours: dict[str, Mapping[str, t.Any]] | None = None
        self._mounts: dict[str, dict[str, Mount]] = {}
        self._queues: Mapping[str, Mapping[str, t.Any]] | None = None
        self._queue_names: list[str] | None = None
        # A kind that is not served has no objects yet.
        self._unserved = contextlib.suppress(KindNotServedError) if run.check else contextlib.nullcontext()
        self.unmade: set[str] = set()  # queues
        self.remarks: list[str] = []

    def given(self, namespace: str, spec: Mapping[str, t.Any]) -> Given:
        asked = lookups.named(spec)
        found: Given = {}
        if asked.flavours:
            known = self._all_flavours()
            if not self._unmade("Flavour", asked.flavours - {*flavour.BUILT_IN, *known}):
                found["flavours"] = known
        if asked.mounts:
            mounts = self._granted(namespace, asked.mounts)
            unknown: dict[str, Mount] = {key: {} for key in self._unmade("FileSystem", asked.mounts - {*mounts})}
            found["mounts"] = {**mounts, **unknown}
        if asked.queue:
            live = self._queue(asked.queue)
            if live is not None:
                found["queue"] = lookups.queue(live)
        if asked.kind:
            served = self._served(asked.kind)
            if not self._unmade("The kind", {asked.kind} - {*served}):
                found["kinds"] = served
        return found

    def _unmade(self, kind: str, missing: Collection[str]) -> Collection[str]:
        """Those of what is missing that an earlier task may make."""
        if not self._run.check:
            return ()
        for name in sorted(missing):
            text = f"{kind} {name} is not there: check mode takes it that an earlier task makes it."
            if text not in self.remarks:
                self.remarks.append(text)
        return missing

    def _all_flavours(self) -> dict[str, Mapping[str, t.Any]]:
        if self._flavours is None:
            self._flavours = {}
            kind = self._run.client.kind(flavour.NOUN["api"], flavour.NOUN["kind"])
            with self._unserved:
                listed = self._run.client.list(kind, deadline=self._run.deadline).items
                self._flavours = {own.name_of(one): flavour.declared(one) for one in listed}
        return self._flavours

    def _file_systems(self, namespace: str) -> dict[str, Mount]:
        kind = self._run.client.kind(*FILE_SYSTEM)
        found: dict[str, Mount] = {}
        with self._unserved:
            for one in self._run.client.list(kind, namespace, deadline=self._run.deadline).items:
                mount = lookups.mount(one)
                # A declaration names a file system by its name or by its id.
                found.update(dict.fromkeys((own.name_of(one), mount["id"]), mount))
        return found

    def _granted(self, namespace: str, asked: Collection[str]) -> dict[str, Mount]:
        """With those of other namespaces: named with theirs, or known by the claim that is made here for who was granted one."""
        if namespace not in self._mounts:
            self._mounts[namespace] = self._file_systems(namespace)
        found = self._mounts[namespace]
        for key in sorted(set(asked) - set(found)):
            space, slash, name = key.rpartition("/")
            kind = self._run.client.kind(*(FILE_SYSTEM if slash else ("v1", "PersistentVolumeClaim")))
            wanted = slug(name) if slash else pods.claim(key)
            with self._unserved:
                one = self._run.client.find(kind, wanted, space or namespace, deadline=self._run.deadline)
                if one is not None:
                    found[key] = lookups.mount(one) if slash else {"id": key}
        return found

    def _queue(self, name: str) -> Mapping[str, t.Any] | None:
        if self._queues is None:
            self._queues = {}
            kind = self._run.client.kind(*QUEUE)
            with self._unserved:
                self._queues = named(self._run.client, kind, "", self._named, self._run.deadline)
        if name not in self._queues:
            if not self._unmade("Queue", {name}):
                text = f"Queue {name} does not exist: {self._like(name)}declare it first, or name another one."
                raise MissingError(text)
            self.unmade.add(name)
        return self._queues.get(name)

    def _like(self, name: str) -> str:
        """Asks for a name that is nearly the same, where the user may know the others."""
        from difflib import get_close_matches  # only on the way to an error

        if self._queue_names is None:
            self._queue_names = []
            with contextlib.suppress(KubeError):
                client, deadline = self._run.client, self._run.deadline
                listed = client.list(client.kind(*QUEUE), keep=lambda one: one["metadata"]["name"], deadline=deadline)
                self._queue_names = listed.items
        close = get_close_matches(name, self._queue_names, n=1)
        return f"did you mean {close[0]}? Else " if close else ""

    def _served(self, asked: str) -> list[str]:
        name, _dot, api = asked.partition(".")
        try:
            self._run.client.kind(api, name, deadline=self._run.deadline)
        except NotFoundError:
            return []
        return [asked]
