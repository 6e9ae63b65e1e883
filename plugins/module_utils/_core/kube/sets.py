# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""A set of objects that a declaration names in full, so that what it does not name any more is taken away.

A ConfigMap remembers of which kinds and in which namespaces a set has objects, because a kind that is no longer declared
would not be looked for otherwise. It is written before the first of them is, so that a killed run leaves nothing forgotten.
"""

from __future__ import annotations

import typing as t

from ..model.names import slug
from ..model.own import MANAGED
from ..plan import prune
from .errors import KindNotServedError

if t.TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from .client import Object
    from .declare import Run


class Place(t.NamedTuple):
    api_version: str
    kind: str
    namespace: str


def label(run: Run, wanted: Object, name: str) -> Object:
    """The object as a member of the set, with the namespace that it is in."""
    metadata = {**wanted["metadata"]}
    try:
        _kind, _name, namespace = run.client.address(wanted, deadline=run.deadline)
    except KindNotServedError:  # its definition is in the set itself
        namespace = ""
    if namespace:
        metadata["namespace"] = namespace
    return {**wanted, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), prune.SET: name}}}


def places(run: Run, objects: Sequence[Mapping[str, t.Any]]) -> set[Place]:
    found = set()
    for one in objects:
        try:
            kind, _name, namespace = run.client.address(one, deadline=run.deadline)
        except KindNotServedError:  # its definition is in the set itself, and nothing of it can be there yet
            continue
        found.add(Place(kind.api_version, kind.kind, namespace))
    return found


def remembered(run: Run, name: str) -> set[Place]:
    record = run.client.find(
        run.client.kind("v1", "ConfigMap"), _record(run, name, ())["metadata"]["name"], run.client.namespace,
        deadline=run.deadline,
    )  # fmt: skip
    lines = ((record or {}).get("data") or {}).get("places", "").splitlines()
    return {Place(*line.split(" ")) for line in lines if line.count(" ") == 2}


def remember(run: Run, name: str, where: Collection[Place]) -> None:
    if not run.check:
        run.client.apply(_record(run, name, where), force_conflicts=True, deadline=run.deadline)


def _record(run: Run, name: str, where: Collection[Place]) -> Object:
    metadata = {"name": f"paddleflow-set-{slug(name, 40)}", "namespace": run.client.namespace, "labels": dict(MANAGED)}
    text = "".join(f"{' '.join(place)}\n" for place in sorted(where))
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"set": name, "places": text}}


def surplus(
    run: Run, name: str, declared: Sequence[Mapping[str, t.Any]], where: Collection[Place], cap: int
) -> list[Mapping[str, t.Any]]:
    """Live objects of the set that are not declared.

    :raises TooManyError: when they are more than the cap
    """
    live: list[Object] = []
    for place in sorted(where):
        try:
            kind = run.client.kind(place.api_version, place.kind, deadline=run.deadline)
            listing = run.client.list(kind, place.namespace, labels=f"{prune.SET}={name}", deadline=run.deadline)
        except KindNotServedError:  # with its definition, all of its objects went
            continue
        live += listing.items
    return prune.surplus(declared, live, name, cap)
