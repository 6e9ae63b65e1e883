# SPDX-License-Identifier: Apache-2.0
"""Parameters, and what a run says of them and of disabled components (pipelines.md 1.5, 4.8 and 7.4)."""

from __future__ import annotations

import pytest
from paddleflow_core.workflow.document import Limits, Request

from tests.support.workflow import NESTED, REFERENCES, around, said

TREE = """{
  make: {parameters: {n: 1, word: {type: string, default: a}, path: {type: path, default: a/b}}},
  d: {deps: make, parameters: {n: 2}, entry_points: {
    s: {parameters: {n: {type: int, default: 3}, f: {type: float, default: 1}, l: {type: list, default: [1]}}}}},
  r: {deps: make, reference: {component: c}},
  g: {reference: {component: dag}}
}"""
DEFINED = "{c: {parameters: {k: {type: int, default: 1}}}, dag: {entry_points: {s: {parameters: {n: {type: int, default: 1}}}}}}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("null", "parameters.p is null, but must be text, a number, a boolean or a list. [Y-3]"),
        ("[null]", "parameters.p[0] is null, but must be text, a number or a list of these"),
        ("[{}]", "parameters.p[0] is {}, but must be"),
        ("[true]", "parameters.p[0] is True, but must be"),
        ("['{{x}}']", "parameters.p[0] is '{{x}}', but must be without a template"),
        ("{}", "parameters.p.type is missing, but must be one of string, int, float, path, list. [Y-15]"),
        ("{type: str}", "parameters.p.type is 'str', but must be one of string"),
        ("{type: Int}", "In small letters. [Y-15]"),
        ("{type: 1}", "parameters.p.type is 1, but must be text"),
        ("{type: '', default: x}", "parameters.p.type is '', but must be one of string, int, float, path, list"),
        (
            "{type: int, value: 1}",
            "parameters.p.value is not known here, or given twice, but must be one of default, description",
        ),
        ("{type: int, Type: int}", "parameters.p.Type is not known here, or given twice"),
        (
            "{type: int, default: 1.5}",
            "parameters.p.default is 1.5, but must be a whole number, which type int asks for",
        ),
        ("{type: int, default: true}", "parameters.p.default is True, but must be a whole number"),
        ("{type: float, default: x}", "parameters.p.default is 'x', but must be a number, which type float asks for"),
        (
            "{type: path, default: a b}",
            "parameters.p.default is 'a b', but must be text of letters, digits and . / _ -",
        ),
        ("{type: string, default: 1}", "parameters.p.default is 1, but must be text, which type string asks for"),
        ("{type: list, default: x}", "parameters.p.default is 'x', but must be a list, which type list asks for"),
        ("{type: list, default: [null]}", "parameters.p.default[0] is null, but must be"),
        (
            "{type: int}",
            "parameters.p is without a value, but must be given a default, or by the run. A run gives it as",
        ),
        ("{type: string, default: ''}", "parameters.p is without a value"),
    ],
)
def test_what_a_parameter_is_not(value: str, text: str) -> None:
    found = said(around(f"{{a: {{parameters: {{p: {value}}}}}}}"))
    assert any(text in line for line in found), found


@pytest.mark.parametrize(
    "value",
    [
        "x", "''", "1", "1.5", "true", "[]", "[a, 1, [2]]", "{type: int, default: 0}", "{type: float, default: 1}",
        "{TYPE: string, Default: x, description: why}", "{type: path, default: ./a_b-c}", "{type: list, default: [1]}",
        "{type: int, default: '{{PF_RUN_ID}}'}",
    ],
)  # fmt: skip
def test_what_a_parameter_is(value: str) -> None:
    assert said(around(f"{{a: {{parameters: {{p: {value}}}}}}}")) == []


@pytest.mark.parametrize("parameters", ["[]", "x"])
def test_parameters_are_a_mapping(parameters: str) -> None:
    assert len(said(around(f"{{a: {{parameters: {parameters}}}}}"))) == 1


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("m", "1", "parameters.m is declared by no component, but must be one of f, k, l, n, path, word. [R-10]"),
        (
            "s.n",
            "1",
            "parameters.s.n is of s, which is no component, but must be of one of make, d, d.s, r, g, g.s. [R-11]",
        ),
        ("make.s.n", "1", "is of make.s, which is no component"),
        ("make.m", "1", "parameters.make.m is not known to make, but must be one of its parameters, n, word, path."),
        ("g.m", "1", "parameters.g.m is not known to g, but must be one of its parameters, which there is none."),
        ("n", "x", "parameters.n is 'x', but must be a whole number, which type int of d.s asks for. [R-15]"),
        ("d.s.f", "x", "is 'x', but must be a number, which type float"),
        ("d.s.f", "nan", "is 'nan', but must be a number"),
        ("d.s.l", "x", "is 'x', but must be a list"),
        ("d.s.l", "{}", "is '{}', but must be a list"),
        ("d.s.l", '[{"a": 1}, true]', "parameters.d.s.l[0] is {'a': 1}, but must be text, a number or a list of these"),
        ("d.s.l", '[{"a": 1}, true]', "parameters.d.s.l[1] is True, but must be text, a number or a list of these"),
        ("d.s.l", '["{{PF_RUN_ID}}"]', "parameters.d.s.l[0] is '{{PF_RUN_ID}}', but must be without a template"),
        ("d.s.l", "[" * 20000 + "]" * 20000, "but must be a list, which type list of d.s asks for"),
        ("n", "1_000", "parameters.n is '1_000', but must be a whole number, which type int of d.s asks for. [R-15]"),
        ("n", " 1", "parameters.n is ' 1', but must be a whole number"),
        ("n", "1\n", "parameters.n is '1\\n', but must be a whole number"),
        ("d.s.f", "1_0.5", "is '1_0.5', but must be a number"),
        ("d.s.f", "1e999", "is '1e999', but must be a number"),
        ("path", "a b", "is 'a b', but must be text of letters"),
        ("r.k", "x", "is 'x', but must be a whole number, which type int of r asks for"),
        ("g.s.n", "x", "is 'x', but must be a whole number, which type int of g.s asks for"),
        ("d.n", "{{make.m}}", "parameters.d.n is '{{make.m}}', which make does not have"),
        ("make.n", "{{d.n}}", "but d is not in deps"),
        ("d.s.n", "{{PF_PARENT.m}}", "which d does not have"),
    ],
)
def test_what_a_run_cannot_say_of_parameters(key: str, value: str, text: str) -> None:
    found = said(around(TREE, components=DEFINED), Request(parameters={key: value}))
    assert any(text in line for line in found), found


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("n", "5"), ("n", "-5"), ("make.n", "x"), ("word", ""), ("d.s.f", "1"), ("d.s.f", "-.5e3"), ("d.s.l", "[1, [2]]"), ("r.k", "5"), ("g.s.n", "5"),
        ("d.n", "{{make.n}}"), ("d.s.n", "{{PF_PARENT.n}}"), ("d.s.n", ""), ("k", "7"),
    ],
)  # fmt: skip
def test_what_a_run_may_say_of_parameters(key: str, value: str) -> None:
    assert said(around(TREE, components=DEFINED), Request(parameters={key: value})) == []


def test_a_document_without_parameters_knows_none() -> None:
    (line,) = said(around("{a: {}}"), Request(parameters={"n": "1"}))
    assert "declared by no component, but must be one of none" in line


def test_a_plain_key_does_not_reach_into_definitions() -> None:
    text = around("{g: {reference: {component: dag}}}", components=DEFINED)
    (line,) = said(text, Request(parameters={"n": "1"}))
    assert "declared by no component" in line


def test_a_parameter_of_a_broken_type_takes_anything() -> None:
    text = around("{a: {parameters: {p: {type: str, default: x}}}}")
    assert len(said(text, Request(parameters={"p": "1"}))) == 1


def test_required_parameters_are_given_by_a_run_or_by_who_references() -> None:
    required = around(
        "{a: {reference: {component: c}}, b: {reference: {component: c}, parameters: {n: 1}}, g: {reference: {component: dag}}}",
        components="{c: {parameters: {n: {type: int}}}, dag: {entry_points: {s: {parameters: {m: {type: int}}}}}}",
    )
    found = said(required)
    assert [line.partition(" is ")[0] for line in found] == [
        "components.dag.entry_points.s.parameters.m",
        "entry_points.a.parameters.n",
    ]
    assert "A run gives it as parameter g.s.m." in found[0]
    assert said(required, Request(parameters={"n": "1", "g.s.m": "2"})) == []
    assert len(said(required, Request(parameters={"n": "1", "g.s.m": ""}))) == 1


@pytest.mark.parametrize(
    ("disabled", "text"),
    [
        (["x"], "disabled is 'x', but must be names of components, make, work, work.square, total, report. [X-21]"),
        (["total", "total"], "disabled is 'total' for the second time"),
        (
            ["make"],
            "disabled is 'make', which work takes values from, but must be left out, or work disabled too. [X-22]",
        ),
        (["work.square"], "disabled is 'work.square', which work takes values from"),
        (["work"], "disabled is 'work', which total takes values from"),
    ],
)
def test_what_cannot_be_disabled(disabled: list[str], text: str) -> None:
    found = said(NESTED, Request(disabled=disabled))
    assert any(text in line for line in found), found


@pytest.mark.parametrize(
    "disabled",
    [
        [],
        ["total"],
        ["report"],
        ["make", "work", "total"],
        ["total", "work", "work.square"],
        ["total", "work.square", "work"],
    ],
)
def test_what_can_be_disabled(disabled: list[str]) -> None:
    assert said(NESTED, Request(disabled=disabled)) == []


def test_a_run_disables_in_place_of_the_document() -> None:
    assert said(REFERENCES, Request(disabled=["fit-b"])) == []
    assert len(said(around("{a: {}}", disabled="x"), Request(disabled=[]))) == 0


def test_components_are_disabled_through_references() -> None:
    text = around("{g: {reference: {component: dag}}}", components=DEFINED)
    assert said(text, Request(disabled=["g.s"])) == []
    assert len(said(text, Request(disabled=["dag.s"]))) == 1


def test_what_references_blow_up_is_refused() -> None:
    doubled = ", ".join(
        f"c{n}: {{entry_points: {{a: {{reference: {{component: c{n + 1}}}}}, b: {{reference: {{component: c{n + 1}}}}}}}}}"
        for n in range(40)
    )
    text = around("{a: {reference: {component: c0}}}", components=f"{{{doubled}, c40: {{}}}}")
    (line,) = said(text)
    assert line.startswith("the document is too large, but must be of at most 10000 components in all.")
    chain = ", ".join(f"c{n}: {{entry_points: {{a: {{reference: {{component: c{n + 1}}}}}}}}}" for n in range(2000))
    (line,) = said(around("{a: {reference: {component: c0}}}", components=f"{{{chain}, c2000: {{}}}}"))
    assert line.startswith("the document is too large")
    assert len(said(around("{a: {}, b: {}}"), limits=Limits(components=1))) == 1
