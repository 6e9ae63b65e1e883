# SPDX-License-Identifier: Apache-2.0
"""Documents as the reference's JSON interface takes them (pipelines.md 7.3)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.workflow import camel
from paddleflow_core.workflow.check import check

from tests.support.workflow import said

DOCUMENT: dict[str, Any] = {
    "name": "demo",
    "description": "for people",
    "dockerEnv": "i",
    "failureOptions": {"strategy": "continue"},
    "fsOptions": {
        "mainFS": {"name": "lab", "subPath": "a"},
        "extraFS": [{"name": "raw", "mountPath": "/raw", "readOnly": True}],
    },
    "cache": {"enable": True, "maxExpiredTime": 60, "fsScope": [{"name": "lab"}]},
    "queue": "q",
    "flavour": "f",
    "jobType": "single",
    "env": {"SHARED": "1", "PF_JOB_FLAVOUR": "other"},
    "entryPoints": {
        "aB": {"command": "x", "parameters": {"someValue": 1}, "queue": "own", "env": {"SHARED": "2"}},
        "dag": {"deps": "aB", "entryPoints": {"inner": {"loopArgument": [1], "extraFS": [{"name": "more"}]}}},
        "again": {"reference": {"component": "part"}},
    },
    "components": {"part": {"docker_env": "j", "env": {"PF_JOB_QUEUE_NAME": "named"}, "jobType": None}},
    "postProcess": {"report": {"command": "x"}},
}


def test_one_is_read_like_any_other() -> None:
    assert said(json.dumps(DOCUMENT)) == []
    document = check(DOCUMENT).document
    assert (document.image, document.strategy, [one.mount_path for one in document.extra_fs]) == (
        "i",
        "continue",
        ["/raw"],
    )
    assert document.main_fs is not None
    assert (document.main_fs.sub_path, document.cache.max_expired_time) == ("a", 60)
    first, dag, again = document.entry_points.values()
    assert first.parameters["someValue"].value == 1
    assert (dag.dag, dag.children["inner"].loop, dag.children["inner"].extra_fs[0].name) == (True, [1], "more")
    assert (again.reference, again.env) == ("part", {})


@pytest.mark.parametrize(
    ("path", "env"),
    [
        (("entry_points", "aB"), {"SHARED": "2", "PF_JOB_QUEUE_NAME": "own"}),
        (("entry_points", "dag", "inner"), {"SHARED": "1", "PF_JOB_QUEUE_NAME": "q"}),
        (("components", "part"), {"SHARED": "1", "PF_JOB_QUEUE_NAME": "named"}),
        (("post_process", "report"), {"SHARED": "1", "PF_JOB_QUEUE_NAME": "q"}),
    ],
)
def test_steps_have_what_is_said_for_all(path: tuple[str, ...], env: dict[str, str]) -> None:
    level, *names = path
    members = getattr(check(DOCUMENT).document, level)
    for name in names[:-1]:
        members = members[name].children
    assert members[names[-1]].env == {"PF_JOB_FLAVOUR": "other", "PF_JOB_TYPE": "single", **env}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"docker_env": "j"}, "dockerEnv is not known here, but must be one of"),
        ({"env": [1]}, "env is not known here"),
        ({"username": "root"}, "username is not known here"),
        ({"entryPoints": []}, "entry_points is missing or empty"),
        ({"entryPoints": {"a": 1}}, "entry_points.a is 1, but must be a mapping, a step or a DAG."),
        ({"entryPoints": {"a": {"env": [1]}}}, "entry_points.a.env is [1], but must be a mapping"),
        ({"entryPoints": {"a": {"extraFS": [1]}}}, "entry_points.a.extra_fs[0] is 1, but must be a mapping"),
        ({"entryPoints": {"a": {"commandLine": "x"}}}, "entry_points.a.command_line is not known here"),
    ],
)
def test_what_is_wrong_is_told_in_the_words_of_the_other_form(change: dict[str, Any], text: str) -> None:
    found = [one.text() for one in check({**DOCUMENT, **change}).errors]
    assert any(line.startswith(text) for line in found), found


def test_a_document_of_the_other_form_is_left_alone() -> None:
    (line,) = said("name: demo\ndocker_env: i\nqueue: q\nentry_points: {a: {}}\n")
    assert line.startswith("queue is not known here")


def test_a_step_without_anything_to_say_has_no_environment() -> None:
    assert camel.plain({"entryPoints": {"a": {"command": "x"}}}) == {"entry_points": {"a": {"command": "x"}}}


@given(
    st.recursive(
        st.none() | st.text(max_size=3), lambda one: st.dictionaries(st.sampled_from(["entryPoints", "env", "a"]), one)
    )
)
def test_no_value_whatsoever_makes_it_fail(value: object) -> None:
    check({"entryPoints": value})


def test_a_very_deep_one_is_no_danger() -> None:
    value: dict[str, Any] = {}
    for _depth in range(500):
        value = {"entryPoints": {"a": value}}
    assert check(value).errors
