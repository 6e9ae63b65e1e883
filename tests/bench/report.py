# SPDX-License-Identifier: Apache-2.0
"""What every benchmark leaves: a table for people, and build/bench/<name>.json in one shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tools import tree


def report(name: str, result: Mapping[str, Any], table: str = "") -> int:
    """
    :param result: has at least ``metrics``: for each ``ours``, ``peer``, ``ratio``, and where there is one, ``goal`` and ``met``; ``missing`` says
        who was not there to be measured
    :param table: to be shown instead of a line for each
    :return: the exit code: 1 when a goal is missed
    """
    output = tree.BUILD / "bench" / f"{name}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    metrics: Mapping[str, Mapping[str, Any]] = result["metrics"]
    print(table or _lines(metrics))
    missed = [metric for metric, one in metrics.items() if not one.get("met", True) and "missing" not in one]
    print(f"missed: {', '.join(missed)}" if missed else "every goal that was measured is met")
    return 1 if missed else 0


def _lines(metrics: Mapping[str, Mapping[str, Any]]) -> str:
    width = max(map(len, metrics))
    return "\n".join(
        f"{metric:<{width}}  {'  '.join(f'{key} {shown(value)}' for key, value in values.items())}"
        for metric, values in metrics.items()
    )


def shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
