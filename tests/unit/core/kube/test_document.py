# SPDX-License-Identifier: Apache-2.0
"""YAML as pipeline documents have it (pipelines.md 1.1)."""

from __future__ import annotations

import json
import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.kube.document import load

GOOD = [
    ("", None),
    ("a: 1", {"a": 1}),
    ("[on, off, yes, no, y, n, On]", ["on", "off", "yes", "no", "y", "n", "On"]),
    ("[true, False, TRUE, null, ~, Null]", [True, False, True, None, None, None]),
    ("{a: , b: '', c: \"1\"}", {"a": None, "b": "", "c": "1"}),
    ("[1, -2, +3, 0o17, 0x1f, 017, 1_000]", [1, -2, 3, 15, 31, 17, "1_000"]),
    ("[1.5, .5, 1., 1e3, -1.5E-2, 1:30, 2026-01-31]", [1.5, 0.5, 1.0, 1000.0, -0.015, "1:30", "2026-01-31"]),
    ("[.inf, -.INF]", [math.inf, -math.inf]),
    ("[!!str 12, !!int 3, !!float 4, ! 5, !!str x]", ["12", 3, 4.0, "5", "x"]),
    ("9" * 5000, "9" * 5000),
    ("{on: 1, 2: x, true: y}", {"on": 1, 2: "x", True: "y"}),
    ("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}),
    ("a: &x {b: 1, c: 2}\nd: {c: 3, <<: *x}\n", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
    ("a: &x {b: 1}\nc: &y {b: 2, e: 3}\nd: {<<: [*x, *y]}\n", {"a": {"b": 1}, "c": {"b": 2, "e": 3}, "d": {"b": 1, "e": 3}}),
    ("d: {'<<': 1}", {"d": {"<<": 1}}),
    ("|\n  a\n  b\n", "a\nb\n"),
    ('{"a": [1, "{{x}}"]}', {"a": [1, "{{x}}"]}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), GOOD)
def test_text_is_read(text: str, value: object) -> None:
    loaded = load(text)
    assert loaded.findings == []
    assert loaded.value == value
    assert repr(loaded.value) == repr(value)


def test_no_number_is_read() -> None:
    assert math.isnan(load(".nan").value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3\n", "a is given twice, in line 3 again, but must be given once. It stands in line 1 already. [Y-4]"),
        ("a: {b: 1, b: 1}", "a.b is given twice, in line 1 again"),
        ("a: b: c", "the document is no YAML: mapping values are not allowed in this context in line 1, but must be one YAML"),
        ("a: [1", "the document is no YAML: "),
        ("\0", "the document is no YAML: control characters are not allowed"),
        ("a: \ud800", "the document is no text in UTF-8"),
        ("---\na\n---\nb\n", "the document is a second document in line 3, but must be one YAML document. [Y-1]"),
        ("a: *x", "the document is an alias *x of what is not there, or not yet in line 1"),
        ("a: &x [*x]", "the document is an alias *x of what is not there, or not yet"),
        ("? [1]\n: 2\n", "the document is a key that is a mapping or a list in line 1, but must be keyed by text."),
        ("a: {<<: 1}", "the document is << with another value than mappings in line 1"),
        ("a: !!int x", "a is 'x' with the tag tag:yaml.org,2002:int, but must be a value of YAML's core schema."),
        ("a: !vault x", "a is 'x' with the tag !vault, but must be a value"),
        ("a: !!binary aGk=", "a is 'aGk=' with the tag tag:yaml.org,2002:binary"),
        ("[" * 200 + "]" * 200, "the document is too deep or too large in line 1"),
        ("- " * 50000, "the document is too deep or too large"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_text(text: str, said: str) -> None:
    found = [one.text() for one in load(text).findings]
    assert any(line.startswith(said) for line in found), found


def test_aliases_do_not_blow_up() -> None:
    text = "\n".join(["a0: &a0 x", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10))])
    (finding,) = load(text).findings
    assert "too large" in finding.text()


def test_every_value_has_its_line() -> None:
    loaded = load("a:\n  b:\n    - 1\n    -\n      c: 2\n\nd: x\n")
    assert [loaded.line(path) for path in (("a",), ("a", "b", 1, "c"), ("d",), ("a", "b", 7, "z"), ())] == [
        1,
        5,
        7,
        2,
        1,
    ]
    assert load("").line(("a",)) == 0


LETTERS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]))


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | LETTERS,
    lambda inner: st.lists(inner) | st.dictionaries(LETTERS, inner),
    max_leaves=20,
))  # fmt: skip
def test_all_of_json_is_read(value: object) -> None:
    loaded = load(json.dumps(value, ensure_ascii=False))
    assert loaded.findings == []
    assert repr(loaded.value) == repr(value)


@given(st.text("ab:-[]{}&*!|>'\"#\n ?,<~1.", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    loaded = load(text)
    assert loaded.value is None or loaded.lines


def test_a_python_without_pyyaml_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    (finding,) = load("a: 1").findings
    assert finding.path == ()
    assert "needs the Python package PyYAML" in finding.found
    assert "delegate_to: localhost" in finding.remedy
