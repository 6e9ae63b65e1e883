# SPDX-License-Identifier: Apache-2.0
"""The objects of the trials, as values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Object = dict[str, Any]

MANAGED = {"app.kubernetes.io/managed-by": "paddleflow"}
# More than the manager, which is on the queues of users too: what carries one of these was made here, and only that is
# changed or removed.
VERIFY = {**MANAGED, "app.kubernetes.io/part-of": "paddleflow-verify"}
DEMO = {**MANAGED, "app.kubernetes.io/part-of": "paddleflow-demo"}
# Which trial an object is of.
TRIAL = "app.kubernetes.io/instance"
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "runAsUser": 65532,
    "seccompProfile": {"type": "RuntimeDefault"},
}

# Meets its peers: each worker listens, tries every other one by name until it answers, and stays until every other one has
# come by, for a name may be known here long before it is there. Only workers that run at the same time print the last line.
MEETING = """\
import os, socket, time
job, me, n = os.environ["JOB"], int(os.environ["VC_TASK_INDEX"]), int(os.environ["WORKERS"])
server = socket.create_server(("", 29500))
began, missing = time.monotonic(), {i for i in range(n) if i != me}
while missing and time.monotonic() - began < 90:
    for i in sorted(missing):
        try:
            socket.create_connection((f"{job}-worker-{i}.{job}", 29500), timeout=1).close()
            missing.discard(i)
        except OSError:
            time.sleep(0.1)
if missing:
    raise SystemExit(f"worker {me} of {n} never met {sorted(missing)}")
server.settimeout(90)
for _ in range(n - 1):
    server.accept()[0].close()
print(f"worker {me} of {n}: all {n} workers run together", flush=True)
time.sleep(float(os.environ["SECONDS"]))
"""

# Reads a page from a service by its name. The name and the address may take a moment to be known on the node.
CLIENT = """\
import sys, time, urllib.request
for _ in range(60):
    try:
        print(urllib.request.urlopen(sys.argv[1], timeout=2).status)
        break
    except OSError as error:
        reason = error
        time.sleep(0.5)
else:
    raise SystemExit(f"{sys.argv[1]}: {reason}")
"""


def namespace(name: str, labels: dict[str, str]) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels)}}


def queue(name: str, parent: str, deserved: int, capability: int, labels: dict[str, str]) -> Object:
    """A queue, its CPUs in thousandths."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {
            "parent": parent,
            "weight": 1,
            "reclaimable": True,
            "deserved": {"cpu": f"{deserved}m"},
            "capability": {"cpu": f"{capability}m"},
        },
    }


def queues(name: str, children: Sequence[str], unit: int, labels: dict[str, str]) -> list[Object]:
    """A tree that bounds the trial whatever the cluster's size: each child is entitled to two workers, may borrow all four."""
    parent = queue(name, "root", 4 * unit, 4 * unit, labels)
    return [parent] + [queue(child, name, 2 * unit, 4 * unit, labels) for child in children]


def carries(item: Object, labels: dict[str, str]) -> bool:
    return labels.items() <= (item["metadata"].get("labels") or {}).items()


def pod_spec(image: str, command: Sequence[str], cpu: int = 0, **more: Any) -> Object:
    container: Object = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(command),
        "securityContext": dict(RESTRICTED),
    }
    if cpu:
        container["resources"] = {"requests": {"cpu": f"{cpu}m"}}
    container.update(more)
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
    }


def pod(
    name: str, where: str, spec: Object, labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None
) -> Object:
    metadata: Object = {"name": name, "namespace": where, "labels": {**MANAGED, **(labels or {})}}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def service(name: str, where: str, port: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": where, "labels": dict(MANAGED)},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": port, "protocol": "TCP"}]},
    }


def job(
    name: str,
    where: str,
    in_queue: str,
    spec: Object,
    replicas: int,
    minimum: int,
    scheduler: str = "volcano",
    plugins: dict[str, list[str]] | None = None,
) -> Object:
    """A Volcano Job of like workers. minimum equal to replicas is a rigid gang, less is an elastic job."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": where, "labels": dict(MANAGED)},
        "spec": {
            "schedulerName": scheduler,
            "queue": in_queue,
            "minAvailable": minimum,
            # An eviction counts as a retry.
            "maxRetry": 100,
            "plugins": plugins or {},
            "tasks": [{"name": "worker", "replicas": replicas, "minAvailable": minimum, "template": {"spec": spec}}],
        },
    }


def meeting_job(
    name: str, where: str, in_queue: str, image: str, cpu: int, workers: int, seconds: float, scheduler: str
) -> Object:
    """A rigid gang whose workers prove that they run together."""
    environment = [
        {"name": "JOB", "value": name},
        {"name": "WORKERS", "value": str(workers)},
        {"name": "SECONDS", "value": str(seconds)},
    ]
    spec = pod_spec(image, ["python3", "-c", MEETING], cpu, env=environment)
    plugins: dict[str, list[str]] = {"env": [], "svc": ["--publish-not-ready-addresses", "--disable-network-policy"]}
    return job(name, where, in_queue, spec, workers, workers, scheduler, plugins)
