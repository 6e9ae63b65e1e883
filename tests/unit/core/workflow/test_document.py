# SPDX-License-Identifier: Apache-2.0
"""The top level of documents and the forms of their fields (pipelines.md 1.1 to 1.4, 1.8, 1.9)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.workflow.check import check
from paddleflow_core.workflow.document import Limits, Request

from tests.support.workflow import NESTED, REFERENCES, around, checked, said

STEP = "{a: {command: x}}"


@pytest.mark.parametrize("text", [NESTED, REFERENCES])
def test_the_worked_examples_are_good(text: str) -> None:
    assert said(text) == []


def test_a_document_is_read() -> None:
    document = checked(NESTED).document
    assert (document.name, document.image, document.parallelism, document.strategy) == (
        "digits",
        "python:3.11",
        4,
        "fail_fast",
    )
    assert document.main_fs is not None
    assert (document.main_fs.name, document.main_fs.sub_path) == ("lab", "exp1")
    work = document.entry_points["work"]
    assert (work.dag, work.deps, work.loop) == (True, ("make",), "{{items}}")
    assert work.children["square"].at.component == "work.square"
    assert work.children["square"].outputs == {"out": ""}


def test_everything_is_told_at_once_in_the_order_of_the_document() -> None:
    text = "parallelism: x\nentry_points: {b: {deps: a}, a: {command: 1}}\nname: 1\n"
    places = [one.partition(" is ")[0] for one in said(text)]
    # What is missing is told where it is missing from.
    images = ["entry_points.b.docker_env", "entry_points.a.docker_env"]
    assert places == ["parallelism", *images, "entry_points.a.command", "name"]


def test_a_finding_has_its_rule_and_its_component() -> None:
    (finding,) = checked(around("{d: {entry_points: {s: {comand: x}}}}")).findings
    assert (finding.rule, finding.component, finding.path) == (
        "Y-2",
        "d.s",
        ("entry_points", "d", "entry_points", "s", "comand"),
    )


# Of one step or DAG: what is wrong, and what is said.
COMPONENTS = [
    ("{a: null}", "entry_points.a is null, but must be a mapping, a step or a DAG. [Y-8]"),
    ("{a: 1}", "entry_points.a is 1, but must be a mapping"),
    ("{a_b: {}}", "entry_points.a_b is 'a_b' as the name of a component, but must be a name like"),
    ("{1: {}}", "entry_points.1 is 1 as the name of a component"),
    ("{%s: {}}" % ("a" * 31), "as the name of a component"),
    ("{a: {comand: x}}", "entry_points.a.comand is not known here, but must be one of artifacts, "),
    ("{a: {comand: x}}", "Did you mean command? [Y-2]"),
    ("{a: {entry_points: {b: {}}, command: x}}", "A DAG runs nothing itself: its steps have it. [Y-2]"),
    ("{a: {entry_points: {}}}", "entry_points.a.entry_points is empty, but must be at least one component. [1.2]"),
    ("{a: {entry_points: []}}", "entry_points.a.entry_points is [], but must be a mapping."),
    ("{a: {command: 1}}", "entry_points.a.command is 1, but must be text. Put it into quotes. [1.3]"),
    ("{a: {command: [x]}}", "entry_points.a.command is ['x'], but must be text. [1.3]"),
    ("{a: {docker_env: i.tar}}", "entry_points.a.docker_env is 'i.tar', but must be an image of a registry"),
    ("{a: {env: []}}", "entry_points.a.env is [], but must be a mapping"),
    ("{a: {env: {x: true}}}", "entry_points.a.env.x is True, but must be text or a number. Put it into quotes. [1.3]"),
    ("{a: {env: {x: null}}}", "entry_points.a.env.x is null, but must be text or a number. [1.3]"),
    ("{a: {env: {x: [1]}}}", "entry_points.a.env.x is [1], but must be text or a number. [1.3]"),
    ("{a: {env: {x-y: 1}}}", "entry_points.a.env.x-y is 'x-y' as the name of an environment variable"),
    ("{a: {env: {1: 1}}}", "entry_points.a.env.1 is 1 as the name of an environment variable"),
    ("{a: {artifacts: {outputs: []}}}", "entry_points.a.artifacts.outputs is not known here"),
    ("{a: {artifacts: {output: {o: x}}}}", "entry_points.a.artifacts.output.o is 'x', but must be empty."),
    ("{a: {artifacts: {output: x}}}", "entry_points.a.artifacts.output is 'x', but must be a list of names"),
    ("{a: {artifacts: {output: [o, o]}}}", "artifacts.output[1] is 'o' for the second time, but must be given once"),
    ("{a: {artifacts: {output: [1]}}}", "entry_points.a.artifacts.output[0] is 1 as the name of an output artifact"),
    ("{a: {artifacts: {output: [PF_X]}}}", "is named as a system variable, but must be named otherwise"),
    ("{a: {parameters: {pf_x: 1}}}", "is named as a system variable, but must be named otherwise"),
    ("{a: {parameters: {x: 1}, artifacts: {output: [X]}}}", "output.X is X, as of parameters.x, but must be another name"),
    ("{a: {artifacts: {output: {1: x}}}}", "entry_points.a.artifacts.output.1 is 1 as the name of an output artifact"),
    ("{a: {env: {x: 1, 2: 3}}}", "entry_points.a.env.2 is 2 as the name"),
    ("{a: {parameters: {2: 3}}}", "entry_points.a.parameters.2 is 2 as the name of a parameter"),
    ("{a: {parameters: {p: {type: int, default: 1, description: null}, 2: 3}}}", "parameters.2 is 2 as the name"),
    ("{a: {deps: 1}}", "entry_points.a.deps is 1, but must be names with commas between them, or a list of names"),
    ("{a: {deps: [1]}}", "entry_points.a.deps is [1], but must be names"),
    ("{a: {condition: true}}", "entry_points.a.condition is True, but must be text"),
    ("{a: {condition: 'a =='}}", "entry_points.a.condition is 'a ==', which ends too early, but must be a condition"),
    ("{a: {loop_argument: 1}}", "entry_points.a.loop_argument is 1, but must be a list, a list as JSON"),
    ("{a: {loop_argument: {}}}", "entry_points.a.loop_argument is {}, but must be a list"),
    ("{a: {loop_argument: '{}'}}", "entry_points.a.loop_argument is '{}', but must be a list"),
    ("{a: {loop_argument: 'x {{y}}'}}", "entry_points.a.loop_argument is 'x {{y}}', but must be a list"),
    ("{a: {loop_argument: [true]}}", "loop_argument[0] is True, but must be text, a number or a list of these"),
    ("{a: {loop_argument: [[null]]}}", "loop_argument[0][0] is null, but must be text"),
    ("{a: {loop_argument: '[{}]'}}", "loop_argument[0] is {}, but must be text"),
    ("{a: {loop_argument: ['{{x}}']}}", "loop_argument[0] is '{{x}}', but must be without a template"),
    ("{a: {loop_parallelism: 0}}", "entry_points.a.loop_parallelism is 0, but must be a whole number of at least 1"),
    ("{a: {timeout_seconds: 1.5}}", "entry_points.a.timeout_seconds is 1.5, but must be a whole number of at least 1"),
    ("{a: {timeout_seconds: true}}", "entry_points.a.timeout_seconds is True, but must be"),
    ("{a: {retry: {limit: -1}}}", "entry_points.a.retry.limit is -1, but must be a whole number of at least 0"),
    ("{a: {retry: {times: 1}}}", "entry_points.a.retry.times is not known here"),
    ("{a: {require_outputs: 'true'}}", "is 'true', but must be true or false. Without quotes. [A-6]"),
    ("{a: {type: dag}}", "entry_points.a.type is 'dag', but must be step."),
    ("{a: {type: step, entry_points: {b: {}}}}", "entry_points.a.type is 'step', but must be dag."),
    ("{a: {cache: {enable: 'true'}}}", "entry_points.a.cache.enable is 'true', but must be true or false."),
    ("{a: {cache: {enable: 1}}}", "entry_points.a.cache.enable is 1, but must be true or false. [1.8]"),
    ("{a: {cache: {max_expired_time: 1.5}}}", "max_expired_time is 1.5, but must be a number of seconds, or -1 for ever"),
    ("{a: {cache: {max_expired_time: x}}}", "max_expired_time is 'x', but must be"),
    ("{a: {cache: {max_expired_time: true}}}", "max_expired_time is True, but must be"),
    ("{a: {cache: {mode: hash}}}", "entry_points.a.cache.mode is 'hash', but must be one of mtime, content. [K-5]"),
    ("{a: {cache: {fs_scope: x}}}", "entry_points.a.cache.fs_scope is 'x', but must be a list of name and path"),
    ("{a: {cache: {fs_scope: [x]}}}", "entry_points.a.cache.fs_scope[0] is 'x', but must be a mapping"),
    ("{a: {cache: {fs_scope: [{path: x}]}}}", "fs_scope[0].name is missing, but must be the name of a file system"),
    ("{a: {cache: {fs_scope: [{name: 1}]}}}", "fs_scope[0].name is 1, but must be text"),
    ("{a: {cache: {fs_scope: [{name: raw}]}}}", "fs_scope[0].name is 'raw', but must be one that step a mounts, lab. [1.8]"),
    ("{a: {extra_fs: {}}}", "entry_points.a.extra_fs is {}, but must be a list of file systems"),
    ("{a: {extra_fs: [x]}}", "entry_points.a.extra_fs[0] is 'x', but must be a mapping"),
    ("{a: {extra_fs: [{}]}}", "entry_points.a.extra_fs[0].name is missing, but must be the name of a file system"),
    ("{a: {extra_fs: [{name: [x]}]}}", "entry_points.a.extra_fs[0].name is ['x'], but must be text"),
    ("{a: {extra_fs: [{name: e, sub_path: /x}]}}", "sub_path is '/x', but must be a path below the file system's root"),
    ("{a: {extra_fs: [{name: e, sub_path: x/../y}]}}", "sub_path is 'x/../y', but must be"),
    ("{a: {extra_fs: [{name: e, mount_path: ..}]}}", "mount_path is '..', but must be another directory than /"),
    ("{a: {extra_fs: [{name: e, mount_path: //}]}}", "mount_path is '//', but must be another directory than /"),
    ("{a: {extra_fs: [{name: e, read_only: 'no'}]}}", "read_only is 'no', but must be true or false"),
    ("{a: {extra_fs: [{name: e, mode: x}]}}", "entry_points.a.extra_fs[0].mode is not known here"),
    (
        "{a: {extra_fs: [{name: e, mount_path: /m}, {name: f, mount_path: m/}]}}",
        "extra_fs[1].mount_path is /m, as of entry_points.a.extra_fs[0], but must be another mount path",
    ),
    ("{a: {extra_fs: [{name: lab}]}}", "extra_fs[0].mount_path is the default of lab, as of fs_options.main_fs, but"),
    ("{a: {job: {framework: mxnet}}}", "entry_points.a.job.framework is 'mxnet', but must be one of standalone"),
    ("{a: {job: {image: x}}}", "entry_points.a.job.image is not known here"),
    ("{a: {job: {1: x}}}", "entry_points.a.job.1 is not known here"),
    (
        "{a: {job: {limitFlavour: {name: f}, limit_flavour: {name: f}}}}",
        "entry_points.a.job.limit_flavour is given twice, but must be given once. Leave limit_flavour out.",
    ),
    (
        "{a: {job: {kind: distributed, members: [{role: worker}]}}}",
        "entry_points.a.job.framework is missing, but must be the framework of a distributed job. [1.11]",
    ),
    ("{a: {job: {kind: distributed, framework: paddle}}}", "entry_points.a.job.members is missing, but must be the roles"),
    (
        "{a: {job: {kind: distributed, framework: spark, members: [{role: driver}, {role: pserver}]}}}",
        "entry_points.a.job.members[1].role is 'pserver', but must be one of driver, executor for spark. [1.11]",
    ),
    (
        "{a: {job: {kind: distributed, framework: mpi, members: [{role: master}, {role: worker, min_available: 2}]}}}",
        "entry_points.a.job.members[1].min_available is 2, but must be at most the member's replicas, 1. [1.11]",
    ),
    ("{a: {job: {kind: workflow}}}", "entry_points.a.job.kind is 'workflow', but must be single or distributed. A step"),
    ("{a: {job: {framework: ray}}}", "entry_points.a.job.framework is 'ray', but must be standalone for kind single"),
    ("{a: {env: {PF_JOB_TYPE: Distributed}, job: {members: []}}}", "entry_points.a.job.members is missing"),
    ("{a: {job: x}}", "entry_points.a.job is 'x', but must be a mapping"),
    ("{a: {job: {limit_flavour: 1}}}", "entry_points.a.job.limit_flavour is 1, but must be a mapping"),
    ("{a: {job: {members: [{rolle: worker}]}}}", "entry_points.a.job.members[0].rolle is not known here"),
]  # fmt: skip


@pytest.mark.parametrize(("entry_points", "text"), COMPONENTS)
def test_what_is_wrong_with_a_component(entry_points: str, text: str) -> None:
    found = said(around(entry_points))
    assert any(text in line for line in found), found


@pytest.mark.parametrize(
    ("top", "text"),
    [
        ({"name": None}, "name is missing, but must be the name of the pipeline. [1.2]"),
        ({"name": "12"}, "name is 12, but must be a name like ^[A-Za-z_][A-Za-z0-9_-]{0,127}$. Put it into quotes. [0.2]"),
        ({"name": "a.b"}, "name is 'a.b', but must be a name like"),
        ({"name": f"a{'b' * 128}"}, "but must be a name like"),
        ({"docker_env": "i.tar"}, "docker_env is 'i.tar', but must be an image of a registry"),
        ({"docker_env": "1"}, "docker_env is 1, but must be text"),
        ({"docker_env": None}, "entry_points.a.docker_env is missing, but must be an image. Give docker_env here"),
        ({"env": "{a: b}"}, "env is not known here, but must be one of cache, components"),
        ({"env": "{a: b}"}, "Each step has its own. [Y-2]"),
        ({"parallelism": "x"}, "parallelism is 'x', but must be a number from 1 to 20. [1.2]"),
        ({"parallelism": "true"}, "parallelism is True, but must be a number"),
        ({"parallelism": ".inf"}, "parallelism is inf, but must be a number"),
        ({"parallelism": "0"}, "warning: parallelism is 0, but must be a whole number from 1 to 20. 10 is taken. [1.2]"),
        ({"parallelism": "21"}, "warning: parallelism is 21, but must be a whole number from 1 to 20. 20 is taken."),
        ({"parallelism": "2.9"}, "warning: parallelism is 2.9, but must be a whole number from 1 to 20. 2 is taken."),
        ({"failure_options": "{}"}, "failure_options.strategy is missing, but must be one of fail_fast, continue"),
        ({"failure_options": "{strategy: ''}"}, "failure_options.strategy is '', but must be one of"),
        ({"failure_options": "{strategy: stop}"}, "failure_options.strategy is 'stop', but must be one of"),
        ({"failure_options": "x"}, "failure_options is 'x', but must be a mapping"),
        ({"fs_options": "{main_fs: {}}"}, "fs_options.main_fs.name is missing, but must be the name of a file system"),
        ({"fs_options": "{main_fs: {name: l, read_only: true}}"}, "main_fs.read_only is true, but must be false for the main"),
        ({"fs_options": "{main: {name: l}}"}, "fs_options.main is not known here"),
        ({"disabled": "[a]"}, "disabled is ['a'], but must be text"),
        ({"disabled": "b"}, "disabled is 'b', but must be names of components, a. [X-21]"),
        ({"disabled": "'a, ,a'"}, "disabled is 'a' for the second time, but must be each name once. [X-21]"),
        ({"template_style": "jinja"}, "template_style is 'jinja', but must be brackets, or left out. [T-4]"),
        ({"timeout_seconds": "0"}, "timeout_seconds is 0, but must be a whole number of at least 1. [X-4]"),
        ({"cache": "{fs_scope: [{name: raw}]}"}, "cache.fs_scope[0].name is 'raw', but must be one that step a mounts, lab"),
        ({"post_process": "{a: {}}"}, "post_process.a is named as an entry point, but must be named otherwise. [Y-31]"),
        ({"post_process": "{p: {deps: a}}"}, "post_process.p.deps is given, but must be left out of post_process. [Y-32]"),
        ({"post_process": "{p: {condition: x}}"}, "post_process.p.condition is given, but must be left out"),
        ({"post_process": "{p: {loop_argument: []}}"}, "post_process.p.loop_argument is given, but must be left out"),
        ({"post_process": "{p: {artifacts: {input: {i: '{{a.x}}'}}}}"}, "post_process.p.artifacts.input is given, but"),
        ({"post_process": "{p: {cache: {enable: true}}}"}, "post_process.p.cache.enable is true, but must be left out"),
        (
            {"post_process": "{p: {reference: {component: c}}}", "components": "{c: {condition: x}}"},
            "post_process.p.condition is given, by c, but must be left out of post_process",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_top_level(top: dict[str, str | None], text: str) -> None:
    found = said(around(STEP, **top))
    assert any(text in line for line in found), found


@pytest.mark.parametrize(
    "entry_points",
    [
        "{a: {command: null, type: STEP, name: other, deps: null, env: {x: 1.5, PF_JOB_PRIORITY: HIGH}}}",
        "{a: {entry_points: {b: {}}, type: Dag, command: null}}",
        "{a: {entry_points: null, command: x}}",
        "{a: {}, b: {deps: ' a, ,a'}, c: {deps: [a, b]}}",
        "{a: {loop_argument: '[1, [2]]', loop_parallelism: 3}, b: {loop_argument: []}}",
        "{a: {artifacts: {output: {o: '', p: null}}}}",
        "{a: {cache: {enable: null, max_expired_time: '-1', mode: content, fs_scope: [{name: lab, path: 'a,b', id: x}]}}}",
        "{a: {cache: {max_expired_time: 60}, extra_fs: [{name: raw, id: x, mount_path: /raw}, {name: raw}]}}",
        "{a: {timeout_seconds: 60, retry: {limit: 3, backoff_seconds: 0}, require_outputs: true}}",
        (
            "{a: {job: {kind: distributed, framework: paddle, schedulingPolicy: {queue: q}, limit_flavour: null, "
            "members: [{role: worker, limit_flavour: {name: f}}]}}}"
        ),
        "{a: {}, b: {deps: [a, '']}}",
        "{a: {job: {flavour: {name: f}}}}",
        "{a: {env: {PF_JOB_TYPE: distributed, PF_JOB_FRAMEWORK: Ray, RAY_JOB_WORKER_REPLICAS: 2}, job: {flavour: {name: f}}}}",
    ],
)
def test_what_a_component_may_say(entry_points: str) -> None:
    assert said(around(entry_points)) == []


def test_what_is_wrong_is_told_from_what_is_worth_a_look() -> None:
    result = checked(around("{a: {command: '{{x y}}', env: []}}", parallelism="99"))
    assert [one.rule for one in result.warnings] == ["1.2", "T-2"]
    assert [one.rule for one in result.errors] == ["1.3"]


def test_a_reference_to_nothing_after_the_run_is_told_once() -> None:
    (line,) = said(around("{a: {}}", post_process="{p: {reference: {component: c}}}"))
    assert "must be a member of components, of which there are none" in line


def test_several_steps_and_dags_may_clean_up() -> None:
    after = "{mail: {command: x, artifacts: {output: [o]}}, tidy: {entry_points: {a: {}, b: {deps: a}}}}"
    assert said(around("{make: {}}", post_process=after)) == []


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ("{}", "entry_points.d.entry_points.s.docker_env is missing, but must be an image. Give docker_env here"),
        (
            "{docker_env: i, extra_fs: [{name: a, mount_path: /x}, {name: b, mount_path: /x/}]}",
            "entry_points.d.entry_points.s.extra_fs[1].mount_path is /x, as of entry_points.d.entry_points.s.extra_fs[0]",
        ),
        (
            "{docker_env: i, cache: {fs_scope: [{name: other}]}}",
            "entry_points.d.entry_points.s.cache.fs_scope[0].name is 'other', but must be one that step s mounts, lab. [1.8]",
        ),
    ],
)
def test_what_is_wrong_with_a_step_within_a_dag(step: str, text: str) -> None:
    found = said(around(f"{{d: {{entry_points: {{s: {step}}}}}}}", docker_env=None))
    assert any(line.startswith(text) for line in found), found


def test_no_step_after_the_run_has_a_cache_at_whatever_depth() -> None:
    found = said(around(STEP, post_process="{d: {entry_points: {s: {cache: {enable: true}}}}}"))
    (line,) = found
    assert line.startswith("post_process.d.entry_points.s.cache.enable is true, but must be left out of post_process.")


@pytest.mark.parametrize("entry_points", [None, "{}", "null"])
def test_a_document_has_components(entry_points: str | None) -> None:
    text = "name: demo\n" + ("" if entry_points is None else f"entry_points: {entry_points}\n")
    assert said(text) == ["entry_points is missing or empty, but must be a mapping of at least one component. [1.2]"]


def test_dags_have_a_bottom() -> None:
    entry_points = "{a: {entry_points: " * 45 + "{b: {}}" + "}}" * 45
    (line,) = said(around(entry_points))
    assert "is 41 levels deep, but must be at most 40 levels deep. [1.4]" in line


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (Request(image="i.tar"), "image is 'i.tar', but must be an image of a registry"),
        (Request(main_fs="other"), "fs_options.main_fs.name is 'lab', but must be other, as the run says."),
    ],
)
def test_what_a_run_says_is_judged_with_the_document(asked: Request, text: str) -> None:
    found = said(around(STEP), asked)
    assert any(text in line for line in found), found


def test_a_run_may_name_the_run_give_the_image_and_the_main_file_system() -> None:
    text = around("{a: {artifacts: {output: [o]}}}", name=None, docker_env=None, fs_options=None)
    assert len(said(text)) == 3
    result = checked(text, Request(name="other", image="i", main_fs="lab"))
    assert result.findings == []
    assert result.document.name == "other"
    assert result.document.main_fs is not None
    assert result.document.main_fs.name == "lab"
    assert said(around(STEP), Request(main_fs="lab")) == []


def test_a_kept_document_leaves_to_its_runs_what_they_may_give() -> None:
    text = around("{a: {parameters: {n: {type: int}}}}", docker_env=None)
    assert said(text, Request(kept=True)) == []
    assert len(said(text)) == 2


def test_output_artifacts_need_a_main_file_system() -> None:
    text = around("{a: {artifacts: {output: [o]}}, b: {cache: {fs_scope: [{name: x}]}}}", fs_options=None)
    assert said(text) == [
        (
            "entry_points.a.artifacts.output is given, but must be left out without a main file system. "
            "Name it as fs_options.main_fs.name. [Y-14]"
        ),
        "entry_points.b.cache.fs_scope[0].name is 'x', but must be left out. [1.8]",
    ]


def test_the_administrator_sets_limits() -> None:
    text = around("{a: {loop_argument: [1, 2, 3]}}", parallelism="50")
    assert said(text, limits=Limits(parallelism=100, items=3)) == []
    (line,) = said(text, limits=Limits(parallelism=50, items=2))
    assert "loop_argument is a list of 3 items, but must be one of at most 2. [L-8]" in line


def test_a_scope_of_the_whole_document_is_told_once() -> None:
    text = around("{a: {}, b: {}}", cache="{fs_scope: [{name: raw}]}")
    assert len(said(text)) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["a", "{{a.b}}", "{{PF_PARENT.x}}", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["a", "b", "entry_points", "components", "reference", "component", "parameters", "artifacts", "input", "output",
         "deps", "condition", "loop_argument", "name", "type", "default", "cache", "fs_options", "main_fs", "disabled"]
    ), inner, max_size=4),
    max_leaves=40,
)  # fmt: skip


@given(JSON)
def test_no_document_whatsoever_makes_it_fail(value: object) -> None:
    for one in check(value).findings:
        assert one.text()


def test_a_very_deep_value_is_no_danger() -> None:
    value: object = []
    for _level in range(400):
        value = [value]
    found = check({"name": "a", "entry_points": {"a": value}, "x": value})
    assert len(found.errors) == 2
