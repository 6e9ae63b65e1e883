# SPDX-License-Identifier: Apache-2.0
"""The demonstration: two queues, a job that borrows, a gang that gets its share back. Run again, it changes nothing."""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import asdict
from typing import Any, Callable

from . import objects, sizes
from .checks import JOB, QUEUE, Row, Settings, make_queues, submit, table
from .kubectl import CheckError, Kubectl

TREE, RESEARCH, PRODUCTION = "demo", "demo-research", "demo-production"
BORROWER, GANG = "borrower", "gang"
RESULT = "demo-result"
WORK_SECONDS = 20
GANG_SECONDS = 4
# Phases of a job that does not come back by itself.
LOST = ("Failed", "Aborted", "Terminated")


def phase(job: objects.Object | None) -> str:
    """Empty when there is no job."""
    return str(((job or {}).get("status") or {}).get("state", {}).get("phase", "Pending")) if job else ""


def unit_of(queue: objects.Object) -> int:
    """The size of a worker, from a queue that an earlier run made."""
    return sizes.millicpu(queue["spec"]["deserved"]["cpu"]) // 2


class Demo:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.kubectl = Kubectl(settings.kubectl, settings.timeout)
        self.where = settings.demo_namespace
        self.rows: list[Row] = []
        self.changed = False
        self.unit = 0

    def done_before(self) -> dict[str, Any] | None:
        """What an earlier run that came to its end left, if everything it made is still there."""
        result = self.kubectl.get("configmap", RESULT, "--namespace", self.where)
        made = [self.kubectl.get(QUEUE + name) for name in (TREE, RESEARCH, PRODUCTION)]
        jobs = [self.find(name) for name in (BORROWER, GANG)]
        if result and all(made) and all(phase(job) == "Completed" for job in jobs):
            kept: dict[str, Any] = json.loads(result["data"]["result"])
            return kept
        return None

    def find(self, name: str) -> objects.Object | None:
        return self.kubectl.get(JOB + name, "--namespace", self.where)

    def foreign(self) -> str:
        """What is in the way: an object of one of our names that a demonstration did not make."""
        mark = dict(objects.DEMO.items() - objects.MANAGED.items())
        for target in ("namespace/" + self.where, *(QUEUE + name for name in (TREE, RESEARCH, PRODUCTION))):
            found = self.kubectl.get(target)
            if not found or objects.carries(found, mark):
                continue
            remedy = "run the playbook install, which is without the demonstration, or remove it"
            if target.startswith("namespace/"):
                remedy = "set verify_demo_namespace to another name, or label it when it is meant for this"
            return (
                "{} {} has no label {}, so a demonstration did not make it and this one must not change it: {}".format(
                    found["kind"], found["metadata"]["name"], "=".join(*mark.items()), remedy
                )
            )
        return ""

    def queues(self) -> str:
        foreign = self.foreign()
        if foreign:
            raise CheckError(foreign)
        existing = self.kubectl.get(QUEUE + RESEARCH)
        if existing:
            self.unit = unit_of(existing)
        else:
            try:
                self.unit = sizes.unit(
                    sizes.free(self.kubectl.items("nodes"), self.kubectl.items("pods", "--all-namespaces"))
                )
            except sizes.TooSmallError as problem:
                raise CheckError(str(problem)) from None
        self.changed = True
        self.kubectl.apply([objects.namespace(self.where, objects.DEMO)])
        make_queues(self.kubectl, objects.queues(TREE, (RESEARCH, PRODUCTION), self.unit, objects.DEMO))
        return f"{RESEARCH} and {PRODUCTION} are entitled to 2 workers of {self.unit}m each and may use 4"

    def submit(self, item: objects.Object) -> str:
        """Create a job unless it is there. One that failed is made anew."""
        name = item["metadata"]["name"]
        now = phase(self.find(name))
        if now in LOST:
            self.kubectl.run("delete", JOB + name, "--namespace", self.where, "--wait=true")
        if now in LOST or not now:
            submit(self.kubectl, item)
            self.changed = True
            return "created"
        return now

    def borrow(self) -> str:
        spec = objects.pod_spec(self.settings.image, ["sleep", str(WORK_SECONDS)], self.unit)
        item = objects.job(BORROWER, self.where, RESEARCH, spec, 4, 1, self.settings.scheduler)
        if self.submit(item) == "Completed":
            return "ran already"
        self.kubectl.wait(JOB + BORROWER, "jsonpath={.status.running}=4", self.where)
        return f"job {BORROWER} of queue {RESEARCH} runs 4 workers"

    def give_back(self) -> str:
        item = objects.meeting_job(
            GANG, self.where, PRODUCTION, self.settings.image, self.unit, 2, GANG_SECONDS, self.settings.scheduler
        )
        if self.settings.gang_command:
            item["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["command"] = list(self.settings.gang_command)
        before = self.submit(item)
        if before == "Completed":
            return "ran already"
        began = time.monotonic()
        self.kubectl.wait(JOB + GANG, "jsonpath={.status.running}=2", self.where)
        waited = time.monotonic() - began
        left = (self.find(BORROWER) or {}).get("status", {}).get("running", 0)
        return f"job {GANG} of queue {PRODUCTION} got its 2 workers after {waited:.1f} s; {BORROWER} is down to {left}"

    def finish(self, name: str) -> str:
        self.kubectl.wait(JOB + name, "jsonpath={.status.state.phase}=Completed", self.where)
        return "completed"

    def log(self) -> list[str]:
        text = self.kubectl.run(
            "logs", "--namespace", self.where, "--selector=volcano.sh/job-name=" + GANG, "--tail=20", "--ignore-errors"
        ).stdout
        return [line for line in text.splitlines() if line.strip()]

    def step(self, name: str, action: Callable[[], str]) -> None:
        began = time.monotonic()
        try:
            detail = action()
        except CheckError as failure:
            self.rows.append(Row(name, False, str(failure), round(time.monotonic() - began, 1)))
            raise
        self.rows.append(Row(name, True, detail, round(time.monotonic() - began, 1)))

    def run(self) -> dict[str, Any]:
        kept = self.done_before()
        if kept:
            return again_said(kept)
        log: list[str] = []
        try:
            self.step("queues", self.queues)
            self.step("borrowing", self.borrow)
            self.step("giving back", self.give_back)
            self.step("the gang", lambda: self.finish(GANG))
            self.step("the borrower, evicted workers again", lambda: self.finish(BORROWER))
            log = self.log()
        except CheckError:
            pass
        ok = all(row.ok for row in self.rows)
        result: dict[str, Any] = {"rows": [asdict(row) for row in self.rows], "table": table(self.rows), "log": log}
        if ok:
            self.keep(result)
        return {**result, "ok": ok, "changed": self.changed}

    def keep(self, result: dict[str, Any]) -> None:
        self.kubectl.apply(
            [
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": RESULT, "namespace": self.where, "labels": dict(objects.MANAGED)},
                    "data": {"result": json.dumps(result)},
                }
            ]
        )


def again_said(kept: dict[str, Any]) -> dict[str, Any]:
    return {**kept, "table": ["An earlier run made this:", *kept["table"]], "ok": True, "changed": False}


def demo(settings: Settings) -> dict[str, Any]:
    return Demo(settings).run()


def preview(settings: Settings) -> dict[str, Any]:
    """What a run would find; nothing is made. Without a reachable cluster: that everything would be made."""
    run = Demo(settings)
    with contextlib.suppress(CheckError):
        kept = run.done_before()
        if kept:
            return again_said(kept)
    with contextlib.suppress(CheckError):
        foreign = run.foreign()
        if foreign:
            rows = [Row("queues", False, foreign, 0.0)]
            return {"rows": [asdict(rows[0])], "table": table(rows), "log": [], "ok": False, "changed": False}
    return {
        "rows": [],
        "table": ["two queues, a job that borrows and a gang would be created"],
        "log": [],
        "ok": True,
        "changed": True,
    }
