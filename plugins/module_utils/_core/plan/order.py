# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""In which order objects are written, so that each finds what it needs, and in which they are taken away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Object = dict[str, Any]

# Earlier phases are finished before later ones begin; within one, objects are written side by side.
_PHASES = (
    {"Namespace"},
    {"CustomResourceDefinition"},
    {"ServiceAccount", "Role", "ClusterRole", "PriorityClass", "StorageClass"},
    # Who may not bind any role at all can bind only one that is there.
    {"RoleBinding", "ClusterRoleBinding"},
    {"Secret", "ConfigMap", "LimitRange", "ResourceQuota"},
)
_QUEUES = len(_PHASES)
_REST = _QUEUES + 1
# They call what serves them, so that writing anything else of its kinds fails until that runs.
_LAST = {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}


def phase(found: Mapping[str, Any]) -> int:
    if is_queue(found):
        return _QUEUES
    if found.get("kind") in _LAST:
        return _REST + 1
    return next((number for number, kinds in enumerate(_PHASES) if found.get("kind") in kinds), _REST)


def is_queue(found: Mapping[str, Any]) -> bool:
    return found.get("kind") == "Queue" and str(found.get("apiVersion", "")).startswith("scheduling.volcano.sh/")


def waves(objects: Sequence[Object], depths: Mapping[str, int]) -> list[list[int]]:
    """Positions in the list, wave after wave. `depths`: how far each queue is from the root, for queues come by depth."""
    keyed: dict[tuple[int, int], list[int]] = {}
    for position, one in enumerate(objects):
        number = phase(one)
        below = depths.get(one["metadata"].get("name", ""), 0) if number == _QUEUES else 0
        keyed.setdefault((number, below), []).append(position)
    return [keyed[key] for key in sorted(keyed)]


def depths(queues: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many ancestors each queue has among these. A ring of parents has no first one: its members count as the deepest."""
    parents = {one["metadata"]["name"]: _parent(one) for one in queues}
    found = {}
    for name in parents:
        above, seen = parents[name], {name}
        while above in parents and above not in seen:
            seen.add(above)
            above = parents[above]
        found[name] = len(parents) if above in seen else len(seen) - 1
    return found


def _parent(queue: Mapping[str, Any]) -> str:
    """As it was declared by hand: its form is for the API server to judge."""
    spec = queue.get("spec")
    parent = spec.get("parent") if isinstance(spec, dict) else None
    return parent if isinstance(parent, str) else ""
