# SPDX-License-Identifier: Apache-2.0
"""Jobs of every framework and form, and the golden files of what becomes of them. `python -m tests.support.jobs` writes these
files anew, to be read in the difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tools.generate import IndentedDumper

GOLDEN = Path(__file__).parents[1] / "unit/core/model/golden"
NAMESPACE = "research"
GIVEN: Any = {
    "flavours": {"gpu": {"cpu": 8, "memory": "32Gi", "scalarResources": {"nvidia.com/gpu": 2}}},
    "mounts": {
        "data": {"id": "fs-ada-data", "claim": "pfs-fs-ada-data-pvc"},
        "scratch": {"id": "fs-ada-scratch", "hostPath": "/srv/scratch"},
    },
    "user": "ada",
}
POLICY = {"queue": "vision"}
# A job of one pod, by the options of its module.
OPTIONS: dict[str, Any] = {
    "framework": "standalone",
    "image": "registry.example.org/run:1",
    "command": "run",
    "flavour": {"cpu": 1},
    "scheduling_policy": POLICY,
}


def distributed(framework: str, *members: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "kind": "distributed",
        "framework": framework,
        "schedulingPolicy": POLICY,
        "image": f"registry.example.org/{framework}:3.5.1",
        "members": list(members),
        **more,
    }


def asked(kind: str, declared: dict[str, Any], **template: Any) -> dict[str, Any]:
    """The same job as another kind of object."""
    name, _dot, api = kind.partition(".")
    found = {**declared, "annotations": {"paddleflow/job-kind-group-version": kind}}
    return {**found, "extensionTemplate": {"apiVersion": api, "kind": name, **template}} if template else found


def templated(spec: dict[str, Any], **tasks: dict[str, Any]) -> dict[str, Any]:
    """With a Volcano Job as its template."""
    template = {"tasks": [{"name": name, "template": pod} for name, pod in tasks.items()]}
    return {
        **spec,
        "extensionTemplate": {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"labels": {"team": "template"}},
            "spec": template,
        },
    }


# Wins for labels, annotations, environment and volumes; what is said of image, resources and command is the member's.
POD: dict[str, Any] = {
    "metadata": {"labels": {"stage": "template"}, "annotations": {"note": "template"}},
    "spec": {
        "serviceAccountName": "trainer",
        "terminationGracePeriodSeconds": 120,
        "tolerations": [{"key": "spot", "operator": "Exists"}],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
        "containers": [
            {
                "name": "train",
                "image": "registry.example.org/leftover:1",
                "command": ["leftover"],
                "args": ["leftover"],
                "env": [{"name": "LEVEL", "value": "template"}, {"name": "PF_JOB_QUEUE_NAME", "value": "stolen"}],
                "resources": {"requests": {"cpu": "64"}},
                "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
            },
            {"name": "sidecar", "image": "registry.example.org/sidecar:1"},
        ],
    },
}
FLAVOUR = {"cpu": 2, "memory": "4Gi"}
TRAIN = {"command": "python train.py", "flavour": FLAVOUR}
PADDLE = "python -m paddle.distributed.launch train.py"
PADDLE_PS = distributed(
    "paddle",
    {"role": "pserver", "replicas": 2, "flavour": FLAVOUR},
    {"role": "worker", "replicas": 2, "flavour": {"name": "gpu"}},
    command=PADDLE,
    fs={"name": "data"},
)
PADDLE_COLLECTIVE = distributed("paddle", {"role": "pworker", "replicas": 2, **TRAIN}, retryLimit=2)
PYTORCH = distributed(
    "pytorch",
    {"role": "master", "flavour": FLAVOUR},
    {"role": "worker", "replicas": 2, "flavour": {"name": "gpu"}, "env": {"LEVEL": "member"}},
    command="torchrun train.py",
    args=["--epochs", "3", "it's"],
    env={"LEVEL": "job", "DEBUG": "1"},
    labels={"stage": "job"},
)
TENSORFLOW = distributed(
    "tensorflow",
    {"role": "pserver", "replicas": 1},
    {"role": "master"},
    {"role": "worker", "replicas": 2},
    {"role": "worker", "replicas": 1, "flavour": {"name": "gpu"}},
    command="python train.py",
)
MPI = distributed(
    "mpi", {"role": "master"}, {"role": "worker", "replicas": 2, "flavour": FLAVOUR}, command="mpirun -n 2 ./solve"
)
RAY = distributed(
    "ray",
    {"role": "master", "command": "python tune.py", "args": ["num-cpus:0", "dashboard-host:'0.0.0.0'"]},
    {
        "role": "worker",
        "replicas": 2,
        "minAvailable": 1,
        "maxReplicas": 4,
        "args": ["block:"],
        "flavour": {"name": "gpu"},
    },
    env={"RAY_JOB_RUNTIME_ENV": "eyJlbnZfdmFycyI6IHsiQSI6ICIxIn19"},
)
SPARK = distributed(
    "spark",
    {
        "role": "driver",
        "flavour": FLAVOUR,
        "env": {
            "PF_JOB_SPARK_MAIN_FILE": "local:///opt/app/count.jar",
            "PF_JOB_SPARK_MAIN_CLASS": "org.example.Count",
            "PF_JOB_SPARK_ARGUMENTS": "--in /data 'two words'",
        },
    },
    {"role": "executor", "replicas": 2, "flavour": {"cpu": "1500m", "memory": "2Gi"}},
    fs={"name": "data", "mountPath": "/data", "readOnly": True},
)
AITJ = distributed("aitj", {"role": "worker", "replicas": 2, "minAvailable": 1, "maxReplicas": 4, **TRAIN})

VOLCANO: dict[str, dict[str, Any]] = {
    "standalone": {
        "displayName": "Nightly evaluation",
        "schedulingPolicy": {"queue": "vision", "priority": "HIGH", "preemptable": False},
        "labels": {"team": "vision"},
        "annotations": {"ticket": "V-7"},
        "flavour": {"name": "flavour2"},
        "fs": {"name": "data", "subPath": "2026/01"},
        "extraFS": [
            {"name": "scratch", "mountPath": "/scratch"},
            {"name": "data", "mountPath": "/all", "readOnly": True},
        ],
        "image": "registry.example.org/eval:1",
        "env": {
            "RATE": "$(PF_JOB_NAMESPACE) costs $$5",
            "PF_PADDLE_PARA_JOB": "eval",
            "PF_PADDLE_PARA_PRIORITY": "high",
        },
        "command": "bash -c 'python eval.py && echo $$'",
        "port": 8080,
        "ttlSeconds": {"succeeded": 600, "failed": 3600},
    },
    "standalone_template": {
        "schedulingPolicy": {"queue": "vision", "requeueOnPreempt": False},
        "image": "registry.example.org/eval:1",
        "command": "python eval.py",
        "env": {"LEVEL": "job", "PF_MOUNT_PATH": "none", "PF_JOB_LIMIT_FLAVOUR": "NONE"},
        "fs": {"name": "data"},
        "extensionTemplate": {"apiVersion": "v1", "kind": "Pod", **POD},
    },
    "standalone_raw": {
        "kind": "distributed",
        "framework": "standalone",
        "schedulingPolicy": POLICY,
        "extensionTemplate": {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "spec": {"minAvailable": 1, "tasks": [{"name": "main", "replicas": 3, "template": POD}]},
        },
    },
    "paddle_ps": PADDLE_PS,
    "paddle_ps_template": templated(PADDLE_PS, pserver=POD),
    "paddle_collective": PADDLE_COLLECTIVE,
    "paddle_collective_template": templated(PADDLE_COLLECTIVE, worker=POD),
    "paddle_collective_groups": distributed(
        "paddle",
        {"role": "worker", "replicas": 2, "flavour": {"name": "gpu"}},
        {"role": "worker", **TRAIN, "schedulingPolicy": {"priority": "LOW"}},
        command=PADDLE,
    ),
    "paddle_elastic": distributed(
        "paddle",
        {"role": "worker", "replicas": 2, "minAvailable": 1, "maxReplicas": 4, **TRAIN},
        env={"PADDLE_ELASTIC_SERVER": "etcd.research:2379"},
    ),
    "pytorch_static": PYTORCH,
    "pytorch_static_template": templated(PYTORCH, master=POD, worker=POD),
    "pytorch_workers": distributed("pytorch", {"role": "worker", "replicas": 2, **TRAIN}),
    "pytorch_elastic": distributed("pytorch", {"role": "worker", "replicas": 3, **TRAIN}, minAvailable=2),
    "tensorflow_ps": TENSORFLOW,
    "tensorflow_workers": distributed("tensorflow", {"role": "worker", "replicas": 2, **TRAIN}),
    "tensorflow_workers_template": templated(
        distributed("tensorflow", {"role": "worker", "replicas": 2, **TRAIN}), worker=POD
    ),
    "mpi": MPI,
    "mpi_template": templated(MPI, master=POD, worker=POD),
    "ray": RAY,
    "ray_template": templated(RAY, master=POD),
    "ray_environment": {
        "kind": "distributed",
        "framework": "ray",
        "schedulingPolicy": POLICY,
        "image": "registry.example.org/ray:2",
        "env": {
            "RAY_JOB_ENTRY_POINT": "python tune.py",
            "RAY_JOB_HEADER_FLAVOUR": "flavour1",
            "RAY_JOB_HEADER_PRIORITY": "high",
            "RAY_JOB_HEADER_PRE_STOP": "ray stop",
            "RAY_JOB_HEADER_START_PARAMS_NUM_CPUS": "0",
            "RAY_JOB_WORKER_FLAVOUR": "gpu",
            "RAY_JOB_WORKER_IMAGE": "registry.example.org/ray-gpu:2",
            "RAY_JOB_WORKER_REPLICAS": "2",
        },
    },
    "spark": SPARK,
    "spark_template": templated(SPARK, driver=POD, executor=POD),
    "spark_local": distributed("spark", {"role": "driver", "command": "spark-submit count.py", "flavour": FLAVOUR}),
}
OPERATORS: dict[str, dict[str, Any]] = {
    "paddlejob_ps": asked("PaddleJob.batch.paddlepaddle.org/v1", PADDLE_PS),
    "paddlejob_ps_template": asked(
        "PaddleJob.batch.paddlepaddle.org/v1", PADDLE_PS, spec={"intranet": "Service", "ps": {"template": POD}}
    ),
    "paddlejob_elastic": asked(
        "PaddleJob.batch.paddlepaddle.org/v1",
        distributed("paddle", {"role": "worker", "replicas": 2, "minAvailable": 1, "maxReplicas": 4, **TRAIN}),
    ),
    "paddlejob_kubeflow": asked("PaddleJob.kubeflow.org/v1", PADDLE_PS),
    "paddlejob_kubeflow_template": asked(
        "PaddleJob.kubeflow.org/v1", PADDLE_PS, spec={"paddleReplicaSpecs": {"Worker": {"template": POD}}}
    ),
    "pytorchjob": asked("PyTorchJob.kubeflow.org/v1", PYTORCH),
    "pytorchjob_elastic": asked(
        "PyTorchJob.kubeflow.org/v1", distributed("pytorch", {"role": "worker", "replicas": 3, **TRAIN}, minAvailable=2)
    ),
    "pytorchjob_template": asked(
        "PyTorchJob.kubeflow.org/v1",
        PYTORCH,
        spec={"pytorchReplicaSpecs": {"Master": {"restartPolicy": "ExitCode", "template": POD}}},
    ),
    "tfjob": asked("TFJob.kubeflow.org/v1", {**TENSORFLOW, "members": TENSORFLOW["members"][:3]}),
    "tfjob_template": asked(
        "TFJob.kubeflow.org/v1",
        {**TENSORFLOW, "members": TENSORFLOW["members"][:3]},
        spec={"tfReplicaSpecs": {"PS": {"template": POD}}},
    ),
    "mpijob": asked("MPIJob.kubeflow.org/v1", MPI),
    "mpijob_template": asked(
        "MPIJob.kubeflow.org/v1", MPI, spec={"slotsPerWorker": 4, "mpiReplicaSpecs": {"Worker": {"template": POD}}}
    ),
    "rayjob": asked("RayJob.ray.io/v1", RAY),
    "rayjob_autoscaling": asked(
        "RayJob.ray.io/v1alpha1",
        {
            **RAY,
            "fs": {"name": "data"},
            "ttlSeconds": {"succeeded": 60, "failed": 600},
            "env": {
                **RAY["env"],
                "RAY_JOB_ENABLE_AUTOSCALING": "true",
                "RAY_JOB_AUTOSCALING_MODE": "Aggressive",
                "RAY_JOB_AUTOSCALING_IDLE_TIMEOUT": "60",
                "RAY_JOB_HEADER_PRE_STOP": "ray stop",
                "RAY_JOB_WORKER_GROUP_NAME": "gpus",
            },
        },
    ),
    "rayjob_template": asked(
        "RayJob.ray.io/v1",
        RAY,
        spec={
            "entrypoint": "leftover",
            "rayClusterSpec": {
                "rayVersion": "2.9.0",
                "headGroupSpec": {"rayStartParams": {"dashboard-host": "127.0.0.1"}, "template": POD},
                "workerGroupSpecs": [{"groupName": "gpus", "template": POD}],
            },
        },
    ),
    "rayjob_environment": asked("RayJob.ray.io/v1", VOLCANO["ray_environment"]),
    "rayjob_raw": {
        "kind": "distributed",
        "framework": "ray",
        "schedulingPolicy": POLICY,
        "extensionTemplate": {
            "apiVersion": "ray.io/v1",
            "kind": "RayJob",
            "spec": {
                "entrypoint": "python tune.py",
                "rayClusterSpec": {"headGroupSpec": {"template": POD}, "workerGroupSpecs": [{"template": POD}]},
            },
        },
    },
    "sparkapplication_python": asked(
        "SparkApplication.sparkoperator.k8s.io/v1beta2",
        distributed(
            "spark",
            {
                "role": "driver",
                "flavour": FLAVOUR,
                "args": ["--in", "/data"],
                "env": {"PF_JOB_SPARK_MAIN_FILE": "local:///a.py"},
            },
            {"role": "executor", "replicas": 2, "flavour": {"name": "gpu"}},
            image="registry.example.org/spark:latest",
        ),
    ),
    "sparkapplication_raw": {
        "kind": "distributed",
        "framework": "spark",
        "schedulingPolicy": {"queue": "vision", "priority": "LOW"},
        "extensionTemplate": {
            "apiVersion": "sparkoperator.k8s.io/v1beta2",
            "kind": "SparkApplication",
            "spec": {"type": "Python", "sparkVersion": "3.5.0", "driver": {"cores": 1}, "executor": {"instances": 1}},
        },
    },
    "sparkapplication": asked("SparkApplication.sparkoperator.k8s.io/v1beta2", SPARK),
    "sparkapplication_template": asked(
        "SparkApplication.sparkoperator.k8s.io/v1beta2",
        SPARK,
        spec={
            "sparkVersion": "3.4.0",
            "volumes": [{"name": "shm", "emptyDir": {}}],
            "driver": {
                "serviceAccount": "count",
                "labels": {"stage": "template"},
                "env": [{"name": "LEVEL", "value": "template"}],
                "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
            },
        },
    ),
    "aitrainingjob": AITJ,
    "aitrainingjob_template": {
        **AITJ,
        "extensionTemplate": {
            "apiVersion": "kongming.cce.baiudbce.com/v1",
            "kind": "AITrainingJob",
            "spec": {
                "faultTolerant": True,
                "replicaSpecs": {"trainer": {"replicaType": "worker", "restartPolicy": "ExitCode", "template": POD}},
            },
        },
    },
    "workflow": {
        "kind": "workflow",
        "schedulingPolicy": POLICY,
        "labels": {"team": "vision"},
        "extensionTemplate": {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Workflow",
            "spec": {"entrypoint": "main", "templates": [{"name": "main", "container": {"image": "x"}}]},
        },
    },
}
CASES = {**VOLCANO, **OPERATORS}
# Stand for the lines of shell that every command runs in, and for the declaration that every object carries.
LAUNCH, DECLARATION = "<launch>", "paddleflow.org/declaration"


def name(case: str) -> str:
    return case.replace("_", "-")


def built(case: str) -> dict[str, Any]:
    """What the model makes of a case."""
    from paddleflow_core.model import check, job

    spec, problems = check.read(job.NOUN["spec"], CASES[case])
    assert problems == []
    assert list(job.problems(name(case), spec, GIVEN)) == []
    (found,) = job.build(name(case), NAMESPACE, spec, GIVEN)
    return found


def golden(case: str) -> dict[str, Any]:
    """What its file says."""
    found: dict[str, Any] = yaml.safe_load((GOLDEN / f"{case}.yaml").read_text(encoding="utf-8"))
    return found


def shown(found: Any) -> Any:
    """As it stands in a file."""
    from paddleflow_core.model.jobs import shell

    if isinstance(found, dict):
        return {key: shown(value) for key, value in found.items() if key != DECLARATION}
    if isinstance(found, list):
        return [shown(value) for value in found]
    return LAUNCH if found == shell.literal(shell.LAUNCH) else found


class Dumper(IndentedDumper):
    """Long text below its key, where it can be read."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 (PyYAML's signature)
        return True


def _text(dumper: Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else ">" if len(text) > 80 else None
    )


Dumper.add_representer(str, _text)


def write() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for path in GOLDEN.glob("*.yaml"):
        path.unlink()
    for case in CASES:
        text = yaml.dump(shown(built(case)), Dumper=Dumper, sort_keys=False, width=150)
        head = "---\n# SPDX-License-Identifier: Apache-2.0\n# `python -m tests.support.jobs` writes it.\n"
        (GOLDEN / f"{case}.yaml").write_text(head + text, encoding="utf-8")


if __name__ == "__main__":
    write()
