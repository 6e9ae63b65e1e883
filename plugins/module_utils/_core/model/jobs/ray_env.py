# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Ray's head and workers as a job's environment says them. On its own, since who judges the form of a job sends no builder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HEAD, WORKER = "RAY_JOB_HEADER_", "RAY_JOB_WORKER_"


def members(env: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    """Head and workers of a job that says them in its environment, as steps of pipelines do."""
    if not any(name.startswith("RAY_JOB_") for name in env):
        return []
    worker = _member("worker", WORKER, env)
    for field, name in (("replicas", "REPLICAS"), ("minAvailable", "MIN_REPLICAS"), ("maxReplicas", "MAX_REPLICAS")):
        text = env.get(f"{WORKER}{name}", "")
        if text.isdecimal():
            worker[field] = int(text)
    return [_member("master", HEAD, env), worker]


def _member(role: str, prefix: str, env: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"role": role}
    if f"{prefix}FLAVOUR" in env:
        found["flavour"] = {"name": env[f"{prefix}FLAVOUR"]}
    if f"{prefix}IMAGE" in env:
        found["image"] = env[f"{prefix}IMAGE"]
    if f"{prefix}PRIORITY" in env:
        found["schedulingPolicy"] = {"priority": env[f"{prefix}PRIORITY"].upper()}
    return found
