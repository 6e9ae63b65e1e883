# SPDX-License-Identifier: Apache-2.0
"""The parts of the verification that need no cluster; tests/cluster runs it on one."""

from __future__ import annotations

import json
import stat
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from paddleflow_verify import checks, demo, objects, sizes
from paddleflow_verify.kubectl import CheckError, Kubectl, again, conditions, events

# --- sizes ---


@pytest.mark.parametrize(
    ("text", "value"), [("2", 2000), ("0.5", 500), ("100m", 100), (1, 1000), ("1500u", 2), ("1n", 1), ("2k", 2000000)]
)
def test_cpu_in_thousandths(text: object, value: int) -> None:
    assert sizes.millicpu(text) == value


def node(name: str, cpu: str, *, ready: str = "True", **spec: Any) -> dict[str, Any]:
    status = {"allocatable": {"cpu": cpu}, "conditions": [{"type": "Ready", "status": ready}]}
    return {"metadata": {"name": name}, "spec": spec, "status": status}


def container(cpu: str = "", **more: Any) -> dict[str, Any]:
    return {"name": "c", **({"resources": {"requests": {"cpu": cpu}}} if cpu else {}), **more}


def pod(where: str, *containers: dict[str, Any], phase: str = "Running", **spec: Any) -> dict[str, Any]:
    return {"spec": {"nodeName": where, "containers": list(containers), **spec}, "status": {"phase": phase}}


def test_what_others_asked_for_is_not_free() -> None:
    nodes = [
        node("a", "2"),
        node("b", "1", taints=[{"effect": "NoSchedule"}]),
        node("c", "1", ready="False"),
        node("d", "1", unschedulable=True),
        node("e", "1", taints=[{"effect": "PreferNoSchedule"}]),
    ]
    steps = [container("900m"), container("100m", restartPolicy="Always")]
    pods = [
        pod("a", container("250m"), container()),
        pod("a", container("100m"), initContainers=steps, overhead={"cpu": "10m"}),
        pod("a", container("1"), phase="Succeeded"),
        pod("e", container("300m")),
        {"spec": {"containers": [container("1")]}, "status": {"phase": "Pending"}},
    ]
    assert sizes.free(nodes, pods) == {"a": 2000 - 250 - 910, "e": 700}


@pytest.mark.parametrize(
    ("left", "size"),
    [({"a": 64000}, 100), ({"a": 400}, 100), ({"a": 399}, 95), ({"a": 150, "b": 250}, 80), ({"a": 40, "b": -500}, 10)],
)
def test_a_trial_fits_what_is_free(left: dict[str, int], size: int) -> None:
    assert sizes.unit(left) == size


def test_too_little_room_is_said() -> None:
    with pytest.raises(sizes.TooSmallError, match=r"not enough free CPU for 4 trial workers of 10m each: a 39m"):
        sizes.unit({"a": 39})
    with pytest.raises(sizes.TooSmallError, match="no node takes pods"):
        sizes.unit({})


# --- objects ---


def test_the_trial_is_bounded_by_its_parent_queue() -> None:
    parent, *children = objects.queues("t", ("a", "b"), 50, objects.DEMO)
    assert parent["spec"]["capability"] == {"cpu": "200m"}
    assert [child["spec"]["parent"] for child in children] == ["t", "t"]
    assert all(child["spec"]["deserved"] == {"cpu": "100m"} for child in children), "together what the parent has"
    assert all(child["spec"]["capability"] == {"cpu": "200m"} for child in children)


def test_trial_pods_keep_to_the_restricted_profile() -> None:
    spec = objects.pod_spec("image", ["true"], 10)
    context = spec["containers"][0]["securityContext"]
    assert context["runAsNonRoot"] is True
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert spec["automountServiceAccountToken"] is False
    assert "resources" not in objects.pod_spec("image", ["true"])["containers"][0]


def test_a_gang_that_meets_is_rigid_and_survives_evictions() -> None:
    job = objects.meeting_job("gang", "ns", "q", "image", 20, 3, 1, "volcano")
    (task,) = job["spec"]["tasks"]
    assert job["spec"]["minAvailable"] == task["replicas"] == task["minAvailable"] == 3
    assert "ttlSecondsAfterFinished" not in job["spec"], "it stays to be looked at"
    assert "policies" not in job["spec"]
    compile(objects.MEETING, "meeting", "exec")
    compile(objects.CLIENT, "client", "exec")


# --- kubectl ---

KUBECTL = f"""\
#!{sys.executable} -IS
import json, pathlib, sys
folder = pathlib.Path(__file__).parent
with open(folder / "calls", "a") as calls:
    calls.write(json.dumps({{"argv": sys.argv[1:], "stdin": "" if sys.stdin.isatty() else sys.stdin.read()}}) + "\\n")
answers = json.loads((folder / "answers.json").read_text())
for key, (code, out, err) in answers.items():
    if all(word in sys.argv for word in key.split()):
        print(out, end=""), print(err, end="", file=sys.stderr)
        sys.exit(code)
sys.exit(0)
"""


class Scripted:
    """A kubectl that answers as a test says: by words of its command line, exit code, output and error."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        program = folder / "kubectl"
        program.write_text(KUBECTL)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.answers({})

    def answers(self, answers: dict[str, tuple[int, str, str]]) -> Kubectl:
        (self.folder / "answers.json").write_text(json.dumps(answers))
        return Kubectl([str(self.folder / "kubectl")], 2)

    def settings(self) -> checks.Settings:
        return checks.Settings([str(self.folder / "kubectl")], "image", timeout=2)

    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]


@pytest.fixture
def scripted(tmp_path: Path) -> Scripted:
    return Scripted(tmp_path)


def test_objects_go_in_on_stdin_and_come_out_as_values(scripted: Scripted) -> None:
    kubectl = scripted.answers({"get pods": (0, '{"items": [{"a": 1}]}', "")})
    assert kubectl.items("pods") == [{"a": 1}]
    assert kubectl.get("nodes") is None
    assert kubectl.items("nodes") == []
    kubectl.apply([objects.namespace("n", objects.DEMO)])
    call = scripted.calls()[-1]
    assert call["argv"][:2] == ["apply", "--server-side"]
    assert json.loads(call["stdin"])["items"][0]["metadata"]["name"] == "n"


def test_a_refusal_is_what_the_server_says(scripted: Scripted) -> None:
    assert scripted.answers({"create": (1, "", "denied\n")}).refusal({}) == "denied"
    assert scripted.answers({}).refusal({}) == ""
    assert "--dry-run=server" in scripted.calls()[-1]["argv"]


def test_a_failure_has_a_reason(scripted: Scripted, tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="no such thing"):
        scripted.answers({"get": (1, "", "no such thing")}).run("get")
    with pytest.raises(CheckError, match="kubectl get ended with 3"):
        scripted.answers({"get": (3, "", "")}).run("get")
    with pytest.raises(CheckError, match="is not there: install first"):
        Kubectl([str(tmp_path / "none")], 1).run("get")


def test_a_wait_that_ends_badly_shows_conditions_and_events(scripted: Scripted) -> None:
    event = {"reason": "Failed", "message": "no image", "involvedObject": {"kind": "Pod", "name": "job-worker-0"}}
    job = {"status": {"state": {"phase": "Pending", "message": ""}, "conditions": [{"status": "Pending"}]}}
    kubectl = scripted.answers(
        {
            "wait": (1, "", "timed out"),
            "get events": (0, json.dumps({"items": [event]}), ""),
            "get job/job": (0, json.dumps(job), ""),
        }
    )
    with pytest.raises(CheckError) as failure:
        kubectl.wait("job/job", "condition=Ready", "ns", timeout=1)
    text = str(failure.value)
    assert "condition=Ready within 1 s: timed out" in text
    assert "phase Pending" in text
    assert "Failed Pod job-worker-0: no image" in text


def test_a_wait_for_what_does_not_appear_ends(scripted: Scripted) -> None:
    kubectl = scripted.answers({"wait": (1, "", "not found"), "get": (1, "", "")})
    with pytest.raises(CheckError, match="not found"):
        kubectl.wait("job/x", "create", timeout=0)


def test_conditions_and_events_are_short() -> None:
    said = {"type": "Ready", "status": "False", "message": "no"}
    assert conditions({"status": {"phase": "Pending", "conditions": [said, {"type": "Quiet"}]}}) == [
        "phase Pending",
        "Ready=False: no",
    ]
    assert conditions({}) == []
    items = [
        {"reason": "R", "message": f"m{i % 2}", "involvedObject": {"kind": "Pod", "name": name}}
        for i in range(4)
        for name in ("a-1", "b")
    ]
    assert events(items, "a") == ["R Pod a-1: m0", "R Pod a-1: m1"]


def test_only_what_passes_by_itself_is_tried_again() -> None:
    tries = []

    def action() -> str:
        tries.append(1)
        if len(tries) < 2:
            raise CheckError("the parent is unknown")
        return "done"

    assert again(action, 5, lambda reason: "parent" in reason) == "done"
    with pytest.raises(CheckError, match="never"):
        again(mock.Mock(side_effect=CheckError("never")), 5, lambda _reason: False)


# --- checks ---


def test_without_an_api_server_there_is_one_row(scripted: Scripted) -> None:
    scripted.answers({"get": (1, "", "connection refused")})
    result = checks.verify(scripted.settings())
    assert result["ok"] is False
    assert [row["name"] for row in result["rows"]] == ["API server"]
    assert "connection refused" in result["table"][0]


def test_everything_is_taken_away_although_a_check_failed(scripted: Scripted) -> None:
    scripted.answers(
        {
            "get --raw=/version": (0, '{"gitVersion": "v1.34.4"}', ""),
            "get nodes": (0, '{"items": []}', ""),
            "wait": (1, "", "timed out"),
            "create": (1, "", "denied by somebody"),
        }
    )
    trial = checks.Trial(scripted.settings())
    rows = {row.name: row for row in checks.run_checks(trial)}
    assert rows["API server"].detail == "ready, v1.34.4"
    assert rows["nodes"].detail == "the cluster has no node"
    assert (
        "was refused, but not by validatequeue.volcano.sh: denied by somebody"
        in rows["webhooks refuse bad input"].detail
    )
    assert "not enough free CPU" in rows["a gang runs as a whole"].detail
    assert rows["nothing left behind"].ok
    deleted = [call["argv"][1:3] for call in scripted.calls() if call["argv"][0] == "delete"]
    assert deleted[-4:] == [
        ["namespace", trial.where],
        [f"queue.scheduling.volcano.sh/{trial.where}-lender", "--ignore-not-found"],
        [f"queue.scheduling.volcano.sh/{trial.where}-borrower", "--ignore-not-found"],
        [f"queue.scheduling.volcano.sh/{trial.where}", "--ignore-not-found"],
    ]


def test_two_runs_have_names_of_their_own(scripted: Scripted) -> None:
    one, other = (checks.Trial(scripted.settings()) for _time in range(2))
    assert one.where != other.where
    for trial in (one, other):
        assert trial.where.startswith("paddleflow-verify-")
        made = [objects.namespace(trial.where, trial.labels), *objects.queues(trial.tree, ("q",), 10, trial.labels)]
        assert {item["metadata"]["labels"][objects.TRIAL] for item in made} == {trial.where}
        assert all(objects.carries(item, objects.VERIFY) for item in made)


def test_only_old_trials_of_ours_are_taken_for_leftovers(scripted: Scripted) -> None:
    def left(name: str, made: datetime) -> dict[str, Any]:
        item = objects.namespace(name, {**objects.VERIFY, objects.TRIAL: name})
        item["metadata"]["creationTimestamp"] = made.strftime("%Y-%m-%dT%H:%M:%SZ")
        return item

    now = datetime.now(UTC)
    limit = timedelta(seconds=checks.LONGEST * scripted.settings().timeout)
    items = [left("old", now - limit - timedelta(minutes=1)), left("running", now)]
    scripted.answers({"get --selector": (0, json.dumps({"items": items}), "")})
    trial = checks.Trial(scripted.settings())
    assert trial.clean_all() == "namespace and queues removed; also old, which an interrupted run left"
    calls = [call["argv"] for call in scripted.calls()]
    deleted = [argv[2] for argv in calls if argv[:2] == ["delete", "namespace"]]
    assert deleted == [trial.where, "old"]
    (listing,) = [argv for argv in calls if "--selector" in argv]
    selector = listing[listing.index("--selector") + 1].split(",")
    assert {f"{name}={value}" for name, value in objects.VERIFY.items()} < set(selector)


def test_webhooks_that_are_replaced_at_this_moment_are_waited_for(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl = scripted.answers({})
    said = ['failed calling webhook "validatequeue.volcano.sh"', "no endpoints available", "validatequeue denied it"]
    monkeypatch.setattr(kubectl, "refusal", mock.Mock(side_effect=said))
    assert checks.refusal(kubectl, {}) == "validatequeue denied it"
    monkeypatch.setattr(checks, "AWAY_SECONDS", 0)
    assert "failed calling" in checks.refusal(mock.Mock(refusal=lambda _item: said[0]), {})
    queue = objects.queue("q", "root", 1, 1, objects.DEMO)
    monkeypatch.setattr(checks, "AWAY_SECONDS", 5)
    applied = mock.Mock(side_effect=[CheckError(said[0]), CheckError(said[1]), None] * 2)
    monkeypatch.setattr(kubectl, "apply", applied)
    checks.submit(kubectl, queue)
    assert applied.call_count == 3
    checks.make_queues(kubectl, [queue])
    assert applied.call_count == 6


def test_bad_input_that_is_accepted_is_a_failure(scripted: Scripted) -> None:
    scripted.answers({})
    with pytest.raises(CheckError, match="a queue entitled to more than its limit was accepted"):
        checks.Trial(scripted.settings()).refusals()


def test_a_node_that_is_not_ready_is_named(scripted: Scripted) -> None:
    bad = node("n1", "1", ready="False")
    bad["status"]["conditions"][0]["message"] = "no network"
    silent = {"metadata": {"name": "n2"}, "status": {}}
    scripted.answers({"get nodes": (0, json.dumps({"items": [bad, silent]}), "")})
    with pytest.raises(CheckError, match="not ready: n1: no network; n2: no report"):
        checks.Trial(scripted.settings()).nodes()


def test_a_pod_that_ends_badly_shows_its_log(scripted: Scripted) -> None:
    ended = {"status": {"containerStatuses": [{"state": {"terminated": {"exitCode": 1}}}]}}
    scripted.answers({"get pod/p": (0, json.dumps(ended), ""), "logs p": (0, "no such name\n", "")})
    with pytest.raises(CheckError, match="pod p ended with 1: no such name"):
        checks.Trial(scripted.settings()).run_pod("p", ["true"])


def test_the_table_keeps_its_columns() -> None:
    rows = [checks.Row("a", True, "fine", 1.25), checks.Row("longer", False, "why\n  more", 12)]
    assert checks.table(rows) == [
        "ok      a          1.2 s  fine",
        "FAILED  longer    12.0 s  why",
        " " * 26 + "more",
    ]


# --- the demonstration ---


def test_the_phase_of_a_job() -> None:
    assert demo.phase(None) == ""
    assert demo.phase({"metadata": {}}) == "Pending"
    assert demo.phase({"status": {"state": {"phase": "Completed"}}}) == "Completed"


def test_a_second_run_shows_what_the_first_did_and_makes_nothing(scripted: Scripted) -> None:
    kept = {"rows": [], "table": ["ok gang"], "log": ["hello"]}
    completed = json.dumps({"status": {"state": {"phase": "Completed"}}})
    there = {
        "get configmap": (0, json.dumps({"data": {"result": json.dumps(kept)}}), ""),
        "get job.batch.volcano.sh/borrower": (0, completed, ""),
        "get job.batch.volcano.sh/gang": (0, completed, ""),
        **{
            f"get queue.scheduling.volcano.sh/{name}": (
                0,
                json.dumps(objects.queue(name, "root", 1, 1, objects.DEMO)),
                "",
            )
            for name in ("demo", "demo-research", "demo-production")
        },
    }
    scripted.answers(there)
    for verb in (demo.demo, demo.preview):
        result = verb(scripted.settings())
        assert (result["changed"], result["ok"], result["log"]) == (False, True, ["hello"])
        assert result["table"] == ["An earlier run made this:", "ok gang"]
    assert {call["argv"][0] for call in scripted.calls()} == {"get"}
    scripted.answers(
        {**there, "get job.batch.volcano.sh/gang": (0, json.dumps({"status": {"state": {"phase": "Running"}}}), "")}
    )
    assert demo.preview(scripted.settings())["changed"] is True


def test_a_preview_without_a_cluster_says_what_would_be_made(tmp_path: Path) -> None:
    result = demo.preview(checks.Settings([str(tmp_path / "none")], "image"))
    assert result["changed"] is True
    assert result["ok"] is True


def test_the_size_of_an_earlier_run_is_kept() -> None:
    assert demo.unit_of(objects.queue("q", "p", 150, 300, objects.DEMO)) == 75


def test_a_job_that_was_lost_is_made_anew_and_one_that_runs_is_left(scripted: Scripted) -> None:
    item = objects.job("gang", "ns", "q", objects.pod_spec("i", ["true"]), 1, 1)
    for phase, verbs, changed in (("Failed", ["get", "delete", "apply"], True), ("Running", ["get"], False)):
        (scripted.folder / "calls").write_text("")
        scripted.answers({"get": (0, json.dumps({"status": {"state": {"phase": phase}}}), "")})
        run = demo.Demo(scripted.settings())
        run.submit(item)
        assert [call["argv"][0] for call in scripted.calls()] == verbs
        assert run.changed is changed


QUEUES = [f"queue.scheduling.volcano.sh/{name}" for name in ("demo", "demo-research", "demo-production")]


@pytest.mark.parametrize(
    ("target", "kind", "remedy"),
    [
        (
            "namespace/paddleflow-demo",
            "Namespace",
            "set verify_demo_namespace to another name, or label it when it is meant for this",
        ),
        *(
            (name, "Queue", "run the playbook install, which is without the demonstration, or remove it")
            for name in QUEUES
        ),
    ],
)
def test_what_a_demonstration_did_not_make_is_left_alone(
    scripted: Scripted, target: str, kind: str, remedy: str
) -> None:
    """Queues of this collection's users carry the label of the manager too."""
    name = target.rpartition("/")[2]
    theirs = {"kind": kind, "metadata": {"name": name, "labels": dict(objects.MANAGED)}, "spec": {}}
    scripted.answers({f"get {target}": (0, json.dumps(theirs), "")})
    for verb in (demo.demo, demo.preview):
        result = verb(scripted.settings())
        (row,) = result["rows"]
        assert (result["ok"], result["changed"], row["name"]) == (False, False, "queues")
        assert row["detail"] == (
            f"{kind} {name} has no label app.kubernetes.io/part-of=paddleflow-demo, so a demonstration did not make it and"
            f" this one must not change it: {remedy}"
        )
    assert {call["argv"][0] for call in scripted.calls()} == {"get"}


def test_a_demonstration_that_fails_says_where(scripted: Scripted) -> None:
    scripted.answers({"get nodes": (0, '{"items": []}', "")})
    result = demo.demo(scripted.settings())
    assert result["ok"] is False
    assert result["rows"][-1]["name"] == "queues"
    assert "not enough free CPU" in result["rows"][-1]["detail"]
