# SPDX-License-Identifier: Apache-2.0
"""What is put into every pod of a job, and what its engine is told."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from paddleflow_core.model import check, job
from paddleflow_core.model.jobs import paddle, pods, ray, ray_env, spark

from tests.support import jobs

SPEC = job.NOUN["spec"]
SINGLE: dict[str, Any] = {"schedulingPolicy": {"queue": "q"}, "image": "x", "command": "run"}


def built(spec: dict[str, Any], **given: Any) -> dict[str, Any]:
    read, problems = check.read(SPEC, spec)
    assert [*problems, *job.problems("a", read, given)] == []  # type: ignore[arg-type]
    (found,) = job.build("a", "team", read, given)  # type: ignore[arg-type]
    body: dict[str, Any] = found["spec"]
    return body


def pod(spec: dict[str, Any], number: int = 0, **given: Any) -> dict[str, Any]:
    found: dict[str, Any] = built(spec, **given)["tasks"][number]["template"]["spec"]
    return found


def environment(spec: dict[str, Any], number: int = 0, **given: Any) -> dict[str, str]:
    entries = pod(spec, number, **given)["containers"][0]["env"]
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in entries}


def resources(spec: dict[str, Any]) -> tuple[dict[str, str], dict[str, str] | None]:
    found = pod({**SINGLE, **spec}, flavours={"mine": {"cpu": 4, "memory": "8Gi"}})["containers"][0]["resources"]
    return found["requests"], found.get("limits")


@pytest.mark.parametrize(
    ("spec", "requests", "limits"),
    [
        ({}, {"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}),
        ({"flavour": {"name": "customFlavour", "mem": "2Gi"}}, {"cpu": "1", "memory": "2Gi"}, {"cpu": "1", "memory": "2Gi"}),
        ({"flavour": {"name": "mine"}}, {"cpu": "4", "memory": "8Gi"}, {"cpu": "4", "memory": "8Gi"}),
        # the field itself works [D-135], and so does the reference's variable
        ({"limitFlavour": {"cpu": 2}}, {"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "1Gi"}),
        ({"limitFlavour": {"name": "mine"}}, {"cpu": "1", "memory": "1Gi"}, {"cpu": "4", "memory": "8Gi"}),
        ({"env": {"PF_JOB_LIMIT_FLAVOUR": "mine"}}, {"cpu": "1", "memory": "1Gi"}, {"cpu": "4", "memory": "8Gi"}),
        ({"env": {"PF_JOB_LIMIT_FLAVOUR": "NONE"}}, {"cpu": "1", "memory": "1Gi"}, None),
        # devices and huge pages are never overcommitted
        ({"limitFlavour": {"name": "NONE"}, "flavour": {"scalarResources": {"nvidia.com/gpu": 1, "hugepages-2Mi": "4Mi"}}},
         {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1", "hugepages-2Mi": "4Mi"}, {"nvidia.com/gpu": "1", "hugepages-2Mi": "4Mi"}),
    ],
)  # fmt: skip
def test_requests_and_limits(spec: dict[str, Any], requests: dict[str, str], limits: dict[str, str] | None) -> None:
    assert resources(spec) == (requests, limits)


@pytest.mark.parametrize(
    ("spec", "policy"),
    [
        ({}, "Never"),
        ({"env": {"PF_JOB_RESTART_POLICY": "onfailure"}}, "OnFailure"),
        ({"env": {"PF_JOB_RESTART_POLICY": "Always"}}, "Always"),
        ({"env": {"PF_JOB_RESTART_POLICY": "sometimes"}}, "Never"),
        ({"restartPolicy": "Always", "env": {"PF_JOB_RESTART_POLICY": "OnFailure"}}, "Always"),
    ],
)
def test_restart_policy(spec: dict[str, Any], policy: str) -> None:
    assert pod({**SINGLE, **spec})["restartPolicy"] == policy


def test_a_members_maps_are_merged_with_the_jobs_and_win() -> None:
    """[D-133]"""
    spec = jobs.distributed(
        "paddle",
        {"role": "worker", "labels": {"a": "member"}, "annotations": {"n": "member"}, "env": {"E": "member"}, **jobs.TRAIN},
        labels={"a": "job", "b": "job"}, annotations={"n": "job", "o": "job"}, env={"E": "job", "F": "job"},
    )  # fmt: skip
    metadata = built(spec)["tasks"][0]["template"]["metadata"]
    assert {"a": "member", "b": "job"}.items() <= metadata["labels"].items()
    assert {"n": "member", "o": "job"}.items() <= metadata["annotations"].items()
    assert {"E": "member", "F": "job"}.items() <= environment(spec).items()


def test_members_share_the_jobs_file_system_and_may_have_their_own() -> None:
    """The reference mounts only what a member says itself."""
    spec = jobs.distributed(
        "paddle", {"role": "pserver"}, {"role": "worker", "fs": {"name": "other"}}, command="run", fs={"name": "data"}
    )
    claims = [pod(spec, n)["volumes"][0]["persistentVolumeClaim"]["claimName"] for n in (0, 1)]
    assert claims == ["pfs-data-pvc", "pfs-other-pvc"]


def test_what_the_file_system_allows_counts() -> None:
    given: dict[str, Any] = {
        "mounts": {"Big_Data": {"id": "fs-ada-Big_Data", "readOnly": True}, "fs-x": {"hostPath": "/srv"}}
    }
    found = pod({**SINGLE, "fs": {"name": "Big_Data"}, "extraFS": [{"id": "fs-x"}]}, **given)
    first, second = found["containers"][0]["volumeMounts"]
    assert first == {
        "name": found["volumes"][0]["name"], "mountPath": "/home/paddleflow/storage/mnt/fs-ada-Big_Data",
        "mountPropagation": "HostToContainer", "readOnly": True,
    }  # fmt: skip
    assert second["mountPath"] == "/home/paddleflow/storage/mnt/fs-x"
    assert [volume["name"] for volume in found["volumes"]] == [first["name"], "fs-fs-x"]
    assert found["volumes"][1]["hostPath"] == {"path": "/srv"}
    # A name that no object can have becomes one.
    assert found["volumes"][0]["persistentVolumeClaim"]["claimName"].startswith("pfs-fs-ada-big-data-")


def test_the_nodes_of_the_queue_are_tolerated() -> None:
    """A queue that owns nodes keeps others off them by a taint."""
    found = pod(SINGLE, queue={"nodeGroup": "a100"})
    assert found["tolerations"] == [
        {"key": pods.NODE_GROUP, "operator": "Equal", "value": "a100", "effect": "NoSchedule"}
    ]
    spec = {**SINGLE, "extensionTemplate": {"apiVersion": "v1", "kind": "Pod", **jobs.POD}}
    assert [entry["key"] for entry in pod(spec, queue={"nodeGroup": "a100"})["tolerations"]] == [
        pods.NODE_GROUP,
        "spot",
    ]
    application = jobs.asked(
        "SparkApplication.sparkoperator.k8s.io/v1beta2", jobs.SPARK, spec={"driver": {"tolerations": [{"key": "spot"}]}}
    )
    driver = built(application, queue={"nodeGroup": "a100"})["driver"]
    assert [entry["key"] for entry in driver["tolerations"]] == [pods.NODE_GROUP, "spot"]


def test_only_another_scheduler_is_told_where_the_data_is() -> None:
    mounts = {"data": {"totalBytes": 2**30, "cached": {"n1": 2**30}}}
    spec = {**SINGLE, "fs": {"name": "data"}}
    assert "affinity" not in pod(spec, mounts=mounts)
    other = {**spec, "schedulingPolicy": {"queue": "q", "schedulerName": "default-scheduler"}}
    found = pod(other, mounts=mounts)
    assert (found["schedulerName"], built(other)["schedulerName"]) == ("default-scheduler", "default-scheduler")
    (term,) = found["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert (term["weight"], term["preference"]["matchExpressions"][0]["values"]) == (100, ["n1"])
    assert "affinity" not in pod(other)


def test_a_member_of_another_priority_says_so() -> None:
    spec = jobs.distributed(
        "mpi",
        {"role": "master", "schedulingPolicy": {"priority": "HIGH"}},
        {"role": "worker"},
        command="run",
        schedulingPolicy={"queue": "vision", "priority": "LOW"},
    )
    found = built(spec)
    assert found["priorityClassName"] == "low"
    classes = [task["template"]["spec"].get("priorityClassName") for task in found["tasks"]]
    assert classes == ["high", None]  # None follows the job's, which may change


def test_a_templates_priority_is_not_taken() -> None:
    template = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    task = {"name": "a", "template": {"spec": {"priorityClassName": "system-node-critical", "schedulerName": "mine"}}}
    raw = {
        "kind": "distributed", "framework": "standalone", "schedulingPolicy": jobs.POLICY,
        "extensionTemplate": {**template, "spec": {"tasks": [task]}},
    }  # fmt: skip
    assert pod(raw) == {"schedulerName": "volcano"}


@pytest.mark.parametrize(
    ("spec", "policies"),
    [
        # one pod: its failure is the job's
        (SINGLE, [("PodEvicted", "RestartJob"), (143, "RestartJob")]),
        ({**SINGLE, "schedulingPolicy": {"queue": "q", "requeueOnPreempt": False}}, [("PodEvicted", "AbortJob"), (143, "AbortJob")]),
        # a gang that loses a pod starts anew; an eviction is no failure, and a failure no eviction
        (jobs.PADDLE_COLLECTIVE, [("PodEvicted", "RestartJob"), (143, "RestartJob"), ("PodFailed", "TerminateJob")]),
        # one that is resized loses pods all the time
        (jobs.VOLCANO["pytorch_elastic"], None),
    ],
)  # fmt: skip
def test_what_the_engine_does_with_lost_and_failed_pods(spec: dict[str, Any], policies: Any) -> None:
    found = built(spec)
    shown = [(policy.get("event", policy.get("exitCode")), policy["action"]) for policy in found.get("policies", ())]
    assert (shown or None) == policies
    assert found["maxRetry"] == 100000


@pytest.mark.parametrize(
    ("case", "leading", "timeout"),
    [
        ("paddle_ps", "worker", None),
        ("pytorch_static", "master", "30s"),
        ("tensorflow_ps", "master", "30s"),
        ("mpi", "master", None),
        ("ray", "master", None),
        ("spark", "driver", None),
    ],
)
def test_the_end_of_the_leading_task_is_the_jobs(case: str, leading: str, timeout: str | None) -> None:
    found = [
        (task["name"], policy.get("timeout"))
        for task in jobs.built(case)["spec"]["tasks"]
        for policy in task.get("policies", ())
        if policy.get("event") == "TaskCompleted"
    ]
    assert found == [(leading, timeout)]


def test_where_several_lead_enough_of_them_have_to_succeed() -> None:
    spec = jobs.distributed(
        "paddle",
        {"role": "pserver"},
        {"role": "worker", "replicas": 2},
        {"role": "worker", "replicas": 3},
        command="run",
    )
    found = built(spec)
    assert found["minSuccess"] == 5
    assert all("policies" not in task for task in found["tasks"])
    assert "minSuccess" not in jobs.built("paddle_collective_groups")["spec"]


def test_only_the_plugins_that_do_nothing_else() -> None:
    for case in jobs.VOLCANO:
        plugins = jobs.built(case)["spec"].get("plugins", {})
        assert plugins.get("svc", []) in ([], ["--publish-not-ready-addresses", "--disable-network-policy"])
        assert set(plugins) <= {"svc", "ssh"}
        assert ("ssh" in plugins) == case.startswith("mpi")


def test_how_long_an_ended_job_stays() -> None:
    """Volcano has one number for both ends."""
    assert built({**SINGLE, "ttlSeconds": {"succeeded": 5, "failed": 3}})["ttlSecondsAfterFinished"] == 5
    assert "ttlSecondsAfterFinished" not in built({**SINGLE, "ttlSeconds": {"succeeded": 5, "pending": 1}})


def test_topology_is_passed_on() -> None:
    spec = {**SINGLE, "schedulingPolicy": {"queue": "q", "networkTopology": {"highestTierAllowed": 1}}}
    assert built(spec)["networkTopology"] == {"mode": "hard", "highestTierAllowed": 1}


def test_the_port_of_who_leads_is_where_the_others_look() -> None:
    def with_port(framework: str, *roles: str) -> dict[str, Any]:
        members = [{"role": role, "port": 7000 + number} for number, role in enumerate(roles)]
        return jobs.distributed(framework, *members, command="run")

    assert environment(with_port("paddle", "pserver", "worker"))["PADDLE_PORT"] == "7001"
    assert environment(with_port("pytorch", "master", "worker"), 1)["MASTER_PORT"] == "7000"
    assert "-worker-0.a:7000" in environment(with_port("tensorflow", "worker"))["TF_CONFIG"]
    assert environment(with_port("ray", "worker", "master"), 1)["RAY_ADDRESS"] == "127.0.0.1:7001"
    assert environment(with_port("spark", "driver", "executor"))["MASTER"] == "spark://a-driver-0.a:7000"


def test_ranks_go_on_in_the_next_member() -> None:
    """Worked out by a shell from the index that Volcano gives a pod inside of its task."""
    spec = jobs.distributed(
        "tensorflow", {"role": "worker", "replicas": 2}, {"role": "worker", "replicas": 2}, command='echo "$TF_CONFIG"'
    )
    words = pod(spec, 1)["containers"][0]["command"]
    done = subprocess.run(
        ["sh", "-c", words[3]], env={"PF_TASK_INDEX": "1"}, check=True, capture_output=True, text=True
    )
    assert json.loads(done.stdout)["task"] == {"type": "worker", "index": 3}
    spec = jobs.distributed(
        "paddle", {"role": "worker", "replicas": 3}, {"role": "worker"}, command="echo $PADDLE_TRAINER_ID"
    )
    words = pod(spec, 1)["containers"][0]["command"]
    done = subprocess.run(
        ["sh", "-c", words[3]], env={"PF_TASK_INDEX": "0"}, check=True, capture_output=True, text=True
    )
    assert done.stdout == "3\n"


def test_a_server_of_paddle_finds_itself_in_the_list() -> None:
    """A server binds POD_IP:PADDLE_PORT and looks that text up, so both have to be those of the list [paddlejob 3.4]."""
    found = environment(jobs.PADDLE_PS, **jobs.GIVEN)
    own = found["POD_IP"].replace("$(POD_NAME)", "a-pserver-1") + ":" + found["PADDLE_PORT"]
    assert own in found["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
    first = environment(jobs.PADDLE_COLLECTIVE)
    assert first["PADDLE_MASTER"] == first["POD_IP"].replace("$(POD_NAME)", "a-worker-0") + f":{paddle.PORT}"


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["num-cpus:0", "--block:true", "include-dashboard:true"], "--num-cpus=0 --include-dashboard=true"),
        (["disable-usage-stats:false", "resources:'{\"a\": 1}'"], "--resources={\"a\": 1}"),
        (["address:elsewhere:1"], ""),
    ],
)  # fmt: skip
def test_rays_start_parameters(args: list[str], line: str) -> None:
    spec = jobs.distributed("ray", {"role": "master", "command": "run"}, {"role": "worker", "args": args})
    words = pod(spec, 1)["containers"][0]["command"][3]
    for part in line.split(" --"):
        assert part.lstrip("-") in words
    assert words.count("--block") == 1
    assert "elsewhere" not in words
    assert ("--disable-usage-stats" in words) == ("disable-usage-stats:false" not in args)


def test_ray_has_no_runtime_environment_unless_one_is_given() -> None:
    assert ray.runtime_env({}) is None
    assert ray_env.members({"OTHER": "x"}) == []


def test_spark_takes_whole_cores_and_leaves_room_beside_the_heap() -> None:
    from paddleflow_core.model.jobs import objects

    spec = jobs.distributed("spark", {"role": "driver", "command": "x", "flavour": {"cpu": "500m", "memory": "20Gi"}})
    this = objects.job("a", "", spec, {})
    assert spark.cores(this, this.tasks[0]) == 1
    assert spark.heap(this, this.tasks[0]) == 20480 - 2048 - 256


def test_an_argument_is_never_lost() -> None:
    """[D-140]: for every framework that runs the user's command, with and without a template, as every kind."""
    for case, spec in jobs.CASES.items():
        framework = spec.get("framework")
        if framework in (None, "ray") or case.startswith("spark") or "members" not in spec:
            continue
        marked = {
            **spec,
            "args": ["--marked"],
            "members": [{**m, "command": m.get("command", spec.get("command"))} for m in spec["members"]],
        }
        read, _problems = check.read(SPEC, marked)
        (found,) = job.build(jobs.name(case), "team", read, jobs.GIVEN)
        text = json.dumps({**found, "metadata": {}})
        assert "--marked" in text, case
        lead = next(m["command"] for m in marked["members"] if m["command"])
        assert lead.split()[0] in text, case


def test_an_image_may_be_the_templates() -> None:
    template = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "main", "image": "theirs"}]}}
    spec = {"schedulingPolicy": {"queue": "q"}, "command": "run", "extensionTemplate": template}
    assert pod(spec)["containers"][0]["image"] == "theirs"


def test_an_open_quote_in_sparks_arguments_is_one_argument() -> None:
    assert spark.arguments({"env": {spark.ARGUMENTS: "it's"}}) == ["it's"]


@pytest.mark.parametrize(
    ("env", "options"),
    [
        ({}, None),
        ({"RAY_JOB_AUTOSCALING_IDLE_TIMEOUT": "soon"}, None),
        ({"RAY_JOB_AUTOSCALING_IDLE_TIMEOUT": "9"}, {"idleTimeoutSeconds": 9}),
    ],
)
def test_kuberay_scales_when_it_is_asked_to(env: dict[str, str], options: Any) -> None:
    spec = jobs.asked("RayJob.ray.io/v1", {**jobs.RAY, "env": {"RAY_JOB_ENABLE_AUTOSCALING": "True", **env}})
    cluster = built(spec, **jobs.GIVEN)["rayClusterSpec"]
    assert (cluster["enableInTreeAutoscaling"], cluster.get("autoscalerOptions")) == (True, options)


def test_a_spark_application_may_have_its_main_file_in_a_template() -> None:
    driver = {"role": "driver", "command": "unused"}
    spec = jobs.asked(
        "SparkApplication.sparkoperator.k8s.io/v1beta2",
        jobs.distributed("spark", driver, image=None),
        spec={"image": "theirs"},
    )
    found = built(spec)
    assert found["image"] == "theirs"
    assert "mainApplicationFile" not in found


def test_what_a_template_says_of_a_task_stays() -> None:
    own = {"event": "TaskCompleted", "action": "RestartTask"}
    worker = {
        "name": "worker",
        "dependsOn": {"name": ["master"]},
        "maxRetry": 7,
        "topologyPolicy": "best-effort",
        "policies": [{"events": ["PodFailed"], "action": "RestartTask"}],
        "replicas": 9,  # a member's
    }
    tasks = [{"name": "master", "policies": [own]}, worker]
    template = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    body: dict[str, Any] = {
        "tasks": tasks,
        "maxRetry": 5,
        "plugins": {"env": [], "svc": ["--mine"]},
        "policies": [{"exitCode": 143, "action": "AbortJob"}, {"event": "PodEvicted", "action": "AbortJob"}],
    }
    spec = {**jobs.PYTORCH, "extensionTemplate": {**template, "spec": body}}
    built = job.build("j", "n", spec, jobs.GIVEN)[0]["spec"]
    master, found = built["tasks"]
    assert master["policies"] == [own]
    assert {name: found[name] for name in worker if name != "replicas"} == {
        name: value for name, value in worker.items() if name != "replicas"
    }
    assert found["replicas"] == 2
    assert found["template"]["spec"]["containers"][0]["image"] == jobs.PYTORCH["image"]
    assert built["maxRetry"] == 5
    assert built["plugins"] == {"svc": ["--mine"], "env": []}
    assert built["policies"] == [*body["policies"], {"event": "PodFailed", "action": "TerminateJob"}]
    alone = [{"event": "*", "action": "AbortJob"}]
    spec["extensionTemplate"]["spec"] = {"policies": alone}
    assert job.build("j", "n", spec, jobs.GIVEN)[0]["spec"]["policies"] == alone
