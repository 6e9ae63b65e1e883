# SPDX-License-Identifier: Apache-2.0
"""Pipelines, runs and schedules: the modules and the definitions against a real API server, with a controller's part by hand."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.support import modules
from tests.support.binaries import ROOT
from tests.support.control_plane import ControlPlane
from tests.support.kube_api import define
from tests.support.workflow import NESTED, around

KINDS = ("pipelines", "pipelineruns", "pipelineschedules")


@pytest.fixture(scope="module")
def cluster(api: ControlPlane) -> ControlPlane:
    define(api, *(ROOT / f"crds/{kind}.paddleflow.org.yaml" for kind in KINDS))
    return api


@pytest.fixture(scope="module")
def frozen(cluster: ControlPlane) -> str:
    """A run that nothing has happened to."""
    return declare(cluster, run_key="frozen", parameters={"a": 1})


def module(api: ControlPlane, noun: str, check: bool = False, **options: Any) -> dict[str, Any]:
    given = {"kubeconfig": str(api.kubeconfig), "namespace": "default", **options}
    return modules.run(noun, given, check=check, diff=check)


def live(api: ControlPlane, kind: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(api.kubectl("get", kind, name, "-o", "json"))
    return found


def status(api: ControlPlane, kind: str, name: str, **fields: Any) -> None:
    """As a controller writes it."""
    patch = json.dumps({"status": fields})
    api.kubectl("patch", kind, name, "--subresource=status", "--type=merge", f"--patch={patch}")


def patch(api: ControlPlane, kind: str, name: str, spec: dict[str, Any]) -> str:
    """What the API server says against it."""
    return api.try_kubectl("patch", kind, name, "--type=merge", f"--patch={json.dumps({'spec': spec})}").stderr


def declare(api: ControlPlane, **options: Any) -> str:
    """A run; its name."""
    answer = module(api, "pipeline_run", **{"pipeline": {"name": "digits"}, **options})
    assert "failed" not in answer, answer
    name: str = answer["objects"][0]["name"]
    return name


class TestPipeline:
    def test_it_is_declared_once(self, cluster: ControlPlane) -> None:
        first = module(cluster, "pipeline", name="digits", document=NESTED, description="of the week")
        assert [one["action"] for one in first["objects"]] == ["created"], first
        assert live(cluster, "pipeline", "digits")["spec"] == {"document": NESTED, "description": "of the week"}
        again = module(cluster, "pipeline", name="digits", document=NESTED, description="of the week")
        assert not again["changed"]
        changed = module(cluster, "pipeline", name="digits", document=NESTED + "# more\n")
        assert changed["objects"][0]["action"] == "changed"
        assert live(cluster, "pipeline", "digits")["spec"] == {"document": NESTED + "# more\n"}

    def test_a_mapping_is_kept_as_json(self, cluster: ControlPlane) -> None:
        document = {"name": "mapped", "docker_env": "i", "entry_points": {"a": {"command": "echo {{PF_RUN_ID}}"}}}
        assert module(cluster, "pipeline", name="mapped", document=document)["changed"]
        assert json.loads(live(cluster, "pipeline", "mapped")["spec"]["document"]) == document
        assert not module(cluster, "pipeline", name="mapped", document=document)["changed"]

    def test_check_and_diff_write_nothing(self, cluster: ControlPlane) -> None:
        would = module(cluster, "pipeline", check=True, name="would", document=around("{a: {}}", name="would"))
        assert would["objects"][0]["action"] == "created"
        assert "entry_points" in would["diff"][0]["after"]
        assert cluster.try_kubectl("get", "pipeline", "would").returncode

    def test_a_wrong_document_writes_nothing_and_is_told_as_a_whole(self, cluster: ControlPlane) -> None:
        document = around("{a: {comand: x}, b: {deps: c}}", name="wrong")
        answer = module(cluster, "pipeline", name="wrong", document=document)
        assert answer["failed"]
        assert len(answer["problems"]) == 2
        assert "pipeline wrong: document: entry_points.a.comand (line 4) is not known here" in answer["msg"]
        assert "Did you mean command? [Y-2]" in answer["msg"]
        assert cluster.try_kubectl("get", "pipeline", "wrong").returncode

    def test_what_is_worth_a_look_is_a_warning(self, cluster: ControlPlane) -> None:
        answer = module(cluster, "pipeline", name="many", document=around("{a: {}}", name="many", parallelism="99"))
        assert "parallelism is 99, but must be a whole number from 1 to 20. 20 is taken." in json.dumps(
            answer["warnings"]
        )
        assert answer["changed"]

    def test_a_name_that_no_object_can_have_is_kept(self, cluster: ControlPlane) -> None:
        document = around("{a: {}}", name="My_Pipe-Line")
        name = module(cluster, "pipeline", name="My_Pipe-Line", document=document)["objects"][0]["name"]
        assert live(cluster, "pipeline", name)["metadata"]["annotations"]["paddleflow.org/name"] == "My_Pipe-Line"
        gone = module(cluster, "pipeline", name="My_Pipe-Line", state="absent")
        assert gone["objects"][0]["action"] == "deleted"

    def test_versions_that_were_removed_stay_removed(self, cluster: ControlPlane) -> None:
        document = around("{a: {}}", name="versions")
        module(cluster, "pipeline", name="versions", document=document, removed_versions=[1])
        status(cluster, "pipeline", "versions", version=2)
        assert "can only grow" in patch(cluster, "pipeline", "versions", {"removedVersions": []})
        assert "removedVersions can only grow" in patch(cluster, "pipeline", "versions", {"removedVersions": None})
        newest = module(cluster, "pipeline", name="versions", document=document, removed_versions=[1, 2])
        assert "spec.removedVersions must not hold the newest version" in newest["msg"]

    def test_a_document_of_half_a_mebibyte_is_kept_and_compared(self, cluster: ControlPlane) -> None:
        document = around("{a: {}}", name="large") + "# é\n" * 100000
        assert module(cluster, "pipeline", name="large", document=document)["changed"]
        assert not module(cluster, "pipeline", name="large", document=document)["changed"]

    def test_one_that_schedules_use_is_not_removed(self, cluster: ControlPlane) -> None:
        module(cluster, "pipeline", name="used", document=around("{a: {}}", name="used"))
        status(cluster, "pipeline", "used", schedules=["nightly"])
        answer = module(cluster, "pipeline", name="used", state="absent")
        assert answer["failed"]
        assert "Pipeline default/used cannot become absent: it is used by the schedules nightly" in answer["msg"]
        status(cluster, "pipeline", "used", schedules=None)
        assert module(cluster, "pipeline", name="used", state="absent")["changed"]

    def test_a_version_that_a_schedule_names_is_not_removed(self, cluster: ControlPlane) -> None:
        options: dict[str, Any] = {"name": "named", "document": around("{a: {}}", name="named")}
        module(cluster, "pipeline", **options)
        status(cluster, "pipeline", "named", version=3, usedVersions=[2])
        assert (
            "its version 2 is used by a schedule" in module(cluster, "pipeline", **options, removed_versions=[2])["msg"]
        )
        assert module(cluster, "pipeline", **options, removed_versions=[1])["changed"]

    def test_a_file_of_a_file_system_stands_in_its_place(self, cluster: ControlPlane) -> None:
        assert module(cluster, "pipeline", name="filed", file_system="lab")["changed"]
        assert not module(cluster, "pipeline", name="filed", file_system="lab", path="./run.yaml")["changed"]
        said = patch(cluster, "pipeline", "filed", {"document": "x"})
        assert "either document, or fileSystem with the path of a file on it must be given" in said

    def test_waiting_ends_with_the_version_or_the_refusal(self, cluster: ControlPlane) -> None:
        document = around("{a: {}}", name="waits")
        module(cluster, "pipeline", name="waits", document=document)
        condition = {"type": "Ready", "status": "False", "reason": "InvalidPipeline", "message": "no queue"}
        status(cluster, "pipeline", "waits", observedGeneration=1, conditions=[condition])
        answer = module(cluster, "pipeline", name="waits", document=document, wait=True)
        assert "Pipeline default/waits failed: its document was refused: no queue" in answer["msg"]
        ready = [{**condition, "status": "True", "reason": "Kept"}]
        status(cluster, "pipeline", "waits", observedGeneration=1, conditions=ready, version=1)
        answer = module(cluster, "pipeline", name="waits", document=document, wait=True, return_content=True)
        assert answer["objects"][0]["object"]["status"]["version"] == 1

    def test_many_in_one_task(self, cluster: ControlPlane) -> None:
        objects = [{"name": f"bulk-{n}", "document": around("{a: {}}", name=f"bulk-{n}")} for n in range(40)]
        assert len(module(cluster, "pipeline", objects=objects)["objects"]) == 40
        assert not module(cluster, "pipeline", objects=objects)["changed"]
        objects[7]["document"] = around("{a: {deps: b}}", name="bulk-7")
        answer = module(cluster, "pipeline", objects=objects)
        assert answer["msg"].startswith("objects[7]: pipeline bulk-7: document: entry_points.a.deps (line 4) is on 'b'")


class TestRun:
    def test_a_key_makes_the_same_run_each_time(self, cluster: ControlPlane) -> None:
        name = declare(cluster, run_key="2026-01-31", parameters={"make.count": 5, "rate": 0.5, "fast": True, "l": [1]})
        found = live(cluster, "pipelinerun", name)
        assert name.startswith("digits-")
        assert found["metadata"]["annotations"]["paddleflow.org/run-key"] == "2026-01-31"
        assert found["spec"]["parameters"] == {"make.count": "5", "rate": "0.5", "fast": "true", "l": "[1]"}
        assert found["spec"]["cache"] == "declared"
        again = module(
            cluster, "pipeline_run", pipeline={"name": "digits"}, run_key="2026-01-31",
            parameters={"make.count": "5", "rate": "0.5", "fast": "true", "l": "[1]"},
        )  # fmt: skip
        assert [(one["name"], one["action"]) for one in again["objects"]] == [(name, "unchanged")]
        assert declare(cluster, run_key="2026-02-01") != name

    def test_another_request_by_the_same_key_is_refused_by_field(self, cluster: ControlPlane) -> None:
        declare(cluster, run_key="other", image="one")
        options: dict[str, Any] = {"pipeline": {"name": "digits"}, "run_key": "other", "image": "two"}
        answer = module(cluster, "pipeline_run", **options)
        assert answer["failed"]
        assert "image" in answer["msg"]
        assert "cannot be changed" in answer["msg"]
        assert module(cluster, "pipeline_run", recreate=True, **options)["objects"][0]["action"] == "recreated"

    def test_without_a_key_each_is_a_run_of_its_own(self, cluster: ControlPlane) -> None:
        assert declare(cluster) != declare(cluster)
        would = module(cluster, "pipeline_run", check=True, pipeline={"name": "digits"})
        assert would["objects"][0]["action"] == "created"
        assert cluster.try_kubectl("get", "pipelinerun", would["objects"][0]["name"]).returncode

    def test_a_document_names_its_run(self, cluster: ControlPlane) -> None:
        document = around("{a: {}}", name="inline")
        name = declare(cluster, pipeline=None, document=document, run_key="k")
        assert name.startswith("inline-")
        assert live(cluster, "pipelinerun", name)["spec"]["document"] == document

    def test_a_large_document_is_refused_with_the_remedy(self) -> None:
        answer = modules.run("pipeline_run", {"document": around("{a: {}}") + "#" * 70000})
        assert "characters long, but must be text from 1 to 65536" in answer["msg"]
        answer = modules.run("pipeline_run", {"document": around("{a: {}}") + "#é" * 30000})
        assert "Declare it as a pipeline, and give that one's name as pipeline." in answer["msg"]

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({}, "pipeline is missing, but must be the pipeline to run."),
            ({"state": "stopped"}, "name is missing, but must be the name of the run."),
            (
                {"state": "stopped", "name": "r", "image": "i"},
                "image is given, but must be left out where the state is",
            ),
            ({"name": "R_1", "pipeline": {"name": "a"}}, "name is 'R_1', but must be text like"),
            ({"document": "{", "pipeline": {"name": "a"}}, "pipeline is given beside document"),
            (
                {"document": NESTED, "parameters": {"make.maxCount": 1}},
                "parameters: make.maxCount is not known to make",
            ),
        ],
    )
    def test_bad_input_is_refused_before_the_server_is_asked(self, options: dict[str, Any], said: str) -> None:
        answer = modules.run("pipeline_run", {"host": "https://127.0.0.1:9", "api_key": "nobody", **options})
        assert answer["failed"]
        assert said in answer["msg"]

    @pytest.mark.parametrize(
        ("spec", "said"),
        [
            ({}, "one of document, pipeline and path must be given"),
            ({"document": "x", "pipeline": {"name": "a"}}, "one of document, pipeline and path must be given"),
            ({"path": "a"}, "path must come with fileSystem"),
            ({"pipeline": {}}, "spec.pipeline.name: Required value"),
            ({"pipeline": {"name": "a"}, "runKey": "k"}, 'unknown field "spec.runKey"'),
            ({"pipeline": {"name": "a"}, "src": "k"}, 'unknown field "spec.src"'),
            ({"pipeline": {"name": "a"}, "stop": "now"}, "Unsupported value"),
            ({"document": "x" * 65537}, "Too long"),
            ({"pipeline": {"name": "a"}, "parameters": {"a": 1}}, "must be of type string"),
            ({"pipeline": {"name": "a"}, "parameters": {"a b": "1"}}, "names are like ^"),
            ({"pipeline": {"name": "a"}, "retry": {"parameters": {"a.": "1"}}}, "names are like ^"),
        ],
    )
    def test_the_server_refuses_what_is_no_run(self, cluster: ControlPlane, spec: dict[str, Any], said: str) -> None:
        run = {
            "apiVersion": "paddleflow.org/v1alpha1",
            "kind": "PipelineRun",
            "metadata": {"name": "bad"},
            "spec": spec,
        }
        done = cluster.try_kubectl("create", "--validate=strict", "--filename=-", stdin=json.dumps(run))
        assert done.returncode
        assert said in done.stderr

    @pytest.mark.parametrize(
        "spec",
        [
            {"pipeline": {"name": "other"}}, {"pipeline": None, "document": "x"}, {"parameters": {"a": "2"}}, {"image": "i"},
            {"disabled": ["a"]}, {"cache": "none"}, {"owner": "bob"}, {"runName": "x"}, {"fileSystem": "lab"},
            {"retryOf": "x"}, {"schedule": {"name": "s", "time": "2026-01-31T00:00:00Z"}}, {"timeoutSeconds": 5},
            {"onFailure": "continue"}, {"description": "x"}, {"path": "x"},
        ],
    )  # fmt: skip
    def test_what_a_run_does_never_changes(self, cluster: ControlPlane, frozen: str, spec: dict[str, Any]) -> None:
        assert "cannot be changed" in patch(cluster, "pipelinerun", frozen, spec)

    def test_how_long_it_is_kept_may_change(self, cluster: ControlPlane) -> None:
        name = declare(cluster, run_key="kept", ttl_seconds_after_finished=60)
        assert patch(cluster, "pipelinerun", name, {"ttlSecondsAfterFinished": 5}) == ""

    def test_its_name_is_a_label(self, cluster: ControlPlane) -> None:
        spec = {"pipeline": {"name": "a"}}
        run = {
            "apiVersion": "paddleflow.org/v1alpha1",
            "kind": "PipelineRun",
            "metadata": {"name": "a.b"},
            "spec": spec,
        }
        done = cluster.try_kubectl("create", "--filename=-", stdin=json.dumps(run))
        assert "metadata.name must be a name of small letters" in done.stderr


class TestStop:
    def test_a_run_is_stopped_once_and_then_by_force(self, cluster: ControlPlane) -> None:
        name = declare(cluster, run_key="stop")
        would = module(cluster, "pipeline_run", check=True, name=name, state="stopped")
        assert would["objects"][0]["action"] == "stopped"
        assert "stop" not in live(cluster, "pipelinerun", name)["spec"]
        by_key: dict[str, Any] = {"pipeline": {"name": "digits"}, "run_key": "stop", "state": "stopped"}
        assert module(cluster, "pipeline_run", **by_key)["changed"]
        assert live(cluster, "pipelinerun", name)["spec"]["stop"] == "normal"
        assert not module(cluster, "pipeline_run", name=name, state="stopped")["changed"]
        assert module(cluster, "pipeline_run", name=name, state="stopped", force=True)["changed"]
        assert live(cluster, "pipelinerun", name)["spec"]["stop"] == "force"
        assert not module(cluster, "pipeline_run", name=name, state="stopped")["changed"]

    def test_declaring_it_again_takes_nothing_back(self, cluster: ControlPlane) -> None:
        name = declare(cluster, run_key="again")
        module(cluster, "pipeline_run", name=name, state="stopped")
        again = module(cluster, "pipeline_run", pipeline={"name": "digits"}, run_key="again")
        assert [one["action"] for one in again["objects"]] == ["unchanged"]
        assert live(cluster, "pipelinerun", name)["spec"]["stop"] == "normal"

    def test_the_server_holds_a_stop(self, cluster: ControlPlane) -> None:
        name = declare(cluster, run_key="held")
        module(cluster, "pipeline_run", name=name, state="stopped", force=True)
        assert "stop can only change from normal to force" in patch(cluster, "pipelinerun", name, {"stop": "normal"})
        assert "stop cannot be taken back" in patch(cluster, "pipelinerun", name, {"stop": None})
        assert "retry can only be set on a run that has failed" in patch(cluster, "pipelinerun", name, {"retry": {}})

    def test_what_has_ended_is_not_stopped(self, cluster: ControlPlane) -> None:
        name = declare(cluster, run_key="ended")
        status(cluster, "pipelinerun", name, phase="succeeded")
        assert not module(cluster, "pipeline_run", name=name, state="stopped", wait=True)["changed"]
        assert "spec.stop cannot be set on a run that has ended" in patch(
            cluster, "pipelinerun", name, {"stop": "force"}
        )

    def test_what_is_not_there_is_told(self, cluster: ControlPlane) -> None:
        answer = module(cluster, "pipeline_run", name="nowhere", state="stopped")
        assert "PipelineRun default/nowhere is not there and cannot become stopped" in answer["msg"]

    def test_in_check_mode_an_earlier_task_may_only_have_said_that_it_would_make_it(
        self, cluster: ControlPlane
    ) -> None:
        for noun, state in (
            ("pipeline_run", "stopped"),
            ("pipeline_run", "retried"),
            ("pipeline_schedule", "stopped"),
        ):
            would = module(cluster, noun, check=True, name="nowhere", state=state)
            assert [one["action"] for one in would["objects"]] == [state], would
            assert "default/nowhere is not there yet: check mode assumes that" in json.dumps(would["warnings"])

    def test_waiting_ends_with_any_end(self, cluster: ControlPlane) -> None:
        name = declare(cluster, run_key="stopped-wait")
        status(cluster, "pipelinerun", name, phase="terminating")
        late = module(cluster, "pipeline_run", name=name, state="stopped", wait=True, wait_timeout=2)
        assert (
            "its status.phase is 'terminating', and not one of 'succeeded', 'failed', 'terminated', 'skipped'"
            in late["msg"]
        )
        status(cluster, "pipelinerun", name, phase="terminated")
        assert "failed" not in module(cluster, "pipeline_run", name=name, state="stopped", wait=True)


class TestRetry:
    def test_a_failed_run_is_tried_again_once(self, cluster: ControlPlane) -> None:
        name = declare(cluster, run_key="retry")
        early = module(cluster, "pipeline_run", name=name, state="retried")
        assert f"PipelineRun default/{name} cannot become retried: it is not begun: only a run that is" in early["msg"]
        status(cluster, "pipelinerun", name, phase="failed")
        assert module(cluster, "pipeline_run", name=name, state="retried", parameters={"n": 2}, image="i")["changed"]
        assert live(cluster, "pipelinerun", name)["spec"]["retry"] == {"parameters": {"n": "2"}, "image": "i"}
        same = module(cluster, "pipeline_run", name=name, state="retried", parameters={"n": "2"}, image="i")
        assert not same["changed"]
        other = module(cluster, "pipeline_run", name=name, state="retried")
        assert f"it was tried again already, as {name}-retry, with other values" in other["msg"]
        assert "retry cannot be changed" in patch(cluster, "pipelinerun", name, {"retry": {"image": "j"}})
        assert "retry cannot be taken back" in patch(cluster, "pipelinerun", name, {"retry": None})

    def test_waiting_is_about_the_run_that_it_makes(self, cluster: ControlPlane) -> None:
        name = declare(cluster, run_key="retry-wait")
        status(cluster, "pipelinerun", name, phase="terminated")
        late = module(cluster, "pipeline_run", name=name, state="retried", wait=True, wait_timeout=2)
        assert f"PipelineRun default/{name}-retry was not ready after" in late["msg"]
        declare(cluster, name=f"{name}-retry")  # as the controller would
        status(cluster, "pipelinerun", f"{name}-retry", phase="succeeded")
        done = module(cluster, "pipeline_run", name=name, state="retried", wait=True, return_content=True)
        assert done["objects"][0]["object"]["status"]["phase"] == "succeeded"


class TestWait:
    def test_it_ends_when_the_run_has_succeeded(self, cluster: ControlPlane) -> None:
        name = declare(cluster, run_key="good")
        status(cluster, "pipelinerun", name, phase="running")
        # The status is written while the module waits, or just before it begins to; both have to do.
        later = threading.Timer(1.5, status, (cluster, "pipelinerun", name), {"phase": "succeeded"})
        later.start()
        options: dict[str, Any] = {"pipeline": {"name": "digits"}, "run_key": "good", "return_content": True}
        answer = module(cluster, "pipeline_run", wait=True, wait_timeout=60, **options)
        later.join()
        assert answer["objects"][0]["object"]["status"]["phase"] == "succeeded"

    def test_it_fails_at_once_with_the_reason(self, cluster: ControlPlane) -> None:
        name = declare(cluster, run_key="bad")
        status(cluster, "pipelinerun", name, phase="failed", message="entry_points.make: exit code 1")
        options: dict[str, Any] = {"pipeline": {"name": "digits"}, "run_key": "bad"}
        answer = module(cluster, "pipeline_run", wait=True, wait_timeout=600, **options)
        assert answer["failed"]
        assert f"PipelineRun default/{name} failed: it is failed: entry_points.make: exit code 1" in answer["msg"]


class TestAbsent:
    def test_an_active_run_stays(self, cluster: ControlPlane) -> None:
        name = declare(cluster, run_key="active")
        status(cluster, "pipelinerun", name, phase="running")
        answer = module(cluster, "pipeline_run", name=name, state="absent")
        assert f"PipelineRun default/{name} cannot become absent: it is running: stop it first" in answer["msg"]
        status(cluster, "pipelinerun", name, phase="terminated", usedBy=["other"])
        answer = module(cluster, "pipeline_run", name=name, state="absent")
        assert "its results are used by other: remove these first, or give check_cache: false." in answer["msg"]
        by_key: dict[str, Any] = {"pipeline": {"name": "digits"}, "run_key": "active", "state": "absent"}
        assert module(cluster, "pipeline_run", check_cache=False, **by_key)["objects"][0]["action"] == "deleted"
        assert not module(cluster, "pipeline_run", **by_key)["changed"]


class TestSchedule:
    OPTIONS: dict[str, Any] = {"name": "nightly", "pipeline": {"name": "digits"}, "crontab": "30 2 * * *"}  # noqa: RUF012

    def test_it_is_declared_once_and_changed_in_place(self, cluster: ControlPlane) -> None:
        options = {
            **self.OPTIONS,
            "start_time": "2026-01-31 08:00:00",
            "time_zone": "Europe/Berlin",
            "parameters": {"n": 1},
        }
        assert module(cluster, "pipeline_schedule", **options)["objects"][0]["action"] == "created"
        assert live(cluster, "pipelineschedule", "nightly")["spec"]["startTime"] == "2026-01-31T08:00:00Z"
        assert not module(cluster, "pipeline_schedule", **options)["changed"]
        changed = {**options, "crontab": "@hourly", "suspend": True, "pipeline": {"name": "digits", "version": 2}}
        assert module(cluster, "pipeline_schedule", **changed)["objects"][0]["action"] == "changed"
        assert module(cluster, "pipeline_schedule", name="nightly", state="absent")["changed"]

    def test_the_server_knows_the_order_of_times(self, cluster: ControlPlane) -> None:
        module(cluster, "pipeline_schedule", **{**self.OPTIONS, "name": "times", "start_time": "2026-01-31T08:00:00Z"})
        said = patch(cluster, "pipelineschedule", "times", {"endTime": "2026-01-31T08:00:00Z"})
        assert "endTime must be after startTime" in said

    def test_its_owner_stays(self, cluster: ControlPlane) -> None:
        module(cluster, "pipeline_schedule", **{**self.OPTIONS, "name": "owned", "owner": "alice"})
        assert "owner cannot be changed" in patch(cluster, "pipelineschedule", "owned", {"owner": "bob"})

    def test_waiting_is_told_that_it_has_ended(self, cluster: ControlPlane) -> None:
        options = {**self.OPTIONS, "name": "ends", "wait": True}
        module(cluster, "pipeline_schedule", **{**options, "wait": False})
        status(cluster, "pipelineschedule", "ends", phase="success", message="its end has passed")
        answer = module(cluster, "pipeline_schedule", **options)
        assert "PipelineSchedule default/ends failed: it is success: its end has passed" in answer["msg"]
        status(cluster, "pipelineschedule", "ends", phase="running", message=None)
        assert "failed" not in module(cluster, "pipeline_schedule", **options)

    def test_it_is_ended_before_it_is_removed(self, cluster: ControlPlane) -> None:
        module(cluster, "pipeline_schedule", **{**self.OPTIONS, "name": "over"})
        status(cluster, "pipelineschedule", "over", phase="running")
        kept = module(cluster, "pipeline_schedule", name="over", state="absent")
        assert "it is running: stop it first" in kept["msg"]
        assert module(cluster, "pipeline_schedule", name="over", state="stopped")["objects"][0]["action"] == "stopped"
        assert not module(cluster, "pipeline_schedule", name="over", state="stopped")["changed"]
        # Declaring it again takes nothing back, and neither does anybody.
        assert not module(cluster, "pipeline_schedule", **{**self.OPTIONS, "name": "over"})["changed"]
        assert "stop cannot be taken back" in patch(cluster, "pipelineschedule", "over", {"stop": None})
        assert "can only be true" in patch(cluster, "pipelineschedule", "over", {"stop": False})
        status(cluster, "pipelineschedule", "over", phase="terminated")
        assert module(cluster, "pipeline_schedule", name="over", state="absent")["changed"]

    def test_a_rule_that_never_comes_true_is_refused(self) -> None:
        answer = modules.run("pipeline_schedule", {**self.OPTIONS, "crontab": "0 0 31 2 *"})
        assert "pipeline_schedule nightly: crontab is '0 0 31 2 *' (a rule that never comes true" in answer["msg"]


def test_what_people_see(cluster: ControlPlane) -> None:
    name = declare(cluster, run_key="seen")
    status(cluster, "pipelinerun", name, phase="running", progress={"steps": 7, "succeeded": 3, "failed": 0})
    shown = cluster.kubectl("get", "pplrun", name, "--no-headers").split()
    assert shown[:-1] == [name, "digits", "running", "7", "3", "0"]
    module(cluster, "pipeline", name="shown", document=around("{a: {}}", name="shown"), description="why")
    status(cluster, "pipeline", "shown", version=3)
    assert cluster.kubectl("get", "ppl", "shown", "--no-headers").split()[:3] == ["shown", "3", "why"]
