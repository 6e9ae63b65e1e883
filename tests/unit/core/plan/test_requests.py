# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.model import quantity
from paddleflow_core.plan import requests


def asks(cpu: object, **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [asks(1), asks("500m")]}, "1500m"),
        ({"containers": [asks(1)], "overhead": {"cpu": "250m"}}, "1250m"),
        # One that runs before the others needs its room only then.
        ({"initContainers": [asks(3), asks(2)], "containers": [asks(1)]}, "3"),
        ({"initContainers": [asks(3)], "containers": [asks(2), asks(2)]}, "4"),
        # A sidecar stays beside all that start after it.
        ({"initContainers": [asks(1, **SIDECAR), asks(3)], "containers": [asks(1)]}, "4"),
        ({"initContainers": [asks(3), asks(1, **SIDECAR)], "containers": [asks(1)]}, "3"),
        ({"initContainers": [asks(1, **SIDECAR), asks(1, **SIDECAR)], "containers": [asks(2)]}, "4"),
        # What the pod asks as a whole counts instead.
        ({**asks(2), "containers": [asks(1)]}, "2"),
    ],
)
def test_what_the_scheduler_counts(spec: dict[str, Any], cpu: str) -> None:
    assert requests.of(spec) == {"cpu": quantity.parse(cpu)}


def test_resources_that_only_some_ask_for() -> None:
    spec = {"containers": [asks(1), {"resources": {"requests": {"memory": "1Gi"}}}, {}, {"resources": {}}]}
    assert requests.of(spec) == {"cpu": quantity.parse(1), "memory": quantity.parse("1Gi")}
    assert requests.of({}) == {}
