# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What controllers said of an object lately."""

from __future__ import annotations

import typing as t

from .errors import KubeError

if t.TYPE_CHECKING:
    from .client import Client, Object
    from .kinds import Kind


def last_events(
    client: Client, kind: Kind, name: str, namespace: str = "", *, count: int = 3, deadline: float | None = None
) -> list[str]:
    """``Warning FailedScheduling: 0/3 nodes are available (12 times)``, oldest first; none when they cannot be had."""
    fields = f"involvedObject.kind={kind.kind},involvedObject.name={name}"
    try:
        # Those of objects in no namespace are in this one.
        found = client.list(client.kind("v1", "Event"), namespace or "default", fields=fields, deadline=deadline)
    except KubeError:
        return []
    return [_sentence(event) for event in sorted(found.items, key=_moment)[-count:]]


def _moment(event: Object) -> str:
    """RFC 3339 in UTC, which sorts as text."""
    series = event.get("series") or {}
    moments = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return next((str(moment) for moment in moments if moment), str(event["metadata"].get("creationTimestamp") or ""))


def _sentence(event: Object) -> str:
    times = (event.get("series") or {}).get("count") or event.get("count") or 1
    message = " ".join(str(event.get("message") or "").split())
    return f"{event.get('type') or 'Normal'} {event.get('reason')}: {message}" + (
        f" ({times} times)" if times > 1 else ""
    )
