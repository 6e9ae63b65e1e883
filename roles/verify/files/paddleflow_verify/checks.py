# SPDX-License-Identifier: Apache-2.0
"""The checks, each a function that returns what it saw or raises CheckError, and the table of them."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any, Callable

from . import objects, sizes
from .kubectl import CheckError, Kubectl, again

WEBHOOKS = "app.kubernetes.io/name=volcano,app.kubernetes.io/component=webhooks"
JOB = "job.batch.volcano.sh/"
QUEUE = "queue.scheduling.volcano.sh/"
# How long Volcano's webhooks may be away, in seconds: another verification may be replacing their pods at this moment.
AWAY_SECONDS = 30
# A run has some twenty waits, so a trial older than this many of its time limits was left by one that was killed.
LONGEST = 60


@dataclass(frozen=True)
class Settings:
    kubectl: list[str]
    image: str
    timeout: int = 120
    namespace: str = "paddleflow-verify"
    demo_namespace: str = "paddleflow-demo"
    volcano_namespace: str = "volcano-system"
    scheduler: str = "volcano"
    domain: str = "cluster.local"
    # Replaces the program of the demonstration's gang; empty: workers that meet.
    gang_command: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    name: str
    ok: bool
    detail: str
    seconds: float


def away(reason: str) -> bool:
    return "failed calling webhook" in reason or "no endpoints" in reason


class Trial:
    """One run of all checks in a namespace and a queue tree of a name of its own, so that two at once do not meet."""

    def __init__(self, settings: Settings, name: str = "") -> None:
        self.settings = settings
        self.kubectl = Kubectl(settings.kubectl, settings.timeout)
        self.where = self.tree = name or f"{settings.namespace}-{secrets.token_hex(3)}"
        self.labels = {**objects.VERIFY, objects.TRIAL: self.tree}
        self.lender, self.borrower = self.tree + "-lender", self.tree + "-borrower"
        self.unit = 0

    def checks(self) -> list[tuple[str, Callable[[], str]]]:
        return [
            ("API server", self.api),
            ("nodes", self.nodes),
            ("scheduler, controllers, webhooks", self.volcano),
            ("DNS and a service from a pod", self.service),
            ("webhooks refuse bad input", self.refusals),
            ("a gang runs as a whole", self.gang),
            ("a gang that cannot fit takes nothing", self.too_large),
            ("borrowing and giving back", self.give_back),
            ("pods without the webhooks", self.without_webhooks),
        ]

    def api(self) -> str:
        self.kubectl.run("get", "--raw=/readyz", "--request-timeout=30s")
        version = json.loads(self.kubectl.run("get", "--raw=/version").stdout)
        return "ready, {}".format(version["gitVersion"])

    def nodes(self) -> str:
        found = self.kubectl.items("nodes")
        bad = []
        for node in found:
            ready = [c for c in node["status"].get("conditions", ()) if c["type"] == "Ready"]
            if not ready or ready[0]["status"] != "True":
                reason = ready[0].get("message") or ready[0].get("reason") if ready else "no report"
                bad.append("{}: {}".format(node["metadata"]["name"], reason))
        if bad or not found:
            raise CheckError("not ready: " + "; ".join(bad) if bad else "the cluster has no node")
        return f"{len(found)} of {len(found)} ready"

    def volcano(self) -> str:
        where = self.settings.volcano_namespace
        for part in ("webhooks", "controllers", "scheduler"):
            self.kubectl.wait("deployment/volcano-" + part, "condition=Available", where)
        self.kubectl.wait(QUEUE + "default", "jsonpath={.status.state}=Open")
        return "available, queue default is open"

    def service(self) -> str:
        name = "page"
        server = objects.pod_spec(
            self.settings.image,
            ["python3", "-m", "http.server", "8080"],
            workingDir="/tmp",
            readinessProbe={"tcpSocket": {"port": 8080}, "periodSeconds": 1},
        )
        self.kubectl.apply(
            [objects.service(name, self.where, 8080), objects.pod(name, self.where, server, labels={"app": name})]
        )
        self.kubectl.wait("pod/" + name, "condition=Ready", self.where)
        url = f"http://{name}.{self.where}.svc.{self.settings.domain}/"
        self.run_pod("reader", ["python3", "-c", objects.CLIENT, url])
        return url + " answers"

    def run_pod(self, name: str, command: list[str]) -> None:
        spec = objects.pod_spec(self.settings.image, command)
        self.kubectl.apply([objects.pod(name, self.where, spec)])
        # Any end will do for the wait; whether it is a good one is looked at then.
        self.kubectl.wait("pod/" + name, "jsonpath={.status.containerStatuses[0].state.terminated.reason}", self.where)
        found = self.kubectl.get("pod/" + name, "--namespace", self.where) or {}
        ended = found["status"]["containerStatuses"][0]["state"]["terminated"]
        if ended["exitCode"]:
            log = self.kubectl.run("logs", name, "--namespace", self.where, "--tail=5", check=False).stdout.strip()
            raise CheckError(f"pod {name} ended with {ended['exitCode']}" + (": " + log if log else ""))

    def refusals(self) -> str:
        image, scheduler = self.settings.image, self.settings.scheduler
        plain = objects.pod_spec(image, ["true"])
        bad_queue = objects.queue(self.tree + "-bad", "root", 2000, 1000, self.labels)
        bad_job = objects.job("bad", self.where, self.tree + "-missing", plain, 1, 1, scheduler)
        annotated = objects.pod(
            "bad", self.where, {**plain, "schedulerName": scheduler}, annotations={"volcano.sh/jdb-min-available": "0"}
        )
        for what, item, who in (
            ("a queue entitled to more than its limit", bad_queue, "validatequeue.volcano.sh"),
            ("a job of a queue that does not exist", bad_job, "validatejob.volcano.sh"),
            ("a pod with a senseless annotation", annotated, "ValidatingAdmissionPolicy 'volcano-pods'"),
        ):
            said = refusal(self.kubectl, item)
            if not said:
                raise CheckError(f"{what} was accepted")
            if who not in said:
                raise CheckError(f"{what} was refused, but not by {who}: {said}")
        return "a queue, a job and a pod"

    def size(self) -> int:
        if not self.unit:
            try:
                self.unit = sizes.unit(
                    sizes.free(self.kubectl.items("nodes"), self.kubectl.items("pods", "--all-namespaces"))
                )
            except sizes.TooSmallError as problem:
                raise CheckError(str(problem)) from None
            make_queues(self.kubectl, objects.queues(self.tree, (self.lender, self.borrower), self.unit, self.labels))
        return self.unit

    def job(self, name: str, queue: str, spec: objects.Object, replicas: int, minimum: int) -> None:
        item = objects.job(name, self.where, queue, spec, replicas, minimum, self.settings.scheduler)
        submit(self.kubectl, item)

    def gang(self) -> str:
        size = self.size()
        self.job("gang", self.lender, objects.pod_spec(self.settings.image, ["sleep", "1"], size), 3, 3)
        self.kubectl.wait(JOB + "gang", "jsonpath={.status.state.phase}=Completed", self.where)
        return f"3 workers of {size}m"

    def too_large(self) -> str:
        size = 2 * self.size()
        self.job("large", self.lender, objects.pod_spec(self.settings.image, ["sleep", "1"], size), 3, 3)
        found = self.kubectl.get(JOB + "large", "--namespace", self.where) or {}
        group = "podgroup.scheduling.volcano.sh/large-{}".format(found["metadata"]["uid"])
        self.kubectl.wait(group, "condition=Unschedulable", self.where)
        pods = self.kubectl.items("pods", "--namespace", self.where, "--selector=volcano.sh/job-name=large")
        placed = [pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName")]
        if placed:
            raise CheckError("the gang does not fit, yet {} hold a node".format(", ".join(placed)))
        self.kubectl.run("delete", JOB + "large", "--namespace", self.where, "--wait=true")
        return f"3 workers of {size}m in a queue of {2 * size}m wait, none is placed"

    def give_back(self) -> str:
        size = self.size()
        spec = objects.pod_spec(self.settings.image, ["sleep", "600"], size)
        self.job("borrower", self.borrower, spec, 4, 1)
        self.kubectl.wait(JOB + "borrower", "jsonpath={.status.running}=4", self.where)
        self.job("owner", self.lender, spec, 2, 2)
        self.kubectl.wait(JOB + "owner", "jsonpath={.status.running}=2", self.where)
        self.kubectl.wait(JOB + "borrower", "jsonpath={.status.running}=2", self.where)
        return "a job held 4 workers while entitled to 2, and gave 2 back to a gang"

    def without_webhooks(self) -> str:
        where = self.settings.volcano_namespace
        self.kubectl.run("delete", "pods", "--namespace", where, "--selector", WEBHOOKS, "--wait=false")
        self.run_pod("plain", ["true"])
        self.kubectl.run(
            "rollout",
            "status",
            "deployment/volcano-webhooks",
            "--namespace",
            where,
            f"--timeout={self.settings.timeout}s",
        )
        item = objects.job("after", self.where, "default", objects.pod_spec(self.settings.image, ["true"]), 1, 1)

        said = refusal(self.kubectl, item)
        if said:
            raise CheckError(said)
        return "a plain pod ran while the webhooks were away; they are back"

    def clean(self) -> str:
        """Remove all that a trial leaves, also an interrupted one."""
        limit = f"--timeout={self.settings.timeout}s"
        if self.served():
            # Jobs before their namespace: a controller that may not make pods any more fills the logs with errors.
            everything = (
                "--all",
                "--namespace",
                self.where,
                "--ignore-not-found",
                "--cascade=foreground",
                "--wait=true",
            )
            self.kubectl.run("delete", "jobs.batch.volcano.sh", *everything, limit)
        self.kubectl.run("delete", "namespace", self.where, "--ignore-not-found", "--wait=true", limit)
        if self.served():
            remove_queues(self.kubectl, [self.lender, self.borrower, self.tree])
        return "namespace and queues removed"

    def served(self) -> bool:
        kind = "customresourcedefinitions/queues.scheduling.volcano.sh"
        return self.kubectl.run("get", kind, check=False).returncode == 0

    def leftovers(self) -> list[str]:
        """Trials of runs that were killed: our labels, and an age that no run reaches."""
        kinds = "namespaces" + (",queues.scheduling.volcano.sh" if self.served() else "")
        selector = ",".join(f"{name}={value}" for name, value in objects.VERIFY.items())
        left = set()
        for item in self.kubectl.items(kinds, "--selector", f"{selector},{objects.TRIAL}"):
            made = datetime.strptime(item["metadata"]["creationTimestamp"], "%Y-%m-%dT%H:%M:%S%z")
            if (datetime.now(timezone.utc) - made).total_seconds() > LONGEST * self.settings.timeout:
                left.add(item["metadata"]["labels"][objects.TRIAL])
        return sorted(left)

    def clean_all(self) -> str:
        detail = self.clean()
        for name in self.leftovers():
            Trial(self.settings, name).clean()
            detail += f"; also {name}, which an interrupted run left"
        return detail


def refusal(kubectl: Kubectl, item: objects.Object) -> str:
    """What the API server says against an object, once the webhooks answer."""
    end = time.monotonic() + AWAY_SECONDS
    said = kubectl.refusal(item)
    while away(said) and time.monotonic() < end:
        time.sleep(0.3)
        said = kubectl.refusal(item)
    return said


def make_queues(kubectl: Kubectl, tree: list[objects.Object]) -> None:
    """Create parents before children. The webhooks may not have heard of the parent yet."""
    for item in tree:
        again(
            lambda item=item: kubectl.apply([item]),  # type: ignore[misc]
            AWAY_SECONDS,
            lambda reason: "parent" in reason or away(reason),
        )
        kubectl.wait(QUEUE + item["metadata"]["name"], "jsonpath={.status.state}=Open", timeout=60)


def remove_queues(kubectl: Kubectl, names: list[str]) -> None:
    for name in names:
        again(
            lambda name=name: kubectl.run("delete", QUEUE + name, "--ignore-not-found", "--wait=true"),  # type: ignore[misc]
            AWAY_SECONDS,
            lambda reason: "child queues" in reason or "not found" in reason or away(reason),
        )


def submit(kubectl: Kubectl, item: objects.Object) -> None:
    """Create a job. The webhooks may not have heard yet that its queue is open."""
    again(
        lambda: kubectl.apply([item]),
        AWAY_SECONDS,
        lambda reason: "unable to find job queue" in reason or "status is" in reason or away(reason),
    )


def run_checks(trial: Trial) -> list[Row]:
    rows: list[Row] = []

    def record(name: str, check: Callable[[], Any]) -> bool:
        began = time.monotonic()
        try:
            ok, detail = True, str(check() or "")
        except CheckError as failure:
            ok, detail = False, str(failure)
        rows.append(Row(name, ok, detail, round(time.monotonic() - began, 1)))
        return ok

    def prepare() -> str:
        trial.kubectl.apply([objects.namespace(trial.where, trial.labels)])
        return "namespace " + trial.where

    checks = trial.checks()
    # Without an API server everything below would only repeat that it is away.
    if not record(*checks[0]):
        return rows
    try:
        if record("room for the trial", prepare):
            for check in checks[1:]:
                record(*check)
    finally:
        record("nothing left behind", trial.clean_all)
    return rows


def table(rows: list[Row]) -> list[str]:
    """Lines for people; further lines of a detail stand below it."""
    width = max(len(row.name) for row in rows)
    lines = []
    for row in rows:
        first, *more = row.detail.split("\n")
        lines.append(f"{'ok    ' if row.ok else 'FAILED'}  {row.name:<{width}}  {row.seconds:6.1f} s  {first}")
        lines += [" " * (width + 20) + line.strip() for line in more]
    return lines


def verify(settings: Settings) -> dict[str, Any]:
    rows = run_checks(Trial(settings))
    return {"ok": all(row.ok for row in rows), "rows": [asdict(row) for row in rows], "table": table(rows)}
