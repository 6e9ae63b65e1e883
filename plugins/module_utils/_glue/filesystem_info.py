# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What the info module of file systems says beyond the file systems themselves: how much of each every node holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core.kube.errors import ForbiddenError, KindNotServedError
from .._core.model import nodecache

if TYPE_CHECKING:
    from .._core.kube.client import Client, Object
    from .module import Module


def more(_module: Module, client: Client, deadline: float, found: list[Object], entries: list[dict[str, Any]]) -> None:
    caches = _caches(client, deadline) if found else {}
    for one, entry in zip(found, entries, strict=True):
        entry["cached_bytes"] = _told(one) if caches is None else _held(one, caches)


def _caches(client: Client, deadline: float) -> dict[str, dict[str, int]] | None:
    """By node. None for who may see one namespace alone, and so not what nodes hold of others."""
    kind = client.kind(nodecache.NOUN["api"], nodecache.NOUN["kind"])
    try:
        return dict(client.list(kind, keep=nodecache.held, deadline=deadline).items)
    except (ForbiddenError, KindNotServedError):
        return None


def _held(found: Object, caches: dict[str, dict[str, int]]) -> dict[str, int]:
    name = f"{found['metadata']['namespace']}/{found['metadata']['name']}"
    return {node: caches[node][name] for node in sorted(caches) if caches[node].get(name)}


def _told(found: Object) -> dict[str, int]:
    """The same from the file system's own status, where it comes a little later."""
    return {node["node"]: node["cachedBytes"] for node in found.get("status", {}).get("nodes") or ()}
