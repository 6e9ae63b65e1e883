# SPDX-License-Identifier: Apache-2.0
"""How large the trial jobs may be, so that they fit a small node and do not disturb a large cluster."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

LARGEST = 100  # thousandths of a CPU that one trial worker asks for
SMALLEST = 10
# Workers that the largest trial has at once.
WORKERS = 4

ENDED = ("Succeeded", "Failed")


class TooSmallError(Exception):
    """No trial fits."""


def millicpu(quantity: Any) -> int:
    """A CPU quantity in thousandths, rounded up as the scheduler does."""
    text = str(quantity)
    for suffix, factor in (("m", 1.0), ("u", 1e-3), ("n", 1e-6), ("k", 1e6)):
        if text.endswith(suffix):
            return math.ceil(float(text[: -len(suffix)]) * factor)
    return math.ceil(round(float(text) * 1000, 6))


def _request(pod: dict[str, Any]) -> int:
    spec = pod["spec"]

    def asked(containers: Iterable[dict[str, Any]]) -> list[int]:
        return [millicpu(c.get("resources", {}).get("requests", {}).get("cpu", 0)) for c in containers]

    sidecars = [c for c in spec.get("initContainers", ()) if c.get("restartPolicy") == "Always"]
    steps = [c for c in spec.get("initContainers", ()) if c.get("restartPolicy") != "Always"]
    running = sum(asked(spec["containers"])) + sum(asked(sidecars))
    return max([running, *asked(steps)]) + millicpu(spec.get("overhead", {}).get("cpu", 0))


def free(nodes: Iterable[dict[str, Any]], pods: Iterable[dict[str, Any]]) -> dict[str, int]:
    """By node that takes ordinary pods: thousandths of a CPU that nobody asked for."""
    left = {}
    for node in nodes:
        taints = node["spec"].get("taints") or ()
        ready = any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", ()))
        if not ready or node["spec"].get("unschedulable") or any(t["effect"] != "PreferNoSchedule" for t in taints):
            continue
        left[node["metadata"]["name"]] = millicpu(node["status"]["allocatable"]["cpu"])
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node in left and pod["status"].get("phase") not in ENDED:
            left[node] -= _request(pod)
    return left


def unit(left: dict[str, int]) -> int:
    """What one trial worker asks for: the most that fits WORKERS times, within bounds."""
    for size in range(LARGEST, SMALLEST - 1, -5):
        if sum(max(rest, 0) // size for rest in left.values()) >= WORKERS:
            return size
    rest = ", ".join(f"{name} {free}m" for name, free in sorted(left.items())) or "no node takes pods"
    raise TooSmallError(
        f"not enough free CPU for {WORKERS} trial workers of {SMALLEST}m each: {rest}. Free some, or add a node"
    )
