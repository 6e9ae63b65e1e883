# SPDX-License-Identifier: Apache-2.0
"""kubectl as a function: objects in, objects out, and a reason when it ends badly."""

from __future__ import annotations

import json
import subprocess
import time
from typing import Any, Callable, Iterable, Sequence, TypeVar

Object = dict[str, Any]
T = TypeVar("T")


class Failed(Exception):
    """A check did not hold; the text says why."""


class Kubectl:
    def __init__(self, argv: Sequence[str], timeout: int) -> None:
        self.argv = list(argv)
        self.timeout = timeout

    def run(self, *arguments: str, stdin: Any = None, check: bool = True) -> "subprocess.CompletedProcess[str]":
        text = None if stdin is None else json.dumps(stdin)
        try:
            # The margin lets kubectl's own time limit speak first: it says what it waited for.
            done = subprocess.run(
                self.argv + list(arguments), input=text, capture_output=True, text=True, check=False, timeout=self.timeout + 30
            )
        except subprocess.TimeoutExpired:
            raise Failed("kubectl %s did not end within %d s" % (arguments[0], self.timeout + 30)) from None
        if check and done.returncode:
            raise Failed(done.stderr.strip() or "kubectl %s ended with %d" % (arguments[0], done.returncode))
        return done

    def get(self, *arguments: str) -> Object | None:
        """One object or list; None when there is none of that name."""
        text = self.run("get", *arguments, "--output=json", "--ignore-not-found").stdout
        return json.loads(text) if text.strip() else None

    def items(self, *arguments: str) -> list[Object]:
        found = self.get(*arguments)
        return found["items"] if found else []

    def apply(self, objects: Iterable[Object]) -> None:
        bundle = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self.run("apply", "--server-side", "--force-conflicts", "--field-manager=paddleflow", "--filename=-", stdin=bundle)

    def refusal(self, item: Object) -> str:
        """What the API server says against an object; empty when it would take it. Nothing is stored."""
        done = self.run("create", "--dry-run=server", "--filename=-", stdin=item, check=False)
        return done.stderr.strip() if done.returncode else ""

    def wait(self, target: str, condition: str, where: str = "", timeout: int | None = None) -> None:
        """Watch until an object is as said. It may appear while we wait."""
        scope = ["--namespace", where] if where else []
        limit = self.timeout if timeout is None else timeout
        end = time.monotonic() + limit

        def once() -> None:
            left = max(1, int(end - time.monotonic()))
            done = self.run("wait", target, "--for=" + condition, "--timeout=%ds" % left, *scope, check=False)
            if done.returncode:
                raise Failed(done.stderr.strip())

        try:
            again(once, limit, lambda reason: "not found" in reason or "no matching resources" in reason)
        except Failed as failure:
            raise Failed("%s within %d s: %s%s" % (condition, limit, failure, self.evidence(target, where))) from None

    def evidence(self, target: str, where: str) -> str:
        """Conditions of an object and the last events beside it, in a few lines."""
        lines = []
        scope = ["--namespace", where] if where else []
        found = self.run("get", target, *scope, "--output=json", check=False)
        if not found.returncode:
            lines += conditions(json.loads(found.stdout))
        if where:
            found = self.run("get", "events", *scope, "--sort-by=.lastTimestamp", "--output=json", check=False)
            if not found.returncode:
                lines += events(json.loads(found.stdout)["items"], target.rpartition("/")[2])
        return "".join("\n  " + line for line in lines)


def conditions(item: Object) -> list[str]:
    """The conditions of an object that say something."""
    status = item.get("status", {})
    said = []
    if status.get("phase"):
        said.append("phase %s" % status["phase"])
    if isinstance(status.get("state"), dict) and status["state"].get("phase"):
        said.append("phase %s %s" % (status["state"]["phase"], status["state"].get("message", "")))
    for condition in status.get("conditions", [])[-5:]:
        text = condition.get("message") or condition.get("reason")
        if text and "type" in condition:
            said.append("%s=%s: %s" % (condition["type"], condition.get("status", ""), text))
    return said


def events(items: Sequence[Object], name: str, most: int = 8) -> list[str]:
    """The last events about an object and what is named after it (the pods of a job), equal ones once."""
    lines: list[str] = []
    for item in items:
        about = item.get("involvedObject", {})
        if not str(about.get("name", "")).startswith(name):
            continue
        line = "%s %s %s: %s" % (item.get("reason"), about.get("kind"), about.get("name"), item.get("message", "").strip())
        if line in lines:
            lines.remove(line)
        lines.append(line)
    return lines[-most:]


def again(action: Callable[[], T], seconds: float, passing: Callable[[str], bool]) -> T:
    """Repeat an action while it fails for a reason that passes by itself and that nothing can be watched for.

    That is an object which is about to be created, and Volcano's webhooks, which judge by what they last heard.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            return action()
        except Failed as failure:
            if time.monotonic() >= end or not passing(str(failure)):
                raise
        time.sleep(0.3)
