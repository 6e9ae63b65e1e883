# SPDX-License-Identifier: Apache-2.0
"""What is read of a list of declarations before anything is asked of a cluster."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.declare import Run
from ansible_collections.paddleflow.core.plugins.module_utils._core.model import flavour, names, sampleset
from ansible_collections.paddleflow.core.plugins.module_utils._glue import noun

SIZE = {"cpu": 1, "memory": "1Gi"}


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("small", "small", "objects[1]: small is declared in objects[0] already: keep one of the two."),
        ("Very small", names.slug("Very small"), "objects[1]: SLUG, as Very small, is declared in objects[0]"),
    ],
)
def test_two_of_one_object_are_refused(first: str, second: str, said: str) -> None:
    _found, problems = noun.read(flavour, {"objects": [{"name": first, **SIZE}, {"name": second, **SIZE}]})
    (problem,) = problems
    assert problem.startswith(said.replace("SLUG", names.slug("Very small")))


def test_names_that_differ_in_their_case_are_two() -> None:
    assert noun.read(flavour, {"objects": [{"name": "Small", **SIZE}, {"name": "small", **SIZE}]})[1] == []


def test_so_are_two_of_one_namespace_that_only_one_of_them_names() -> None:
    client: Any = SimpleNamespace(namespace="team")
    given = {"no_sync": True, "secret_ref": {"name": "none"}}
    found, problems = noun.read(
        sampleset, {"objects": [{"name": "a", **given}, {"name": "a", "namespace": "team", **given}]}
    )
    assert problems == []
    assert noun.looked(Run(client, 0), sampleset, found) == [
        "objects[1]: a is declared in objects[0] already: keep one of the two."
    ]
