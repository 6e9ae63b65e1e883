# SPDX-License-Identifier: Apache-2.0
"""Dependencies and references (pipelines.md 1.4 and 1.6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.workflow.document import Definitions, cycles
from paddleflow_core.workflow.parameter import Parameter

from tests.support.workflow import around, checked, said


@pytest.mark.parametrize(
    ("entry_points", "text"),
    [
        ("{a: {}, b: {deps: c}}", "entry_points.b.deps is on 'c', but must be a. A component waits for components of its own"),
        ("{b: {deps: c}}", "but must be nothing, since there is no other."),
        ("{d: {entry_points: {s: {}}}, b: {deps: d.s}}", "entry_points.b.deps is on 'd.s', but must be d."),
        ("{o: {}, d: {entry_points: {s: {deps: o}}}}", "entry_points.d.entry_points.s.deps is on 'o'"),
        ("{a: {deps: a}}", "entry_points.a.deps is a cycle, a -> a, but must be without cycles. [Y-12]"),
        ("{a: {deps: b}, b: {deps: c}, c: {deps: b}}", "entry_points.b.deps is a cycle, b -> c -> b, but"),
        ("{d: {entry_points: {a: {deps: b}, b: {deps: a}}}}", "entry_points.d.entry_points.a.deps is a cycle, a -> b -> a"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_dependencies(entry_points: str, text: str) -> None:
    found = said(around(entry_points))
    assert any(text in line for line in found), found


@pytest.mark.parametrize(
    ("entry_points", "components", "text"),
    [
        ("{a: {reference: c}}", "{c: {}}", "entry_points.a.reference is 'c', but must be a mapping"),
        ("{a: {reference: {}}}", "{c: {}}", "reference.component is missing, but must be the name of a member of components"),
        ("{a: {reference: {component: 1}}}", "{c: {}}", "reference.component is 1, but must be text"),
        ("{a: {reference: {name: c}}}", "{c: {}}", "entry_points.a.reference.name is not known here"),
        ("{a: {reference: {component: b}}}", "{c: {}}", "reference.component is 'b', but must be one of c. [Y-20]"),
        ("{a: {reference: {component: b}}}", "{}", "'b', but must be a member of components, of which there are none."),
        ("{a: {reference: {component: c.x}}}", "{c: {entry_points: {x: {}}}}", "is 'c.x', but must be one of c. [Y-20]"),
        ("{a: {reference: {component: c}, command: x}}", "{c: {}}", "a.command is given beside reference, but must be left"),
        ("{a: {reference: {component: c}, condition: x}}", "{c: {}}", "a.condition is given beside reference"),
        (
            "{a: {reference: {component: c}, artifacts: {output: [o]}}}",
            "{c: {}}",
            "artifacts.output is given beside reference",
        ),
        ("{a: {reference: {component: c}, parameters: {n: 1}}}", "{c: {}}", "parameters.n is no parameter of c, but must be left"),
        (
            "{a: {reference: {component: c}, parameters: {n: 1}}}",
            "{c: {parameters: {m: 1}}}",
            "entry_points.a.parameters.n is no parameter of c, but must be one of m. [Y-23]",
        ),
        (
            "{a: {reference: {component: c}, parameters: {n: x}}}",
            "{c: {parameters: {n: {type: int, default: 1}}}}",
            "entry_points.a.parameters.n is 'x', but must be a whole number, which type int asks for. [Y-23]",
        ),
        ("{a: {reference: {component: c}}}", "{c: {artifacts: {input: {i: ''}}}}", "input.i is missing, but must be given, since c"),
        ("{o: {artifacts: {output: [o]}}, a: {deps: o, reference: {component: c}, artifacts: {input: {j: '{{o.o}}'}}}}",
         "{c: {}}", "input.j is no input artifact of c, but must be left out. [Y-24]"),
        ("{a: {}}", "{b: {}, c: {deps: b}}", "components.c.deps is 'b', but must be left out of components.c. Who references"),
        ("{a: {reference: {component: c}}}", "{c: {reference: {component: c}}}", "components.c is referenced by itself, c -> c, but"),
        ("{a: {}}", "{c: {entry_points: {x: {reference: {component: d}}}}, d: {reference: {component: c}}}",
         "components.c is referenced by itself, c -> d -> c, but must be without recursion. [Y-26]"),
        ("{a: {}}", "{c: {comand: x}}", "components.c.comand is not known here"),
        ("{o: {artifacts: {output: [o]}}, a: {deps: o, reference: {component: c}, artifacts: {input: {i: '{{o.o}}'}}}}",
         "{c: {artifacts: {input: {i: '', k: ''}}}}", "input.k is missing, but must be given, since c reads it. [Y-24]"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_reference(entry_points: str, components: str, text: str) -> None:
    found = said(around(entry_points, components=components))
    assert any(text in line for line in found), found


def test_references_chain_and_the_outermost_wins() -> None:
    text = around(
        "{a: {reference: {component: r}, parameters: {n: 5}, deps: b}, b: {}}",
        components="{r: {reference: {component: c}, parameters: {n: 4, m: x}},"
        " c: {command: '{{n}} {{m}}', parameters: {n: {type: int}, m: y, k: z}}}",
    )
    result = checked(text)
    assert result.findings == []
    document = result.document
    found = Definitions(document.components).resolve(document.entry_points["a"])
    assert found is not None
    assert (found.name, found.deps, found.command) == ("a", ("b",), "{{n}} {{m}}")
    assert {name: (one.value, one.type) for name, one in found.parameters.items()} == {
        "n": (5, "int"),
        "m": ("x", ""),
        "k": ("z", ""),
    }


def test_an_unknown_parameter_is_kept_as_it_is() -> None:
    text = around("{a: {reference: {component: c}, parameters: {n: 5}}}", components="{c: {}}")
    document = checked(text).document
    found = Definitions(document.components).resolve(document.entry_points["a"])
    assert found is not None
    assert isinstance(found.parameters["n"], Parameter)


def test_a_template_for_a_typed_parameter_is_judged_later() -> None:
    components = "{c: {parameters: {n: {type: int, default: 1}, p: {type: path}}}}"
    entry_points = (
        "{b: {parameters: {x: 1}}, a: {deps: b, reference: {component: c}, parameters: {n: '{{b.x}}', p: 'a{{b.x}}'}}}"
    )
    assert said(around(entry_points, components=components)) == []


def test_a_thousand_references_in_a_chain_are_no_danger() -> None:
    chain = ", ".join(f"c{number}: {{reference: {{component: c{number + 1}}}}}" for number in range(2000))
    assert said(around("{a: {reference: {component: c0}}}", components=f"{{{chain}, c2000: {{}}}}")) == []


EDGES = st.dictionaries(st.integers(0, 6), st.lists(st.integers(0, 7), max_size=3), max_size=7)


@given(EDGES)
def test_a_cycle_is_found_exactly_where_there_is_one(edges: dict[int, list[int]]) -> None:
    found = cycles(edges)
    for cycle in found:
        assert all(after in edges[one] for one, after in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
    left = dict(edges)
    while free := [one for one, after in left.items() if not any(other in left for other in after)]:
        for one in free:
            del left[one]
    assert bool(found) == bool(left)


def test_messages_about_thousands_stay_short() -> None:
    steps = ", ".join(f"s{number}: {{deps: q{number}}}" for number in range(3000))
    found = said(around(f"{{{steps}}}"))
    assert len(found) == 3000
    assert max(map(len, found)) < 400
    assert "s20 and more. A component waits" in found[0]
    ring = ", ".join(f"s{number}: {{deps: s{(number + 1) % 3000}}}" for number in range(3000))
    (line,) = said(around(f"{{{ring}}}"))
    assert "s49 -> 2950 more -> s0, but must be without cycles" in line
