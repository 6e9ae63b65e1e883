# SPDX-License-Identifier: Apache-2.0
"""Manifests as people write them."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.errors import ConfigError
from ansible_collections.paddleflow.core.plugins.module_utils._glue import documents


def test_each_document_comes_with_its_place() -> None:
    assert list(documents.parse("a: 1\n---\nb: 2\n", "some.yaml")) == [
        ({"a": 1}, "some.yaml:1"),
        ({"b": 2}, "some.yaml:3"),
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12:30", "12:30"),
        ("12:30.5", "12:30.5"),
        ("2026-01-31", "2026-01-31"),
        ("2026-01-31T08:00:00Z", "2026-01-31T08:00:00Z"),
        ("0644", 0o644),
        ("1.5", 1.5),
        ("yes", True),
        ("{<<: {a: 1}, a: 2}", {"a": 2}),
        ("[&x {a: 1}, &y {<<: *x, a: 2}, {<<: *y, a: 3}, *y]", [{"a": 1}, {"a": 2}, {"a": 3}, {"a": 2}]),
    ],
)
def test_what_looks_like_a_time_is_text(text: str, value: Any) -> None:
    assert list(documents.parse(f"x: {text}", "f")) == [({"x": value}, "f:1")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("data:\n  a: 1\n  b: 2\n  a: 3\n", "f:4: 'a' is given in line 2 already: give it once."),
        ("a: 1\nb: {c: 1, c: 2}\n", "f:2: 'c' is given in line 2 already: give it once."),
        ("a: 1\nb: !!binary aGk=\n", "f:2: could not determine a constructor for the tag 'tag:yaml.org,2002:binary'"),
        ("a: !!set {b}\n", "f:1: could not determine a constructor for the tag 'tag:yaml.org,2002:set'"),
        ("a: !!timestamp 2026-01-31\n", "f:1: could not determine"),
        ("a: !mine b\n", "f:1: could not determine a constructor for the tag '!mine'"),
        ("a: [\n", "f:2: "),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(documents.DocumentError) as refused:
        list(documents.parse(text, "f"))
    assert said in str(refused.value)


def test_a_python_without_pyyaml_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ConfigError, match=r"Definition needs the Python package PyYAML.*delegate_to: localhost"):
        list(documents.parse("a: 1", "definition"))
