# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Nodes near a job's data, for a scheduler that does not know where that is. Volcano does, by our plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .tasks import Mount

LEAST = 64 * 1024**2
# By the share of the data that a node holds [D-62].
CLASSES = ((75, 100), (50, 75), (25, 50), (0, 25))


def terms(mounts: Iterable[Mount]) -> list[dict[str, Any]]:
    """One preferred term for each class, most first."""
    cached: dict[str, int] = {}
    total = 0
    for mount in mounts:
        total += mount.get("totalBytes", 0)
        for node, size in mount.get("cached", {}).items():
            cached[node] = cached.get(node, 0) + size
    by_weight: dict[int, list[str]] = {}
    for node, size in sorted(cached.items()):
        if total and size >= max(LEAST, total // 100):
            weight = next(weight for share, weight in CLASSES if size * 100 >= share * total)
            by_weight.setdefault(weight, []).append(node)
    return [
        {
            "weight": weight,
            "preference": {
                "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": by_weight[weight]}]
            },
        }
        for weight in sorted(by_weight, reverse=True)
    ]
