# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What changes, as it changes: one stream for all objects of a kind in a namespace, however often it breaks."""

from __future__ import annotations

import contextlib
import json
import math
import time
import typing as t

from . import errors
from .errors import Asked
from .stop import Stop

if t.TYPE_CHECKING:
    import socket
    from collections.abc import Generator, Iterable, Iterator

    from .client import Client, Object, Query
    from .kinds import Kind

# The server ends a stream after this time, so that watches spread over its replicas again.
_STREAM_SECONDS = 300.0
# What a server may be late with that, before it is taken for gone.
_GRACE_SECONDS = 15.0
# Before a stream is taken up again, growing while nothing comes.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0


class Change(t.NamedTuple):
    type: str  # ADDED, MODIFIED or DELETED
    object: Object


def watch(
    client: Client,
    kind: Kind,
    namespace: str = "",
    *,
    labels: str = "",
    fields: str = "",
    since: str = "",
    expected: Iterable[Object] = (),
    deadline: float | None = None,
    stop: Stop | None = None,
) -> Iterator[Change]:
    """Without ``since`` (a resource version) first what is there, as ADDED; then each change, until the deadline.

    A stream that breaks is taken up where it broke. When the server has forgotten that point, everything is listed
    anew, and the difference is told; of what is gone meanwhile only the metadata are known.

    :param expected: objects that are told as DELETED when a list does not have them, though nothing was told of them
    :raises KubeError: when the server refuses, does not answer at first, or does not answer any more at the deadline
    """
    until = math.inf if deadline is None else deadline
    stop = stop if stop is not None else Stop()
    seen = {_key(one): _stub(one) for one in expected}
    version, pause, answered = since, 0.0, False
    failure: errors.KubeError | None = None
    while not stop and time.monotonic() + pause < until:
        stop.wait(pause)
        try:
            if not version:
                soon = min(until, time.monotonic() + client.transport.timeout)
                listing = client.list(kind, namespace, labels=labels, fields=fields, deadline=soon)
                version, failure, answered = listing.resource_version, None, True
                yield from _difference(seen, listing.items)
            with contextlib.closing(_stream(client, kind, namespace, labels, fields, version, until, stop)) as stream:
                for change in stream:
                    version = change.object["metadata"]["resourceVersion"]
                    pause, failure, answered = 0.0, None, True
                    if change.type != "BOOKMARK":
                        _remember(seen, change)
                        yield change
            failure = None
        except errors.GoneError:
            version = ""
        except (errors.UnreachableError, errors.ServerError, errors.ThrottledError) as error:
            if not answered and not since:
                raise
            # The last attempt ends with the deadline; that says less than what went before.
            late = isinstance(error, errors.UnreachableError) and time.monotonic() >= until
            failure = failure if late and failure is not None else error
        pause = _longer(pause)
    if failure is not None and not stop:
        raise failure


def _stream(
    client: Client, kind: Kind, namespace: str, labels: str, fields: str, version: str, until: float, stop: Stop
) -> Generator[Change]:
    """One request's worth of changes, with the bookmarks that tell how far the server has come."""
    seconds = max(1.0, min(_STREAM_SECONDS, until - time.monotonic()))
    query: Query = [("watch", "true"), ("allowWatchBookmarks", "true"), ("resourceVersion", version)]
    query.append(("timeoutSeconds", math.ceil(seconds)))
    query += [(key, text) for key, text in (("labelSelector", labels), ("fieldSelector", fields)) if text]
    asked = Asked("watch", kind.kind, "", namespace, kind.api_version)
    deadline = min(until, time.monotonic() + seconds + _GRACE_SECONDS)
    reading = False

    def opened(channel: socket.socket) -> None:
        nonlocal reading
        reading = True
        stop.reads(channel)

    try:
        for line in client.transport.lines(
            kind.path(namespace), query=query, asked=asked, deadline=deadline, opened=opened
        ):
            if not line:
                continue
            try:
                event = json.loads(line)
            except ValueError:  # the rest of it was cut off
                from . import unreachable

                raise unreachable.error(EOFError(), client.transport.connection, asked) from None
            if event["type"] == "ERROR":
                status = event["object"]
                raise client.transport.refusal(int(status.get("code") or 500), json.dumps(status).encode(), asked)
            yield Change(event["type"], event["object"])
    except errors.UnreachableError as error:
        # Nothing more happened, and that is no fault.
        if not (reading and error.cause == "timeout" and time.monotonic() >= until):
            raise


def _longer(pause: float) -> float:
    import random

    # Spread, since a server that comes back has many watchers.
    return min(max(_FIRST_PAUSE, pause * 2), _LONGEST_PAUSE) * random.uniform(0.7, 1)


def _key(one: Object) -> tuple[str, str]:
    metadata = one["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


def _stub(one: Object) -> Object:
    """What is needed to tell that it is gone; thousands of whole objects would be much to keep."""
    kept = ("name", "namespace", "uid", "resourceVersion")
    metadata = {key: one["metadata"][key] for key in kept if one["metadata"].get(key)}
    return {"apiVersion": one.get("apiVersion"), "kind": one.get("kind"), "metadata": metadata}


def _remember(seen: dict[tuple[str, str], Object], change: Change) -> None:
    if change.type == "DELETED":
        seen.pop(_key(change.object), None)
    else:
        seen[_key(change.object)] = _stub(change.object)


def _difference(seen: dict[tuple[str, str], Object], items: list[Object]) -> Iterator[Change]:
    """What a list tells over what is known already."""
    gone = {**seen}
    for item in items:
        before, now = gone.pop(_key(item), {"metadata": {}})["metadata"], item["metadata"]
        if before.get("uid") and before["uid"] != now.get("uid"):
            yield Change("DELETED", seen[_key(item)])
        if not before.get("resourceVersion") or before["resourceVersion"] != now["resourceVersion"]:
            seen[_key(item)] = _stub(item)
            yield Change("MODIFIED" if before.get("uid") == now.get("uid") else "ADDED", item)
    for key, stub in gone.items():
        del seen[key]
        yield Change("DELETED", stub)
