# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a job: each rule, with what is said about it."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from paddleflow_core.model import check, job

from tests.support import jobs

SPEC = job.NOUN["spec"]
SINGLE: dict[str, Any] = {"schedulingPolicy": {"queue": "q"}, "image": "x", "command": "run"}


def dist(framework: str, *members: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "distributed", "framework": framework, **SINGLE, "members": list(members), **more}


def worker(**more: Any) -> dict[str, Any]:
    return {"role": "worker", **more}


MASTER = {"role": "master"}
PADDLE = dist("paddle", worker(replicas=2))
RAY = dist("ray", MASTER, worker())
SPARK = dist("spark", {"role": "driver"}, {"role": "executor"})
ETCD = {"env": {"PADDLE_ELASTIC_SERVER": "etcd:2379"}}
KIND = "paddleflow/job-kind-group-version"


def said(spec: dict[str, Any], given: Any = None, name: str = "a") -> list[str]:
    read, problems = check.read(SPEC, spec)
    return [problem.text() for problem in problems or job.problems(name, read, given)]


GOOD: list[tuple[dict[str, Any], Any]] = [
    (SINGLE, None),
    ({**SINGLE, "fs": {"name": "far/data", "type": "s3"}}, {"mounts": {"far/data": {"id": "fs-x", "type": "s3"}}}),
    ({**SINGLE, "fs": {"id": "fs-x", "type": "s3"}}, {"mounts": {"fs-x": {"id": "fs-x"}}}),  # its claim says no more
    (SINGLE, {"flavours": {}, "mounts": {}, "kinds": [], "queue": {"state": "Open", "max": {}}, "nodes": [{"cpu": 1, "memory": "1Gi"}]}),
    (dist("paddle", worker()), None),  # a Collective job may have one worker [D-136]
    (dist("paddle", {"role": "pworker", "replicas": 2}), None),  # the reference's alias
    (dist("pytorch", worker(replicas=4), minAvailable=2), None),  # elastic [D-151]
    (dist("paddle", worker(replicas=4, minAvailable=2), **ETCD), None),
    (dist("spark", {"role": "driver"}), None),
    ({**SINGLE, "schedulingPolicy": {"queue": "q", "priority": "very_low"}}, None),  # all five, in any case [D-134]
    ({**SINGLE, "flavour": {"name": "flavour2"}}, {"flavours": {}}),
    ({**SINGLE, "flavour": {"name": "mine"}, "limitFlavour": {"name": "other"}}, None),  # not asked yet
    ({**SINGLE, "flavour": {"name": "customFlavour", "cpu": 2}}, {"flavours": {}}),
    ({**SINGLE, "limitFlavour": {"cpu": 2}}, None),
    ({**SINGLE, "limitFlavour": {"name": "NONE"}}, {"flavours": {}}),
    ({**SINGLE, "env": {"PF_MOUNT_PATH": "NONE", "PF_JOB_RESTART_POLICY": "OnFailure"}}, None),
    (dist("ray", dict(MASTER, env={"RAY_JOB_ENTRY_POINT": "run"}), worker(), command=""), None),
    ({**SINGLE, "extensionTemplate": {"apiVersion": "v1", "kind": "Pod"}}, None),
    (dist("aitj", worker()), {"kinds": ["AITrainingJob.kongming.cce.baiudbce.com/v1"]}),
    ({**dist("mpi", MASTER, worker(command="sshd -D")), "fs": {"id": "fs-ada-data", "mountPath": "/data"}}, None),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "given"), GOOD)
def test_a_good_job_has_no_problems(spec: dict[str, Any], given: Any) -> None:
    assert said(spec, given) == []


FORM: list[tuple[dict[str, Any], Any, str]] = [
    # kinds and frameworks
    (dist("mxnet", worker()), None, "framework is 'mxnet', but must be one of standalone, paddle, pytorch,"),  # [D-132]
    ({**SINGLE, "framework": "paddle"}, None, "framework is 'paddle', but must be standalone for kind single. Use kind distributed."),
    ({**SINGLE, "members": [worker()]}, None, "members is given, but must be left out for kind single, which is one pod."),
    ({"kind": "distributed", **SINGLE, "members": [worker()]}, None, "framework is missing, but must be the framework of a distributed job."),
    (dist("paddle"), None, "members is missing, but must be the roles of a distributed job."),
    ({"kind": "distributed", "framework": "ray", **SINGLE}, None, "members is missing, but must be the roles"),
    ({"kind": "workflow", **SINGLE}, None, "extensionTemplate is missing, but must be the workflow's manifest."),
    ({"kind": "workflow", **SINGLE, "framework": "mpi", "members": []}, None, "framework is given, but must be left out for kind workflow."),
    # the queue
    ({"image": "x", "command": "run"}, None, "schedulingPolicy.queue is missing, but must be the queue that the job runs in."),
    (SINGLE, {"queue": {"state": "Closed"}}, "schedulingPolicy.queue is 'q', which is Closed, but must be an open queue."),
    (dist("paddle", worker(schedulingPolicy={"queue": "r"})), None,
     "members[0].schedulingPolicy.queue is 'r', but must be left out, or the job's own, 'q'."),
    # roles
    (dist("paddle", {"role": "pserver"}), None, "members is without a worker, but must be at least one worker for paddle."),
    (dist("mpi", worker()), None, "members is 0 of role master, but must be one of role master for mpi."),
    (dist("ray", MASTER, MASTER, worker()), None, "members is 2 of role master, but must be one of role master for ray."),
    (dist("ray", MASTER), None, "members is without a worker, but must be at least one worker for ray."),
    (dist("spark", {"role": "executor"}), None, "members is 0 of role driver, but must be one of role driver for spark."),
    (dist("spark", worker()), None, "members[0].role is 'worker', but must be one of driver, executor for spark."),
    (dist("standalone", worker(replicas=2)), None, "members is 2 workers, but must be one worker for standalone. Name a framework."),
    # the gang [D-151]
    (dist("paddle", worker(minAvailable=2)), None, "members[0].minAvailable is 2, but must be at most the member's replicas, 1."),
    (dist("pytorch", worker(replicas=3, maxReplicas=2)), None, "members[0].maxReplicas is 2, but must be at least replicas, 3."),
    (dist("pytorch", worker(replicas=2), minAvailable=3), None, "minAvailable is 3, but must be from 2 to 2, by what its members need."),
    (dist("pytorch", worker(replicas=2), minAvailable=0), None, "minAvailable is 0, but must be from 1 to 2"),
    (dist("mpi", MASTER, worker(replicas=2, minAvailable=1)), None,
     "members[1].minAvailable is 1 to 2 with 2 replicas, but must be the replicas: mpi needs all of role worker."),
    (dist("paddle", {"role": "pserver"}, worker(replicas=2, maxReplicas=4), **ETCD), None,
     "members[1].maxReplicas is 2 to 4 with 2 replicas, but must be the replicas: paddle"),
    (dist("paddle", worker(replicas=2), minAvailable=1), None,
     "members[0].env.PADDLE_ELASTIC_SERVER is missing, but must be the host:port of etcd"),
    (dist("pytorch", worker(replicas=2), worker(), minAvailable=2), None,
     "members is 2 of role worker, but must be one, where its replicas may change."),
    # size
    ({**SINGLE, "env": {f"N{n}": "x" * 100_000 for n in range(3)}}, None, "the declaration is 3"),
]  # fmt: skip
TASK: list[tuple[dict[str, Any], Any, str]] = [
    # image and command
    ({"schedulingPolicy": {"queue": "q"}, "command": "run"}, None, "image is missing, but must be the image that the pods run."),
    ({"schedulingPolicy": {"queue": "q"}, "image": "x"}, None, "command is missing, but must be the command that the pods run."),
    (dist("pytorch", MASTER, worker(), command=""), None, "command is missing, but must be the command that the pods run."),
    ({**dist("pytorch", MASTER, worker(), command=""), "extensionTemplate": {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
        "spec": {"tasks": [{"name": name, "template": {"spec": {"containers": [{"command": ["x"]}]}}} for name in ("master", "worker")]}}},
     None, "command is missing, but must be the command: the pod's rank is worked out before it."),
    ({**SPARK, "command": ""}, None, "command is missing, but must be what the driver runs, or PF_JOB_SPARK_MAIN_FILE in env."),
    (jobs.asked("SparkApplication.sparkoperator.k8s.io/v1beta2", SPARK), None, "command is missing, but must be what the driver runs"),
    ({**SPARK, "env": {"PF_JOB_SPARK_MAIN_FILE": "a.py"}}, None,
     "command is given, but must be left out beside the environment's PF_JOB_SPARK_MAIN_FILE."),
    ({**SINGLE, "restartPolicy": "OnFailure", "retryLimit": 1}, None,
     "retryLimit is 1, but must be left out with another restartPolicy than Never."),
    # names [paddlejob 6.5]
    (PADDLE, None, ""),
    # environment [D-141]
    ({**SINGLE, "env": {"PF_JOB_QUEUE_NAME": "other"}}, None,
     "env.PF_JOB_QUEUE_NAME is given, but must be left out. It is written for every pod of the job."),
    (dist("pytorch", MASTER, worker(env={"RANK": "0"})), None, "members[1].env.RANK is given, but must be left out."),
    ({**PADDLE, "env": {"PADDLE_MASTER": "x"}}, None, "env.PADDLE_MASTER is given, but must be left out."),
    ({**SINGLE, "env": {"PF_PADDLE_PARA_JOB": "x", "FLAGS_job_name": "y"}}, None, "env.FLAGS_job_name is given, but must be left out."),
    ({**SINGLE, "env": {"PF_PADDLE_PARA_PRIORITY": "middle"}}, None, "env.PF_PADDLE_PARA_PRIORITY is 'middle', but must be high or low."),
    ({**SINGLE, "env": {"PF_PADDLE_PARA_CONFIG_FILE": "/etc/shadow"}}, None,
     "env.PF_PADDLE_PARA_CONFIG_FILE is '/etc/shadow', but must be a path below /opt/paddle/para/."),
    ({**SINGLE, "env": {"PF_PADDLE_PARA_CONFIG_FILE": "/opt/paddle/para/../../x"}}, None, "env.PF_PADDLE_PARA_CONFIG_FILE is"),
    (dist("paddle", worker(replicas=9000), worker()), None, "members is so many pods that PADDLE_TRAINER_ENDPOINTS has "),
    # labels and annotations that are ours
    ({**SINGLE, "labels": {"owner": "me"}}, None, "labels.owner is given, but must be left out. It is written for every job."),
    (dist("paddle", worker(annotations={"volcano.sh/queue-name": "x"})), None,
     "members[0].annotations.volcano.sh/queue-name is given, but must be left out."),
    # mounts
    ({**SINGLE, "fs": {"mountPath": "/data"}}, None, "fs.name is missing, but must be the file system's name."),
    ({**SINGLE, "fs": {"name": "data", "type": "s3"}}, {"mounts": {"data": {"id": "fs-x", "type": "hdfs"}}},
     "fs.type is 's3', but must be left out, or what it is, hdfs."),
    ({**SINGLE, "fs": {"name": "data"}}, {"mounts": {}}, "fs.name is 'data', but must be a file system that the job's namespace may use."),
    ({**SINGLE, "fs": {"name": "data", "mountPath": "/"}}, None, "fs.mountPath is '/', but must be a directory of its own."),
    ({**SINGLE, "fs": {"name": "data", "mountPath": "//"}}, None, "fs.mountPath is '/', but must be a directory of its own."),
    ({**SINGLE, "fs": {"name": "a", "mountPath": "/data"}, "extraFS": [{"name": "b", "mountPath": "//data"}]}, None,
     "extraFS[0].mountPath is '/data', but must be a directory of its own."),
    ({**SINGLE, "fs": {"name": "data", "mountPath": "/.."}}, None, "fs.mountPath is '/', but must be a directory of its own."),
    ({**SINGLE, "fs": {"name": "data", "mountPath": "."}}, None, "fs.mountPath is '.', but must be text like ^/"),
    ({**SINGLE, "fs": {"name": "data", "hostPath": "/etc"}}, None, "fs.hostPath is not known here, but must be one of id, mountPath,"),
    ({**SINGLE, "fs": {"name": "data"}, "extraFS": [{"name": "data"}]}, None,
     "extraFS[0].mountPath is '/home/paddleflow/storage/mnt/data', but must be a directory of its own."),
    (dist("mpi", MASTER, worker(fs={"name": "x", "mountPath": "/root/.ssh"})), None, "members[1].fs.mountPath is '/root/.ssh', but must be"),
    ({**PADDLE, "fs": {"name": "x", "mountPath": "/etc/volcano"}}, None, "fs.mountPath is '/etc/volcano', but must be"),
    ({**SINGLE, "fs": {"name": "data", "subPath": "a/../.."}}, None, "fs.subPath is 'a/../..', but must be a path inside of the file system."),
    # resources [D-135]
    ({**SINGLE, "flavour": {"name": "huge"}}, {"flavours": {}},
     "flavour.name is 'huge', which does not exist, but must be one of flavour1, flavour2, flavour3, or resources given in place."),
    ({**SINGLE, "flavour": {"name": "huge", "cpu": 1}}, {"flavours": {}}, "flavour.name is 'huge' beside resources, but must be the one or the other."),
    ({**SINGLE, "flavour": {"cpu": 0}}, None, "flavour.cpu is 0, but must be above 0."),
    ({**SINGLE, "flavour": {"scalarResources": {"memory": 1}}}, None, "flavour.scalarResources.memory is given, but must be left out."),
    ({**SINGLE, "flavour": {"cpu": 4}, "limitFlavour": {"cpu": "3500m"}}, None,
     "limitFlavour.cpu is 3500m, but must be at least what is requested, 4."),
    ({**SINGLE, "flavour": {"name": "flavour2"}, "limitFlavour": {"name": "flavour3"}}, {"flavours": {}},
     "limitFlavour.nvidia.com/gpu is 2, but must be the same as what is requested, 1."),
    ({**SINGLE, "env": {"PF_JOB_LIMIT_FLAVOUR": "none such"}}, {"flavours": {}}, "limitFlavour.name is 'none such', which does not exist"),
    (dist("paddle", worker(flavour={"cpu": 2}, limitFlavour={"cpu": 1})), None, "members[0].limitFlavour.cpu is 1, but must be at least"),
    ({**SPARK, "flavour": {"memory": "512Mi"}}, None, "flavour.memory is 512Mi, but must be at least 1Gi for Spark."),
    # Ray
    ({**RAY, "args": ["8080"]}, None, "args[0] is '8080', but must be a start parameter as key:value. What runs is the command."),
    ({**RAY, "env": {"RAY_JOB_RUNTIME_ENV": "{}"}}, None, "env.RAY_JOB_RUNTIME_ENV is '{}', but must be JSON in base64."),
    ({**RAY, "env": {"RAY_JOB_RUNTIME_ENV": base64.b64encode(b"{").decode()}}, None, "env.RAY_JOB_RUNTIME_ENV is"),
    ({**RAY, "env": {"RAY_JOB_ENABLE_AUTOSCALING": "true"}}, None,
     "env.RAY_JOB_ENABLE_AUTOSCALING is true, but must be left out for a Volcano Job. Ask for KubeRay's"),
    ({"kind": "distributed", "framework": "ray", **SINGLE, "env": {"RAY_JOB_ENTRY_POINT": "x"}}, None,
     "env.RAY_JOB_WORKER_REPLICAS is 'missing', but must be a whole number of at least 1."),
    ({"kind": "distributed", "framework": "ray", **SINGLE, "env": {"RAY_JOB_WORKER_REPLICAS": "1", "RAY_JOB_WORKER_MAX_REPLICAS": "0"}}, None,
     "maxReplicas is 0, but must be at least replicas, 1."),
    ({"kind": "distributed", "framework": "ray", **SINGLE, "env": {"RAY_JOB_WORKER_REPLICAS": "1", "RAY_JOB_HEADER_PRIORITY": "top"}}, None,
     "env.RAY_JOB_HEADER_PRIORITY is 'top', but must be one of VERY_LOW"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "given", "text"), FORM + TASK)
def test_what_is_wrong_with_a_job(spec: dict[str, Any], given: Any, text: str) -> None:
    found = said(spec, given)
    assert any(line.startswith(text) for line in found) if text else found == [], found


VOLCANO = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
POD = {"apiVersion": "v1", "kind": "Pod"}
TEMPLATES: list[tuple[dict[str, Any], Any, str]] = [
    ({**SINGLE, "annotations": {KIND: "PyTorchJob.kubeflow.org/v1"}}, None,
     f"annotations.{KIND} is 'PyTorchJob.kubeflow.org/v1', but must be one of Job.batch.volcano.sh/v1alpha1 for standalone."),
    ({**PADDLE, "extensionTemplate": {"apiVersion": "kubeflow.org/v1", "kind": "TFJob"}}, None,
     "extensionTemplate.kind is 'TFJob.kubeflow.org/v1', but must be one of Job.batch.volcano.sh/v1alpha1, PaddleJob.batch"),
    ({"kind": "workflow", "schedulingPolicy": {"queue": "q"}, "extensionTemplate": VOLCANO}, None,
     "extensionTemplate.kind is 'Job.batch.volcano.sh/v1alpha1', but must be one of Workflow.argoproj.io/v1alpha1 for a workflow."),
    ({"kind": "workflow", "schedulingPolicy": {"queue": "q"}, "extensionTemplate": {"spec": {}}}, None,
     "extensionTemplate.kind is 'Job.batch.volcano.sh/v1alpha1', but must be one of Workflow"),
    # an operator that is not there
    (jobs.asked("PaddleJob.kubeflow.org/v1", PADDLE), {"kinds": []},
     f"annotations.{KIND} is 'PaddleJob.kubeflow.org/v1', but must be a kind that the cluster serves. Install its operator, or leave"),
    (dist("aitj", worker()), {"kinds": []}, "framework is 'AITrainingJob.kongming.cce.baiudbce.com/v1', but must be a kind that the"),
    ({**PADDLE, "extensionTemplate": {"apiVersion": "kubeflow.org/v1", "kind": "PaddleJob"}}, {"kinds": []},
     "extensionTemplate.kind is 'PaddleJob.kubeflow.org/v1', but must be a kind that the cluster serves. Install its operator."),
    # the template's kind is the job's
    (jobs.asked("PaddleJob.kubeflow.org/v1", {**PADDLE, "extensionTemplate": VOLCANO}), None,
     "extensionTemplate.kind is 'Job.batch.volcano.sh/v1alpha1', but must be the job's kind, PaddleJob.kubeflow.org/v1."),
    ({"kind": "distributed", "framework": "paddle", **SINGLE, "extensionTemplate": POD}, None,
     "extensionTemplate.kind is Pod, but must be a kind that says the tasks of a job without members."),
    ({**PADDLE, "extensionTemplate": {**VOLCANO, "spec": {"policies": [{"events": "PodFailed"}]}}}, None,
     "extensionTemplate.spec.policies[0].events is 'PodFailed', but must be a list."),
    ({**PADDLE, "extensionTemplate": {**VOLCANO, "spec": {"tasks": [{"name": "driver"}]}}}, None,
     "extensionTemplate.spec.tasks[0].name is 'driver', but must be one of the members', worker."),
    (jobs.asked("PaddleJob.kubeflow.org/v1", dist("paddle", worker(), worker())), None,
     "members is 2 members for Worker, but must be one member for each task of PaddleJob.kubeflow.org/v1."),
    # its form, as far as it is read
    ({**SINGLE, "extensionTemplate": {**POD, "metadata": []}}, None, "extensionTemplate.metadata is [], but must be a mapping."),
    ({**SINGLE, "extensionTemplate": {**POD, "spec": {"containers": {}}}}, None, "extensionTemplate.spec.containers is {}, but must be a list."),
    ({**SINGLE, "extensionTemplate": {**POD, "spec": {"volumes": [{}]}}}, None, "extensionTemplate.spec.volumes[0].name is None, but must be text."),
    ({**SINGLE, "extensionTemplate": {**POD, "spec": {"terminationGracePeriodSeconds": "1"}}}, None,
     "extensionTemplate.spec.terminationGracePeriodSeconds is '1', but must be a whole number."),
    (jobs.asked("PyTorchJob.kubeflow.org/v1", dist("pytorch", worker()), spec={"runPolicy": 1}), None,
     "extensionTemplate.spec.runPolicy is 1, but must be a mapping."),
    (jobs.asked("PaddleJob.batch.paddlepaddle.org/v1", PADDLE, spec={"worker": []}), None, "extensionTemplate.spec.worker is [], but must be a mapping."),
    (jobs.asked("RayJob.ray.io/v1", RAY, spec={"rayClusterSpec": {"workerGroupSpecs": [1]}}), None,
     "extensionTemplate.spec.rayClusterSpec.workerGroupSpecs[0] is 1, but must be a mapping."),
    # what the operator's own engine checks is not checked here
    (jobs.asked("RayJob.ray.io/v1", {**RAY, "image": None}, spec={}), None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "given", "text"), TEMPLATES)
def test_what_is_wrong_with_a_template_or_a_kind(spec: dict[str, Any], given: Any, text: str) -> None:
    found = said(spec, given)
    assert any(line.startswith(text) for line in found) if text else found == [], found


@pytest.mark.parametrize(
    ("name", "spec", "text"),
    [
        (
            "9lives",
            PADDLE,
            "name is '9lives', but must be a name that begins with a letter. It is the name of a Service.",
        ),
        ("a" * 55, PADDLE, f"name is '{'a' * 55}', but must be at most 54 characters with pods like *-worker-1."),
        ("a" * 54, PADDLE, ""),
        ("9" + "a" * 62, SINGLE, ""),  # nobody looks for a single pod by name
    ],
)
def test_the_name_of_a_distributed_job_is_part_of_its_pods_names(name: str, spec: dict[str, Any], text: str) -> None:
    found = said(spec, name=name)
    assert [line.startswith(text) for line in found] == [True] if text else found == []


def test_codes_are_the_references() -> None:
    def codes(spec: dict[str, Any], given: Any = None) -> set[str]:
        return {
            problem.code or job.NOUN["codes"].get(str(problem.path[0]), "")
            for problem in job.problems("a", spec, given)
        }

    assert codes({"image": "x", "command": "x"}) == {"QueueNameNotFound"}
    assert codes({**SINGLE, "flavour": {"name": "huge"}}, {"flavours": {}}) == {"FlavourNotFound"}
    assert codes({**SINGLE, "flavour": {"cpu": 0}}) == {"FlavourInvalidField"}
    assert codes({"kind": "workflow", **SINGLE}) == {"RequiredFieldEmpty"}


@pytest.mark.parametrize(
    ("field", "value", "good"),
    [
        ("port", 65534, True),
        ("port", 65535, False),
        ("displayName", "x" * 512, True),
        ("displayName", "x" * 513, False),
    ],
)
def test_bounds_of_a_job(field: str, value: object, good: bool) -> None:
    problems = check.read(job.NOUN["spec"], {field: value})[1]
    assert [problem.path for problem in problems] == ([] if good else [(field,)])
