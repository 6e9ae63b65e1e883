# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Reads what an inventory is made of: one list of the nodes, and one of each part beside them, page by page."""

from __future__ import annotations

import typing as t

from ..model import nodecache, queue
from ..plan import inventory
from .errors import ForbiddenError, KindNotServedError

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from ..plan.inventory import Facts
    from .client import Client
    from .errors import StatusError


def read(
    client: Client,
    parts: Collection[str] = inventory.PARTS,
    labels: str = "",
    fields: str = "",
    *,
    deadline: float | None = None,
) -> tuple[Facts, dict[str, StatusError]]:
    """What there is, and why for each part that is not served, or not shown to us.

    :param parts: of inventory.PARTS
    :param labels: selects nodes, as do ``fields``
    """
    nodes = client.list(client.kind("v1", "Node"), labels=labels, fields=fields, keep=inventory.node, deadline=deadline)
    facts: Facts = {"nodes": nodes.items}
    missing: dict[str, StatusError] = {}
    for part in parts:
        try:
            _READERS[part](client, facts, deadline)
        except (ForbiddenError, KindNotServedError) as error:
            missing[part] = error
    return facts, missing


def _pods(client: Client, facts: Facts, deadline: float | None) -> None:
    found = client.list(client.kind("v1", "Pod"), fields=inventory.PLACED, keep=inventory.pod, deadline=deadline)
    facts["pods"] = inventory.usage(found.items)


def _queues(client: Client, facts: Facts, deadline: float | None) -> None:
    kind = client.kind(queue.NOUN["api"], queue.NOUN["kind"])
    facts["queues"] = client.list(kind, keep=inventory.queue, deadline=deadline).items


def _caches(client: Client, facts: Facts, deadline: float | None) -> None:
    kind = client.kind(nodecache.NOUN["api"], nodecache.NOUN["kind"])
    facts["caches"] = dict(client.list(kind, keep=nodecache.held, deadline=deadline).items)


_READERS = {"pods": _pods, "queues": _queues, "caches": _caches}
