# SPDX-License-Identifier: Apache-2.0
"""The grammar of conditions (pipelines.md 3.1)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.workflow import condition

A, B, C = ("word", "a"), ("word", "b"), ("word", "c")


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("a", A),
        ("1.5", ("number", "1.5")),
        ("0x1F", ("number", "0x1F")),
        ("'it\\'s'", ("text", "'it\\'s'")),
        ('"{{x}} b"', ("text", '"{{x}} b"')),
        ("{{x}}", ("word", "{{x}}")),
        ("v{{x}}1", ("word", "v{{x}}1")),
        ("1{{x}}", ("word", "1{{x}}")),
        ("{{ x }}{{y}}", ("word", "{{ x }}{{y}}")),
        ("a || b && c", ("||", A, ("&&", B, C))),
        ("a && b || c", ("||", ("&&", A, B), C)),
        ("a == b == c", ("==", ("==", A, B), C)),
        ("a + b * c", ("+", A, ("*", B, C))),
        ("(a + b) * c", ("*", ("+", A, B), C)),
        ("a * b ** c", ("*", A, ("**", B, C))),
        ("a | b << c", ("|", A, ("<<", B, C))),
        ("!a && -b > ~c", ("&&", ("!", A), (">", ("-", B), ("~", C)))),
        ("!-a", ("!", ("-", A))),
        ("a =~ 'x' && b !~ 'y'", ("&&", ("=~", A, ("text", "'x'")), ("!~", B, ("text", "'y'")))),
        ("a in (b, c)", ("in", A, ("array", B, C))),
        ("a in (b)", ("in", A, B)),
        ("a ? b : c", ("?", A, B, C)),
        ("a ?? b ?? c", ("??", A, ("??", B, C))),
        ("a || b ? a : b ? a : c", ("?", ("||", A, B), A, ("?", B, A, C))),
    ],
)
def test_a_condition_is_read(text: str, node: condition.Node) -> None:
    assert condition.parse(text) == node


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "ends too early"),
        ("a ==", "ends too early"),
        ("a b", "has 'b' at 3 in the place of the end or an operator"),
        ("a and b", "has 'and' at 3 in the place of"),
        ("a = b", "cannot be read from '= b' on"),
        ("(a", "has '' at 3 in the place of ')'"),
        ("a ? b", "has '' at 6 in the place of ':'"),
        ("a)", "has ')' at 2"),
        ("* a", "has '*' at 1"),
        ("3abc", "has '3abc', which is neither a number nor a word"),
        ("'open", "cannot be read from"),
        ("a.b", "cannot be read from '.b' on"),
        ("f(x)", "has '(' at 2"),
        ("{{a b}}", "cannot be read from '{{a b}}' on"),
        ("[[a]]", "cannot be read from '[[a]]' on"),
        ("(" * 60 + "a" + ")" * 60, "is nested more than 50 times"),
    ],
)
def test_what_is_no_condition(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        condition.parse(text)


def test_brackets_are_operands_where_a_document_says_so() -> None:
    assert condition.parse("[[a]] == 'x'", brackets=True) == ("==", ("word", "[[a]]"), ("text", "'x'"))


def test_a_thousand_operators_in_a_row_are_no_danger() -> None:
    assert condition.parse(" || ".join(["a"] * 2000))[0] == "||"


@given(st.text("ab1'\"(){}[]?:!~=<>&|+-*/% ,.in", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert condition.parse(text)
    except ValueError as error:
        assert str(error)  # noqa: PT017 (either is right)
