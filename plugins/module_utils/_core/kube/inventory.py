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


def read(client: Client, parts: Collection[str] | None = None, labels: str = "") -> tuple[Facts, list[str]]:
    """What there is, and a sentence for each part that was asked for by name but is not served, or not shown to us.

    :param parts: of inventory.PARTS; None takes what can be had
    :param labels: selects nodes
    """
    nodes = client.list(client.kind("v1", "Node"), labels=labels, keep=inventory.node)
    facts: Facts = {"nodes": nodes.items}
    missing = []
    for part in inventory.PARTS if parts is None else parts:
        try:
            _READERS[part](client, facts)
        except (ForbiddenError, KindNotServedError) as error:
            if parts is not None:
                missing.append(f"The inventory is without {part}: {error}")
    return facts, missing


def _pods(client: Client, facts: Facts) -> None:
    found = client.list(client.kind("v1", "Pod"), fields=inventory.PLACED, keep=inventory.pod)
    facts["pods"] = inventory.usage(found.items)


def _queues(client: Client, facts: Facts) -> None:
    kind = client.kind(queue.NOUN["api"], queue.NOUN["kind"])
    facts["queues"] = client.list(kind, keep=inventory.queue).items


def _caches(client: Client, facts: Facts) -> None:
    kind = client.kind(nodecache.NOUN["api"], nodecache.NOUN["kind"])
    facts["caches"] = dict(client.list(kind, keep=inventory.cached).items)


_READERS = {"pods": _pods, "queues": _queues, "caches": _caches}
