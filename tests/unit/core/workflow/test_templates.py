# SPDX-License-Identifier: Apache-2.0
"""Templates: what one is, and what each field may refer to (pipelines.md 2)."""

from __future__ import annotations

import pytest
from paddleflow_core.workflow.template import parts, whole

from tests.support.workflow import around, said

HINT = "give the document as a file by src, or mark it with !unsafe. [2.3]"
CONDITIONAL = "{b: {condition: x, parameters: {p: 1}, artifacts: {output: [o]}}, "


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("{{x}}", ["x"]),
        ("a {{ x }} {{\nstep-1.x\n}}", ["x", "step-1.x"]),
        ("{{PF_PARENT.x}}{{a-.b}}", ["PF_PARENT.x", "a-.b"]),
        ("{{{x}}}", ["x"]),
        ("{{{{x}}", []),
        ("{{.x}}", [""]),
        ("{{a.b.c}} {{}} {{a b}} {{", ["", "", "", ""]),
        ("[[x]]", []),
    ],
)
def test_what_a_template_is(text: str, tokens: list[str]) -> None:
    assert [part.token for part in parts(text)] == tokens


@pytest.mark.parametrize(
    ("text", "tokens"), [("[[x]] {{y}}", ["x", "y"]), ("[[[[x]]", []), ("[[ -f x ]]", [""]), ("[[[x]]]", ["x"])]
)
def test_the_second_spelling(text: str, tokens: list[str]) -> None:
    assert [part.token for part in parts(text, brackets=True)] == tokens


def test_a_whole_template_has_nothing_around_it() -> None:
    part = whole("{{a.b}}")
    assert part is not None
    assert (part.owner, part.name) == ("a", "b")
    assert [whole(text) for text in ("{{a}} ", "{{a}}{{b}}", "a", "{{", "{{.a}}")] == [None] * 5


# What is wrong with one template of a component.
WRONG = [
    ("{a: {parameters: {p: '{{a b}}'}}}", "parameters.p is '{{a b}}', which is no template, but must be like {{name}}"),
    ("{a: {parameters: {p: '{{.x}}'}}}", ("parameters.p is '{{.x}}', which is no template, but must be like {{name}} or "
     "{{step.name}}. Write {{{{ for two braces of your own. [T-3]")),
    ("{a: {parameters: {p: '{{'}}}", "is '{{', which is no template"),
    ("{a: {parameters: {p: '{{PF_LOOP_ARGUMENT}}'}}}", "before the loop is unrolled, but must be {{PF_PARENT.PF_LOOP_ARGUMENT}}"),
    ("{a: {parameters: {p: '{{q}}', q: 1}}}", "is '{{q}}', of the same component, but must be a system variable, or a parameter"),
    ("{a: {parameters: {p: '{{PF_FS_ID}}'}}}", "is '{{PF_FS_ID}}', which is not known here, but must be a system variable"),
    ("{a: {parameters: {p: {type: string, default: '{{q}}'}}}}", "parameters.p.default is '{{q}}', which is not known here"),
    ("{b: {parameters: {x: 1}}, a: {parameters: {p: '{{b.x}}'}}}", ("but b is not in deps, but must be of a component that deps "
     "names. Add b to deps. [T-10]")),
    ("{a: {parameters: {p: '{{c.x}}'}}}", "but c is no other component here, but must be of which there is none. [T-11]"),
    ("{b: {}, a: {deps: a, parameters: {p: '{{a.x}}'}}}", "but a is no other component here, but must be of b. [T-11]"),
    ("{b: {}, a: {deps: b, parameters: {p: '{{b.x}}'}}}", "which b does not have, but must be one of its parameters, which there"),
    ("{b: {artifacts: {output: [o]}}, a: {deps: b, parameters: {p: '{{b.o}}'}}}", "which b does not have, but must be one of its par"),
    ("{b: {loop_argument: [1]}, a: {deps: b, parameters: {p: '{{b.PF_LOOP_ARGUMENT}}'}}}", "the loop item of another component"),
    ("{a: {parameters: {p: '{{PF_PARENT.x}}'}}}", "but it stands in no DAG, but must be within a DAG."),
    ("{d: {entry_points: {a: {parameters: {p: '{{PF_PARENT.x}}'}}}}}", "which d does not have, but must be one of its parameters"),
    ("{d: {entry_points: {a: {parameters: {p: '{{PF_PARENT.PF_LOOP_ARGUMENT}}'}}}}}", "but d does not loop, but must be of a parent"),
    (("{d: {artifacts: {input: {i: '{{b.o}}'}}, deps: b, entry_points: {a: {parameters: {p: '{{PF_PARENT.i}}'}}}}, "
     "b: {artifacts: {output: [o]}}}"), "which d does not have, but must be one of its parameters"),
    ("{a: {artifacts: {input: {i: x}}}}", "input.i is 'x', but must be exactly one template, {{step.artifact}} or"),
    ("{a: {artifacts: {input: {i: ''}}}}", HINT),
    ("{a: {artifacts: {input: {i: null}}}}", HINT),
    ("{a: {artifacts: {input: {i: 1}}}}", "artifacts.input.i is 1, but must be text. Put it into quotes."),
    ("{a: {artifacts: {input: {i: '{{x}}'}}}}", "input.i is '{{x}}', but must be exactly one template, {{step.artifact}}"),
    ("{b: {parameters: {p: 1}}, a: {deps: b, artifacts: {input: {i: '{{b.p}}'}}}}", "must be one of its output artifacts, which"),
    ("{d: {parameters: {p: 1}, entry_points: {a: {artifacts: {input: {i: '{{PF_PARENT.p}}'}}}}}}", "one of its input artifacts"),
    ("{d: {loop_argument: [1], entry_points: {a: {artifacts: {input: {i: '{{PF_PARENT.PF_LOOP_ARGUMENT}}'}}}}}}",
     "which d does not have, but must be one of its input artifacts"),
    (CONDITIONAL + "a: {deps: b, artifacts: {input: {i: '{{b.o}}'}}}}", "but b has a condition, but must be of a component that"),
    ("{d: {artifacts: {output: [o]}, entry_points: {a: {}}}}", "artifacts.output is ['o'], but must be a mapping"),
    ("{d: {artifacts: {output: {o: x}}, entry_points: {a: {}}}}", "output.o is 'x', but must be exactly one template, {{child.art"),
    ("{d: {artifacts: {output: {o: '{{o}}'}}, entry_points: {a: {}}}}", "must be exactly one template, {{child.artifact}}. [2.3]"),
    ("{d: {artifacts: {output: {o: '{{c.o}}'}}, entry_points: {a: {}}}}", "of c, which is no child, but must be of a. [T-11]"),
    ("{d: {artifacts: {output: {o: '{{a.o}}'}}, entry_points: {a: {}}}}", "which a does not have, but must be one of its output"),
    ("{d: {artifacts: {output: {o: '{{a.o}}'}}, entry_points: {a: {condition: x, artifacts: {output: [o]}}}}}",
     "but a has a condition, but must be"),
    ("{a: {env: {e: '{{o}}'}, artifacts: {output: [o]}}}", ("env.e is '{{o}}', which is not known here, but must be a system variable "
     "or one of the component's own parameters. There are none. [T-17]")),
    ("{a: {env: {e: '{{a b}}'}}}", "env.e is '{{a b}}', which is no template"),
    ("{b: {parameters: {p: 1}}, a: {deps: b, env: {e: '{{b.p}}'}}}", "env.e is '{{b.p}}', of another component"),
    ("{a: {command: '{{x}}', parameters: {y: 1}}}", ("a.command is '{{x}}', which is not known here, but must be a system variable or one of "
     "the component's own parameters, input artifacts, output artifacts. These are y. [T-17]")),
    ("{b: {parameters: {p: 1}}, a: {deps: b, command: '{{b.p}}'}}", "Take it as a parameter or an input artifact first, and use that. [T-17]"),
    ("{a: {condition: \"'{{x y}}' == 'a'\"}}", "a.condition is '{{x y}}', which is no template"),
    ("{a: {condition: '{{x}} == 1'}}", "a.condition is '{{x}}', which is not known here"),
    ("{a: {condition: '{{o}} == 1', artifacts: {output: [o]}}}", "a.condition is '{{o}}', which is not known here"),
    ("{b: {parameters: {p: 1}}, a: {deps: b, condition: '{{b.p}} == 1'}}", ("is '{{b.p}}', of another component, but must be a system variable"
     " or one of the component's own parameters, input artifacts.")),
    ("{a: {loop_argument: '{{PF_RUN_ID}}'}}", "loop_argument is '{{PF_RUN_ID}}', which is none, but must be one of the component's own"),
    ("{a: {loop_argument: '{{o}}', artifacts: {output: [o]}}}", "There are none. [T-17]"),
    ("{b: {parameters: {p: [1]}}, a: {deps: b, parameters: {q: 1}, loop_argument: '{{b.p}}'}}", "These are q. [T-19]"),
]  # fmt: skip


@pytest.mark.parametrize(("entry_points", "text"), WRONG)
def test_what_a_field_may_not_refer_to(entry_points: str, text: str) -> None:
    found = said(around(entry_points))
    assert any(text in line for line in found), found


@pytest.mark.parametrize(
    "entry_points",
    [
        "{a: {parameters: {p: '{{PF_RUN_ID}}-{{PF_STEP_NAME}} {{PF_USER_NAME}}', n: {type: int, default: '{{PF_RUN_ID}}'}}}}",
        "{b: {parameters: {x: 1}}, a: {deps: b, parameters: {p: 'v{{b.x}}'}}}",
        "{d: {loop_argument: [1], entry_points: {a: {parameters: {p: '{{PF_PARENT.PF_LOOP_ARGUMENT}}'}, loop_argument: '{{p}}'}}}}",
        "{d: {parameters: {x: 1}, entry_points: {a: {parameters: {p: '{{PF_PARENT.x}}'}}}}}",
        (
            "{b: {artifacts: {output: [o]}}, d: {deps: b, condition: x, artifacts: {input: {i: '{{b.o}}'}}, "
            "entry_points: {a: {artifacts: {input: {j: '{{PF_PARENT.i}}'}}}}}}"
        ),
        "{d: {artifacts: {output: {o: '{{a.o}}'}}, entry_points: {a: {artifacts: {output: [o]}}}}}",
        CONDITIONAL + "a: {deps: b, parameters: {q: '{{b.p}}'}}}",
        (
            "{b: {artifacts: {output: [o]}}, a: {deps: b, loop_argument: '{{i}}', condition: '{{PF_LOOP_ARGUMENT}} in (1, 2) && {{i}}',"
            " env: {e: '{{PF_RUN_ID}} {{p}}'}, command: '{{PF_LOOP_ARGUMENT}} {{p}} {{i}} {{o}} {{{{x}}', parameters: {p: 1},"
            " artifacts: {input: {i: '{{b.o}}'}, output: [o]}}}"
        ),
        "{a: {docker_env: '{{x}}', extra_fs: [{name: '{{x}}'}]}}",
    ],
)
def test_what_a_field_may_refer_to(entry_points: str) -> None:
    assert said(around(entry_points)) == []


def test_a_command_keeps_the_braces_of_others() -> None:
    (line,) = said(around("{a: {command: \"docker inspect -f '{{.State}}'\"}}"))
    assert line.startswith("warning: entry_points.a.command is '{{.State}}', which is no template")


def test_placeholders_of_definitions_are_not_looked_at() -> None:
    components = "{c: {command: 'cat {{i}}', artifacts: {input: {i: ''}}}}"
    assert said(around("{a: {}}", components=components)) == []
    inside = "{c: {entry_points: {s: {artifacts: {input: {i: ''}}}}}}"
    assert len(said(around("{a: {}}", components=inside))) == 1


def test_a_definition_has_no_parent() -> None:
    (line,) = said(around("{a: {}}", components="{c: {parameters: {p: '{{PF_PARENT.x}}'}}}"))
    assert "but it stands in no DAG" in line


def test_what_a_reference_makes_is_its_targets() -> None:
    entry_points = (
        "{r: {reference: {component: c}}, a: {deps: r, artifacts: {input: {i: '{{r.o}}'}}, parameters: {p: '{{r.n}}'}}}"
    )
    components = "{c: {condition: '%s', parameters: {n: 1}, artifacts: {output: [o]}}}"
    assert said(around(entry_points, components=components % "")) == []
    (line,) = said(around(entry_points, components=components % "x"))
    assert "but r has a condition" in line
    assert len(said(around(entry_points, components="{c: {reference: {component: c}}}"))) == 1


def test_a_disabled_component_is_only_warned_of() -> None:
    entry_points = (
        "{d: {entry_points: {a: {command: '{{x}}', parameters: {p: '{{q}}'}, env: []}}}, b: {command: '{{x}}'}}"
    )
    found = said(around(entry_points, disabled="d"))
    assert [line.partition(" is ")[0] for line in found] == [
        "warning: entry_points.d.entry_points.a.command",
        "warning: entry_points.d.entry_points.a.parameters.p",
        "entry_points.d.entry_points.a.env",
        "entry_points.b.command",
    ]


def test_brackets_are_templates_where_a_document_says_so() -> None:
    entry_points = (
        "{a: {command: 'echo [[n]] {{n}}', parameters: {n: 1}, condition: \"[[n]] == 1\", loop_argument: '[[1], [2]]'}}"
    )
    assert said(around(entry_points, template_style="brackets")) == []
    wrong = "{a: {command: 'echo [[n]]', parameters: {n: '[[x]]'}}}"
    assert len(said(around(wrong))) == 0
    assert len(said(around(wrong, template_style="brackets"))) == 1
