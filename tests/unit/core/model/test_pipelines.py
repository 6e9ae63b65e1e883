# SPDX-License-Identifier: Apache-2.0
"""Pipelines, their runs and their schedules as declarations (pipelines.md 7)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.model import check, names, own, pipeline, pipeline_run, pipeline_schedule

FILES = {"pipeline": pipeline, "pipeline_run": pipeline_run, "pipeline_schedule": pipeline_schedule}
SCHEDULE = {"pipeline": {"name": "digits"}, "crontab": "@daily"}
LABEL = re.compile(names.LABEL)


def said(file: str, name: str, **spec: Any) -> list[str]:
    noun: Any = FILES[file]
    read, problems = check.read(noun.NOUN["spec"], spec)
    return [problem.text() for problem in problems or noun.problems(name, read)]


def phase(word: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "r", "generation": 1}, "spec": {}, "status": {"phase": word}, **more}


@pytest.mark.parametrize(
    ("file", "spec", "text"),
    [
        ("pipeline", {}, "document is missing, but must be the text of the pipeline, by src too. A file of a file system, by"),
        ("pipeline", {"document": "x", "fsName": "lab"}, "fileSystem is given beside document, but must be left out, or given"),
        ("pipeline", {"document": "x", "path": "a"}, "path is given beside document, but must be left out, or given in the"),
        ("pipeline", {"path": "a"}, "fileSystem is missing, but must be the file system that path is a file of."),
        ("pipeline", {"fileSystem": "lab", "path": "/a"}, "path is '/a', but must be text like"),
        ("pipeline", {"document": 1}, "document is 1, but must be text from"),
        ("pipeline", {"document": "é" * 600000}, "document is 1200000 bytes of UTF-8, but must be at most 1048576 bytes."),
        ("pipeline", {"document": "x" * (2**20 + 1)}, "document is 1048577 characters long, but must be text"),
        ("pipeline", {"document": "x", "description": "y" * 257}, "description is "),
        ("pipeline", {"document": "x", "removedVersions": [0]}, "removedVersions[0] is 0, but must be a whole number"),
        ("pipeline_run", {}, "pipeline is missing, but must be the pipeline to run. A document, by src too, can stand in"),
        ("pipeline_run", {"document": "x", "pipeline": {"name": "a"}}, "pipeline is given beside document, but must be left"),
        ("pipeline_run", {"pipeline": {"name": "a"}, "path": "b", "fileSystem": "c"}, "path is given beside pipeline, but"),
        ("pipeline_run", {"path": "b"}, "fileSystem is missing, but must be the file system that path is a file of."),
        ("pipeline_run", {"pipeline": {"name": "a.b"}}, "pipeline.name is 'a.b', but must be text like"),
        ("pipeline_run", {"pipeline": {"name": "a"}, "force": True}, "force is given, but must be left out unless the state"),
        ("pipeline_run", {"pipeline": {"name": "a"}, "parameters": {"x": {}}}, "parameters.x is {}, but must be text, a number"),
        ("pipeline_run", {"pipeline": {"name": "a"}, "parameters": {"x": None}}, "parameters.x is None, but must be text"),
        ("pipeline_run", {"pipeline": {"name": "a"}, "parameters": {"x-y": 1}}, "parameters.x-y is a name of the wrong form"),
        ("pipeline_run", {"pipeline": {"name": "a"}, "disabled": ["a_b"]}, "disabled[0] is 'a_b', but must be text like"),
        ("pipeline_run", {"pipeline": {"name": "a"}, "cache": "off"}, "cache is 'off', but must be one of declared, all"),
        ("pipeline_schedule", {}, "pipeline is missing, but must be a mapping"),
        ("pipeline_schedule", {**SCHEDULE, "crontab": "0 0 30 2 *"}, "crontab is '0 0 30 2 *' (a rule that never comes true"),
        ("pipeline_schedule", {**SCHEDULE, "crontab": "CRON_TZ=UTC @daily", "timeZone": "UTC"}, "timeZone is given beside a"),
        ("pipeline_schedule", {**SCHEDULE, "startTime": "2026-02-30 00:00:00"}, "startTime is '2026-02-30 00:00:00' (day is"),
        ("pipeline_schedule", {**SCHEDULE, "endTime": "0001-01-01T00:00:00+10:00"}, "endTime is '0001-01-01T00:00:00+10:00' ("),
        ("pipeline_schedule", {**SCHEDULE, "startTime": "tomorrow"}, "startTime is 'tomorrow', but must be a time such as"),
        ("pipeline_schedule", {**SCHEDULE, "startTime": "2026-01-02T00:00:00Z", "endTime": "2026-01-02T01:00:00+01:00"},
         "endTime is '2026-01-02T01:00:00+01:00', but must be after startTime, 2026-01-02T00:00:00Z."),
        ("pipeline_schedule", {**SCHEDULE, "timeZone": "Nowhere/Nope"}, "timeZone is 'Nowhere/Nope', but must be a time zone of"),
        ("pipeline_schedule", {**SCHEDULE, "timeZone": "Local"}, "timeZone is 'Local', but must be a time zone of the IANA"),
        ("pipeline_schedule", {**SCHEDULE, "crontab": "TZ=Local @daily"}, "crontab is of the zone 'Local', but must be a time"),
        ("pipeline_schedule", {**SCHEDULE, "expireInterval": -1}, "expireInterval is -1, but must be a whole number from 0 to"),
        ("pipeline_schedule", {**SCHEDULE, "concurrency": -1}, "concurrency is -1, but must be a whole number from 0 to 1000"),
        ("pipeline_schedule", {**SCHEDULE, "historyLimit": 10001}, "historyLimit is 10001, but must be a whole number from 0"),
        ("pipeline_schedule", {**SCHEDULE, "catchup": "perhaps"}, "catchup is 'perhaps', but must be true or false."),
        ("pipeline_schedule", {**SCHEDULE, "concurrencyPolicy": "forbid"}, "concurrencyPolicy is 'forbid', but must be one of"),
    ],
)  # fmt: skip
def test_what_is_wrong(file: str, spec: dict[str, Any], text: str) -> None:
    found = said(file, "name", **spec)
    assert any(line.startswith(text) for line in found), found


@pytest.mark.parametrize(
    ("file", "spec"),
    [
        ("pipeline", {"document": {"name": "a"}, "desc": "d", "owner": "alice", "removedVersions": ["1"]}),
        ("pipeline", {"fileSystem": "lab"}),
        ("pipeline", {"fileSystem": "lab", "path": "a/b.yaml"}),
        ("pipeline_run", {"fsName": "lab", "dockerEnv": "i", "failureStrategy": "continue"}),
        ("pipeline_schedule", {**SCHEDULE, "timeZone": "Europe/Berlin", "expireInterval": 0, "historyLimit": 0}),
        # As a playbook has it that is run again when all is over.
        ("pipeline_schedule", {**SCHEDULE, "endTime": "2001-01-01 00:00:00"}),
        ("pipeline_run", {"pipeline": {"name": "a", "version": 1}, "fileSystem": "lab", "disabled": ["a.b-c"]}),
        ("pipeline_schedule", {**SCHEDULE, "startTime": "2026-01-31 08:00:00", "endTime": "2026-02-01t00:00:00z"}),
        ("pipeline_schedule", {**SCHEDULE, "crontab": "CRON_TZ=UTC @every 5m", "timezone": None}),
    ],
)
def test_what_is_right(file: str, spec: dict[str, Any]) -> None:
    assert said(file, "name", **spec) == []


def test_values_and_documents_are_kept_as_text() -> None:
    spec, problems = check.read(
        pipeline_run.NOUN["spec"],
        {"document": {"name": "a", "n": 1.0}, "parameters": {"a": 1e6, "b": True, "c": [1, "x"], "d": "1", "e.f": 0.5}},
    )
    assert problems == []
    assert spec["document"] == '{"name":"a","n":1}'
    assert spec["parameters"] == {"a": "1000000", "b": "true", "c": '[1,"x"]', "d": "1", "e.f": "0.5"}


def test_what_stands_beside_an_object_is_no_part_of_it() -> None:
    spec = {"document": "x", "src": "a.yaml", "runKey": "k", "checkCache": False, "force": False, "image": "i"}
    (built,) = pipeline_run.build("r", "team", spec)
    assert built["spec"] == {"document": "x", "image": "i"}
    assert built["metadata"]["annotations"] == {"paddleflow.org/run-key": "k"}
    assert pipeline_run.build("r", "team", pipeline_run.declared(built)) == [built]
    (pipe,) = pipeline.build("Some_Pipe", "team", {"document": "x", "src": "y"})
    assert pipe["spec"] == {"document": "x"}
    assert own.name_of(pipe) == "Some_Pipe"
    assert pipeline.build("Some_Pipe", "team", pipeline.declared(pipe)) == [pipe]


def test_a_run_from_a_file_system_has_a_file() -> None:
    (built,) = pipeline_run.build("r", "team", {"fileSystem": "lab"})
    assert built["spec"] == {"fileSystem": "lab", "path": "./run.yaml"}
    assert pipeline_run.declared(built) == built["spec"]


def test_times_without_an_offset_are_in_utc() -> None:
    times = {"startTime": "2026-01-31 08:00:00", "endTime": "2026-01-31T09:00:00.5+02:00"}
    (built,) = pipeline_schedule.build("s", "team", {**SCHEDULE, **times})
    assert built["spec"]["startTime"] == "2026-01-31T08:00:00Z"
    assert built["spec"]["endTime"] == "2026-01-31T07:00:00Z"
    assert pipeline_schedule.build("s", "team", pipeline_schedule.declared(built)) == [built]


@given(st.text(min_size=1), st.text(min_size=1), st.text())
def test_a_key_makes_one_name_and_another_key_another(one: str, other: str, unique: str) -> None:
    spec = {"pipeline": {"name": "some-pipeline_of-30_characters_and-more"}}
    name = pipeline_run.identity("", {**spec, "runKey": one}, unique)
    assert LABEL.fullmatch(name)
    assert len(name) <= 41
    assert name == pipeline_run.identity("", {**spec, "runKey": one}, "x")
    assert (name == pipeline_run.identity("", {**spec, "runKey": other}, unique)) == (one == other)


def test_where_a_name_comes_from() -> None:
    assert pipeline_run.identity("given", {"runKey": "k"}, "u") == "given"
    assert pipeline_run.identity("", {"runName": "a", "pipeline": {"name": "b"}}, "u", "c").startswith("a-")
    assert pipeline_run.identity("", {"pipeline": {"name": "b"}}, "u", "c").startswith("b-")
    assert pipeline_run.identity("", {}, "u", "c").startswith("c-")
    assert pipeline_run.identity("", {}, "u").startswith("run-")
    assert pipeline_run.identity("", {}, "u") != pipeline_run.identity("", {}, "v")


def test_two_pairs_of_pipeline_and_key_are_never_one_run() -> None:
    first = pipeline_run.identity("", {"pipeline": {"name": "a-b"}, "runKey": "c"}, "")
    assert first != pipeline_run.identity("", {"pipeline": {"name": "a"}, "runKey": "b-c"}, "")


@pytest.mark.parametrize(
    ("state", "name", "spec", "text"),
    [
        (
            "stopped",
            "",
            {},
            "name is missing, but must be the name of the run. Its runKey with what names it will do too.",
        ),
        ("absent", "", {"pipeline": {"name": "a"}}, "name is missing"),
        (
            "stopped",
            "r",
            {"parameters": {"a": "1"}},
            "parameters is given, but must be left out where the state is stopped.",
        ),
        ("retried", "r", {"force": True}, "force is given, but must be left out where the state is retried."),
    ],
)
def test_what_is_wrong_with_another_state(state: str, name: str, spec: dict[str, Any], text: str) -> None:
    (problem,) = pipeline_run.state_problems(state, name, spec)
    assert problem.text().startswith(text)


@pytest.mark.parametrize(
    ("state", "name", "spec"),
    [
        ("absent", "r", {"pipeline": {"name": "a"}, "force": True}),
        ("stopped", "r", {"force": True, "checkCache": True}),
        ("stopped", "", {"runKey": "k", "pipeline": {"name": "a"}, "parameters": {"a": "1"}}),
        ("retried", "r", {"parameters": {"a": "1"}, "image": "i"}),
    ],
)
def test_what_another_state_may_come_with(state: str, name: str, spec: dict[str, Any]) -> None:
    assert list(pipeline_run.state_problems(state, name, spec)) == []


def test_what_a_state_changes() -> None:
    assert pipeline_run.change("stopped", "r", "n", {}) == {
        "apiVersion": "paddleflow.org/v1alpha1",
        "kind": "PipelineRun",
        "metadata": {"name": "r", "namespace": "n"},
        "spec": {"stop": "normal"},
    }
    assert pipeline_run.change("stopped", "r", "n", {"force": True})["spec"] == {"stop": "force"}
    assert pipeline_run.change("retried", "r", "n", {})["spec"] == {"retry": {}}
    spec = {"parameters": {"a": "1"}, "image": "i", "runKey": "k"}
    assert pipeline_run.change("retried", "r", "n", spec)["spec"]["retry"] == {"parameters": {"a": "1"}, "image": "i"}


@pytest.mark.parametrize(
    ("state", "found", "spec", "verdict"),
    [
        ("present", phase("running"), {}, None),
        ("absent", phase(""), {}, None),
        ("absent", phase("failed"), {}, None),
        ("absent", phase("running"), {}, "it is running: stop it first, by the state stopped and wait"),
        ("absent", phase("failed", status={"phase": "failed", "usedBy": ["a", "b"]}), {}, "its results are used by a, b: remove"),
        ("absent", phase("failed", status={"phase": "failed", "usedBy": ["a"]}), {"checkCache": False}, None),
        ("stopped", phase("running"), {}, None),
        ("stopped", phase("succeeded"), {}, ""),
        ("stopped", phase("terminating", spec={"stop": "normal"}), {}, ""),
        ("stopped", phase("terminating", spec={"stop": "normal"}), {"force": True}, None),
        ("stopped", phase("terminating", spec={"stop": "force"}), {}, ""),
        ("retried", phase("failed"), {}, None),
        ("retried", phase("terminated"), {}, None),
        ("retried", phase("succeeded"), {}, "it is succeeded: only a run that is failed or terminated can be tried again"),
        ("retried", phase(""), {}, "it is not begun: only"),
        ("retried", phase("failed", spec={"retry": {}}), {}, ""),
        ("retried", phase("failed", spec={"retry": {}}), {"image": "i"}, "it was tried again already, as r-retry, with other"),
        ("retried", phase("failed", spec={"retry": {}}, status={"retriedBy": "q"}), {"image": "i"}, "it was tried again already, as q"),
    ],
)  # fmt: skip
def test_whether_a_live_run_can_come_into_a_state(
    state: str, found: dict[str, Any], spec: dict[str, Any], verdict: str | None
) -> None:
    answer = pipeline_run.judge(state, found, spec)
    assert answer == verdict or (verdict and answer and answer.startswith(verdict))


def test_a_pipeline_that_schedules_use_stays() -> None:
    used = {"status": {"schedules": ["nightly", "hourly"]}}
    assert pipeline.judge("present", used, {}) is None
    assert pipeline.judge("absent", {}, {}) is None
    assert pipeline.judge("absent", used, {}) == (
        "it is used by the schedules nightly, hourly: remove or suspend them first"
    )


def test_a_version_that_a_schedule_uses_stays() -> None:
    used = {"spec": {"removedVersions": [1]}, "status": {"usedVersions": [1, 2], "schedules": ["nightly"]}}
    assert pipeline.judge("present", used, {"removedVersions": [1, 3]}) is None
    assert pipeline.judge("present", used, {"removedVersions": [1, 2]}) == (
        "its version 2 is used by a schedule, and cannot be removed: change or stop the schedule first"
    )


def test_a_file_of_a_file_system_has_a_name() -> None:
    (built,) = pipeline.build("p", "team", {"fileSystem": "lab"})
    assert built["spec"] == {"fileSystem": "lab", "path": "./run.yaml"}
    assert pipeline.build("p", "team", pipeline.declared(built)) == [built]


@pytest.mark.parametrize(
    ("state", "found", "verdict"),
    [
        ("present", phase("running"), None),
        ("stopped", phase("running"), None),
        ("stopped", phase("running", spec={"stop": True}), ""),
        ("stopped", phase("terminated"), ""),
        ("stopped", phase("success"), ""),
        ("absent", phase("running"), "it is running: stop it first, by the state stopped and wait"),
        ("absent", phase("terminated"), None),
        ("absent", {}, None),
    ],
)
def test_whether_a_live_schedule_can_come_into_a_state(state: str, found: dict[str, Any], verdict: str | None) -> None:
    assert pipeline_schedule.judge(state, found, {}) == verdict


def test_a_schedule_is_stopped_by_its_name_alone() -> None:
    changed = pipeline_schedule.change("stopped", "Every_Night", "team", {})
    (built,) = pipeline_schedule.build("Every_Night", "team", SCHEDULE)
    assert changed["spec"] == {"stop": True}
    assert changed["metadata"] == {"name": built["metadata"]["name"], "namespace": "team"}
    assert list(pipeline_schedule.state_problems("stopped", "s", {})) == []
    assert list(pipeline_schedule.state_problems("absent", "s", SCHEDULE)) == []
    texts = [one.text() for one in pipeline_schedule.state_problems("stopped", "s", {"suspend": True})]
    assert texts == [
        "suspend is given, but must be left out where the state is stopped. A schedule that is there already is named alone."
    ]


@pytest.mark.parametrize(
    ("noun", "name", "good"),
    [
        ("pipeline", "a" * 128, True), ("pipeline", "a" * 129, False), ("pipeline", "_a-1", True), ("pipeline", "1a", False),
        ("pipeline_schedule", "ab", True), ("pipeline_schedule", "a", False), ("pipeline_schedule", "a" * 50, True),
        ("pipeline_schedule", "a" * 51, False), ("pipeline_schedule", "a_-1", True), ("pipeline_schedule", "1a", False),
        ("pipeline_run", "a-1", True), ("pipeline_run", "A", False), ("pipeline_run", "a" * 64, False),
    ],
)  # fmt: skip
def test_the_forms_of_names(noun: str, name: str, good: bool) -> None:
    _read, problems = check.read({"name": FILES[noun].NOUN["name"]}, {"name": name})
    assert (problems == []) is good


@pytest.mark.parametrize(
    ("field", "default"),
    [("concurrency", 0), ("concurrencyPolicy", "suspend"), ("expireInterval", 0), ("catchup", False)],
)
def test_what_a_schedule_does_when_nothing_is_said(field: str, default: object) -> None:
    assert pipeline_schedule.NOUN["spec"][field]["default"] == default


def test_what_a_wait_is_about() -> None:
    assert pipeline_run.awaited("present", "r") == "r"
    assert pipeline_run.awaited("retried", "r") == "r-retry"
    assert len(pipeline_run.awaited("retried", "r" * 63)) <= 63
    assert set(pipeline_run.NOUN["ready"]["stopped"]["values"]) > {"succeeded"}


@pytest.mark.parametrize(
    ("state", "found", "why"),
    [
        ("present", phase("running"), ""),
        ("present", phase("succeeded"), ""),
        ("present", {}, ""),
        ("stopped", phase("failed"), ""),
        (
            "present",
            phase("failed", status={"phase": "failed", "message": "step a: exit code 1"}),
            "it is failed: step a",
        ),
        ("retried", phase("terminated"), "it is terminated: no reason is given"),
    ],
)
def test_when_a_run_can_no_longer_succeed(state: str, found: dict[str, Any], why: str) -> None:
    answer = pipeline_run.failed(state, found)
    assert answer.startswith(why)
    assert bool(answer) == bool(why)


def test_when_a_schedule_has_ended() -> None:
    assert pipeline_schedule.failed("present", phase("running")) == ""
    assert pipeline_schedule.failed("present", {}) == ""
    assert pipeline_schedule.failed("present", phase("success")) == "it is success: no reason is given"
    assert pipeline_schedule.failed("stopped", phase("terminated")) == ""


def test_when_a_document_was_refused() -> None:
    bad = {"type": "Ready", "status": "False", "reason": "InvalidPipeline", "message": "no entry points"}
    found = {"metadata": {"generation": 2}, "status": {"observedGeneration": 2, "conditions": [bad]}}
    assert pipeline.failed("present", found) == "its document was refused: no entry points"
    assert pipeline.failed("present", {**found, "metadata": {"generation": 3}}) == ""
    assert pipeline.failed("present", {**found, "status": {"observedGeneration": 2}}) == ""
