# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""A set of objects that a declaration names in full, so that what it does not name any more is taken away.

A ConfigMap remembers of which kinds and in which namespaces a set has objects, because a kind that is no longer declared
would not be looked for otherwise. It is written before the first of them is, so that a killed run leaves nothing forgotten.
Its namespace is part of the set's identity, and stands on each object: another one may remember a set of the same name.
"""

from __future__ import annotations

import typing as t

from ..model.names import slug
from ..model.own import MANAGED
from ..plan import prune
from .errors import Asked, KindNotServedError, NotFoundError

if t.TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from .client import Object
    from .wanted import Run


class Place(t.NamedTuple):
    api_version: str
    kind: str
    namespace: str


def members(run: Run, objects: Sequence[Object], name: str) -> list[Object]:
    """The objects as members of the set, each with the namespace that it is in."""
    marks = {prune.SET: name, prune.PLACE: run.client.namespace}
    return [_marked(one, place, marks) for one, place in zip(objects, _placed(run, objects), strict=True)]


def _marked(one: Object, place: Place | None, marks: Mapping[str, str]) -> Object:
    metadata = {**one["metadata"]}
    if place is not None and place.namespace:
        metadata["namespace"] = place.namespace
    return {**one, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **marks}}}


def places(run: Run, objects: Sequence[Mapping[str, t.Any]]) -> set[Place]:
    """Where the set has, or will have, objects."""
    return {place for place in _placed(run, objects) if place is not None}


def _placed(run: Run, objects: Sequence[Mapping[str, t.Any]]) -> Iterator[Place | None]:
    """Where each of them is: of a kind, or a version of one, that the set itself defines, as its definition says."""
    scopes = dict(filter(None, map(_defined, objects)))
    for one in objects:
        try:
            kind, _name, namespace = run.client.address(one, deadline=run.deadline)
        except KindNotServedError:
            defined = scopes.get((one["apiVersion"].rpartition("/")[0], one["kind"]))
            if defined is None:  # nobody defines it, which is said where it is written
                yield None
                continue
            namespace = one["metadata"].get("namespace") or run.client.namespace
            yield Place(one["apiVersion"], one["kind"], namespace if defined else "")
        else:
            yield Place(kind.api_version, kind.kind, namespace)


def _defined(one: Mapping[str, t.Any]) -> tuple[tuple[str, str], bool] | None:
    """Group and kind that an object defines, and whether they are in namespaces."""
    spec = one.get("spec")
    if one.get("kind") != "CustomResourceDefinition" or not isinstance(spec, dict):
        return None
    names = spec.get("names")
    kind = names.get("kind") if isinstance(names, dict) else None
    return (str(spec.get("group")), str(kind)), spec.get("scope") != "Cluster"


def remembered(run: Run, name: str) -> set[Place]:
    called = record(run, name, ())["metadata"]["name"]
    found = run.client.find(run.client.kind("v1", "ConfigMap"), called, run.client.namespace, deadline=run.deadline)
    lines = ((found or {}).get("data") or {}).get("places", "").splitlines()
    return {Place(*line.split(" ")) for line in lines if line.count(" ") == 2}


def remember(run: Run, name: str, where: Collection[Place]) -> None:
    if not run.check:
        run.client.apply(record(run, name, where), force_conflicts=True, deadline=run.deadline)


def record(run: Run, name: str, where: Collection[Place]) -> Object:
    metadata = {"name": f"paddleflow-set-{slug(name, 40)}", "namespace": run.client.namespace, "labels": dict(MANAGED)}
    text = "".join(f"{' '.join(place)}\n" for place in sorted(where))
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"set": name, "places": text}}


def live(run: Run, name: str, where: Collection[Place]) -> list[Object]:
    """The objects that bear the labels of the set, wherever it may have some; those of one kind and place are listed once,
    whatever versions of the kind it remembers."""
    listed: dict[tuple[str, str, str], Place] = {}
    for place in sorted(where):
        listed[place.api_version.rpartition("/")[0], place.kind, place.namespace] = place
    labels = f"{prune.SET}={name},{prune.PLACE}={run.client.namespace}"
    return [one for place in listed.values() for one in _listed(run, place, labels)]


def _listed(run: Run, place: Place, labels: str) -> list[Object]:
    for version in _versions(run, place):
        try:
            kind = run.client.kind(version, place.kind, deadline=run.deadline)
            return run.client.list(kind, place.namespace, labels=labels, deadline=run.deadline).items
        except KindNotServedError:
            continue
    return []  # with its definition, all of its objects went


def _versions(run: Run, place: Place) -> Iterator[str]:
    """The version that is remembered, and when that is served no more those that are now."""
    yield place.api_version
    group = place.api_version.rpartition("/")[0]
    asked = Asked("find the versions of", place.kind, api_version=place.api_version)
    try:
        answer = (
            run.client.transport.request("GET", f"/apis/{group}", asked=asked, deadline=run.deadline) if group else {}
        )
    except NotFoundError:
        return
    for one in answer.get("versions") or ():
        if one["groupVersion"] != place.api_version:
            yield one["groupVersion"]
