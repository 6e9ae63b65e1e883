# SPDX-License-Identifier: Apache-2.0
"""What every benchmark leaves: a table for people, and build/bench/<name>.json in one shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tools import tree


def report(name: str, result: Mapping[str, Any]) -> int:
    """
    :param result: has at least ``metrics``: for each ``ours``, ``peer``, ``ratio``, and where there is one, ``goal`` and ``met``
    :return: the exit code: 1 when a goal is missed
    """
    output = tree.BUILD / "bench" / f"{name}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    metrics: Mapping[str, Mapping[str, Any]] = result["metrics"]
    width = max(map(len, metrics))
    for metric, values in metrics.items():
        print(f"{metric:<{width}}  {'  '.join(f'{key} {shown(value)}' for key, value in values.items())}")
    missed = [metric for metric, values in metrics.items() if not values.get("met", True)]
    print(f"missed: {', '.join(missed)}" if missed else "every goal is met")
    return 1 if missed else 0


def shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
