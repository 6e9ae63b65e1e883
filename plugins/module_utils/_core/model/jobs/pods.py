# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A task's pod: the same for every kind of object that it may become a part of."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from ..names import slug
from . import shell, tasks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypedDict

    from .tasks import Job, Task

    class Extra(TypedDict, total=False):
        """What a framework adds to a task."""

        env: Sequence[dict[str, Any]]
        # Environment that the user's wins over.
        defaults: Mapping[str, str]
        # Shell that runs before the command, ending in a separator.
        before: str
        # Instead of a command that the task has none of.
        command: str
        args: Sequence[str]
        preStop: str


MOUNTS = "/home/paddleflow/storage/mnt"
VOLCANO = "volcano"
GRACE = 30
# Of the grace period, for the container's end itself.
MARGIN = 5
NODE_GROUP = "paddleflow.org/node-group"
PARA_FOLDER = "/opt/paddle/para/"
PARA_PRIORITIES = {"high": "0", "0": "0", "low": "1", "1": "1", "": "1"}
_PARA_FILE = f"{PARA_FOLDER}gpu_config.json"

# Annotations that say something to the builder, not to a pod.
CONTROL = "paddleflow/"
# Labels of every pod and object.
IDENTITY = ("owner", "paddleflow-job-id", "paddleflow-job-framework", "volcano.sh/queue-name")
# Written for every pod; a user's value for one of them is refused [D-141].
RESERVED_ENV = (
    "PF_JOB_TYPE",
    "PF_JOB_QUEUE_NAME",
    "PF_JOB_NAMESPACE",
    "PF_USER_NAME",
    "PF_JOB_MODE",
    "PF_JOB_FRAMEWORK",
    "PF_JOB_FLAVOUR",
    "PF_WORK_DIR",
    "PF_TASK_INDEX",
)


def template(job: Job, task: Task, extra: Extra, grace: int = GRACE) -> dict[str, Any]:
    """The pod template, still without what a user's template says (`templates.lay`)."""
    spec = task.spec
    annotations, para = _para(spec["env"])
    container: dict[str, Any] = {"name": container_name(job), "env": _env(job, task, extra, para)}
    if "image" in spec:
        container["image"] = spec["image"]
    text = command(task, extra)
    if text:
        retries = spec.get("retryLimit", 0) if restart_policy(spec) == "Never" else 0
        composed = shell.compose(
            directory(job, task), extra.get("before", ""), text, extra.get("args", spec.get("args", ()))
        )
        container["command"] = shell.launch(composed, retries, max(grace - MARGIN, 1))
    known = tasks.flavours(job.given)
    asked = tasks.requests(spec, known)
    container["resources"] = {"requests": asked}
    limited = tasks.limits(spec, known)
    if limited:
        container["resources"]["limits"] = limited
    if spec.get("port"):
        container["ports"] = [{"containerPort": spec["port"]}]
    # The end of the log says why, where nothing else does.
    container["terminationMessagePolicy"] = "FallbackToLogsOnError"
    if "preStop" in extra:
        container["lifecycle"] = {"preStop": {"exec": {"command": ["sh", "-c", shell.literal(extra["preStop"])]}}}
    volumes, mounted = _volumes(job, task)
    if para:
        volumes.append({"name": "paddle-para-conf-volume", "hostPath": {"path": PARA_FOLDER, "type": "Directory"}})
        mounted.append({"name": "paddle-para-conf-volume", "mountPath": PARA_FOLDER, "readOnly": True})
    pod: dict[str, Any] = {
        "restartPolicy": restart_policy(spec),
        "schedulerName": scheduler(job),
        "terminationGracePeriodSeconds": grace,
    }
    if spec["priority"] != tasks.priority(job.spec):
        pod["priorityClassName"] = tasks.PRIORITIES[spec["priority"]]
    group = job.given.get("queue", {}).get("nodeGroup")
    if group:
        pod["tolerations"] = [{"key": NODE_GROUP, "operator": "Equal", "value": group, "effect": "NoSchedule"}]
    if scheduler(job) != VOLCANO:
        from . import affinity

        terms = affinity.terms(known for _key, _mount, known, _path in mounts(job, spec))
        if terms:
            pod["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    if mounted:
        container["volumeMounts"] = mounted
        pod["volumes"] = volumes
    pod["containers"] = [container]
    return {
        "metadata": {
            "labels": {**spec["labels"], **identity(job)},
            "annotations": {
                **{key: text for key, text in spec["annotations"].items() if not key.startswith(CONTROL)},
                **annotations,
                **queue_annotations(job),
            },
        },
        "spec": pod,
    }


def identity(job: Job) -> dict[str, str]:
    """What marks a pod as the job's; nobody else's value for these labels is taken."""
    values = ("paddleflow", job.name, tasks.framework(job.spec), tasks.queue(job.spec))
    return dict(zip(IDENTITY, values, strict=True))


def queue_annotations(job: Job) -> dict[str, str]:
    queue = tasks.queue(job.spec)
    return {"volcano.sh/queue-name": queue, "scheduling.volcano.sh/queue-name": queue}


def container_name(job: Job) -> str:
    """The operators look for their container by this name."""
    framework = tasks.framework(job.spec)
    return "main" if framework == "standalone" else framework


def scheduler(job: Job) -> str:
    name: str = job.spec.get("schedulingPolicy", {}).get("schedulerName", VOLCANO)
    return name


def restart_policy(spec: Mapping[str, Any]) -> str:
    """The field, or the reference's environment variable."""
    by_name = spec.get("env", {}).get("PF_JOB_RESTART_POLICY", "Never")
    known = {"always": "Always", "onfailure": "OnFailure"}
    stated: str = spec.get("restartPolicy", known.get(by_name.lower(), "Never"))
    return stated


def command(task: Task, extra: Extra) -> str:
    text: str = task.spec.get("command", "")
    return text or extra.get("command", "")


def mounts(job: Job, spec: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], tasks.Mount, str]]:
    """Each mount of a task: the file system's name, what is declared, what is known of it, and where it is mounted."""
    known = job.given.get("mounts", {})
    for mount in [*([spec["fs"]] if "fs" in spec else []), *spec.get("extraFS", ())]:
        key = named(mount)
        found = known.get(key, {})
        path = mount.get("mountPath") or f"{MOUNTS}/{found.get('id') or mount.get('id') or key}"
        # Two slashes at the beginning are one, but for POSIX, which keeps them.
        yield key, mount, found, posixpath.normpath(f"/{path.lstrip('/')}" if path.startswith("/") else path)


def named(mount: Mapping[str, Any]) -> str:
    """What a mount is told from others by: the file system's name, with its namespace where that is another, or its identifier."""
    key: str = mount.get("name") or mount.get("id", "")
    return key


def claim(identity: str) -> str:
    """The claim of a file system, by its identifier: one in each namespace that may use it."""
    return f"pfs-{slug(identity)}-pvc"


def workdir(job: Job, task: Task) -> str:
    """Where the first file system is."""
    return next((path for _key, _mount, _found, path in mounts(job, task.spec)), "")


def directory(job: Job, task: Task) -> str:
    """Where the command runs; nothing when the image's own directory is wanted."""
    unwanted = task.spec.get("env", {}).get("PF_MOUNT_PATH", "").upper() == "NONE"
    return "" if unwanted else workdir(job, task)


def _volumes(job: Job, task: Task) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    volumes: dict[str, dict[str, Any]] = {}
    mounted = []
    for key, mount, found, path in mounts(job, task.spec):
        volume = f"fs-{slug(key, 60)}"
        if "hostPath" in found:
            source: dict[str, Any] = {"hostPath": {"path": found["hostPath"]}}
        else:
            known = found.get("claim") or claim(found.get("id") or mount.get("id") or key)
            source = {"persistentVolumeClaim": {"claimName": known}}
        volumes[volume] = {"name": volume, **source}
        entry: dict[str, Any] = {"name": volume, "mountPath": path, "mountPropagation": "HostToContainer"}
        if mount.get("subPath"):
            entry["subPath"] = mount["subPath"]
        if mount.get("readOnly") or found.get("readOnly"):
            entry["readOnly"] = True
        mounted.append(entry)
    return list(volumes.values()), mounted


def _env(job: Job, task: Task, extra: Extra, para: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ours first, so that a user's value may refer to it; then the user's; then the framework's, which may refer to both."""
    spec = task.spec
    values = {
        "PF_JOB_TYPE": job.spec.get("kind", "single"),
        "PF_JOB_QUEUE_NAME": tasks.queue(job.spec),
        "PF_JOB_NAMESPACE": job.namespace,
        "PF_USER_NAME": job.given.get("user", ""),
        "PF_JOB_MODE": tasks.mode(job.spec, job.tasks),
        "PF_JOB_FRAMEWORK": tasks.framework(job.spec),
        "PF_JOB_FLAVOUR": tasks.named(spec.get("flavour", {})) or "customFlavour",
        "PF_WORK_DIR": workdir(job, task),
    }
    ours = [{"name": name, "value": value} for name, value in values.items() if value]
    if tasks.kind(job.spec) == tasks.VOLCANO:
        ours.append(field("PF_TASK_INDEX", "metadata.annotations['volcano.sh/task-index']"))
    users = {**extra.get("defaults", {}), **spec.get("env", {})}
    theirs = [{"name": name, "value": shell.literal(value)} for name, value in users.items()]
    return [*ours, *theirs, *extra.get("env", ()), *para]


def field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _para(env: Mapping[str, str]) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Annotations and environment of a job that shares accelerators by paddle-para."""
    if "PF_PADDLE_PARA_JOB" not in env:
        return {}, []
    name = env["PF_PADDLE_PARA_JOB"]
    annotations = {
        "paddle-para/job-name": name,
        "paddle-para/priority": PARA_PRIORITIES[env.get("PF_PADDLE_PARA_PRIORITY", "").lower()],
    }
    return annotations, [
        {"name": "FLAGS_job_name", "value": name},
        {"name": "GPU_CONFIG_FILE", "value": env.get("PF_PADDLE_PARA_CONFIG_FILE", _PARA_FILE)},
    ]
