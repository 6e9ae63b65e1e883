# SPDX-License-Identifier: Apache-2.0
"""kubectl as a function: objects in, objects out, and a reason when it ends badly."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterable, Sequence
from typing import Any, Callable, TypeVar

Object = dict[str, Any]
T = TypeVar("T")


class CheckError(Exception):
    """A check did not hold; the text says why."""


class Kubectl:
    def __init__(self, argv: Sequence[str], timeout: int) -> None:
        self.argv = list(argv)
        self.timeout = timeout

    def run(self, *arguments: str, stdin: Any = None, check: bool = True) -> subprocess.CompletedProcess[str]:
        text = None if stdin is None else json.dumps(stdin)
        try:
            # The margin lets kubectl's own time limit speak first: it says what it waited for.
            done = subprocess.run(
                self.argv + list(arguments),
                input=text,
                capture_output=True,
                text=True,
                check=False,
                timeout=self.timeout + 30,
            )
        except subprocess.TimeoutExpired:
            raise CheckError(f"kubectl {arguments[0]} did not end within {self.timeout + 30} s") from None
        except FileNotFoundError:
            raise CheckError(f"{self.argv[0]} is not there: install first") from None
        if check and done.returncode:
            raise CheckError(done.stderr.strip() or f"kubectl {arguments[0]} ended with {done.returncode}")
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
        self.run(
            "apply", "--server-side", "--force-conflicts", "--field-manager=paddleflow", "--filename=-", stdin=bundle
        )

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
            done = self.run("wait", target, "--for=" + condition, f"--timeout={left}s", *scope, check=False)
            if done.returncode:
                raise CheckError(done.stderr.strip())

        try:
            again(once, limit, lambda reason: "not found" in reason or "no matching resources" in reason)
        except CheckError as failure:
            raise CheckError(f"{condition} within {limit} s: {failure}{self.evidence(target, where)}") from None

    def _seen(self, *arguments: str) -> Object | None:
        done = self.run("get", *arguments, "--output=json", check=False)
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else None

    def evidence(self, target: str, where: str) -> str:
        """Conditions of an object and the last events beside it, in a few lines."""
        lines = []
        scope = ["--namespace", where] if where else []
        found = self._seen(target, *scope)
        if found:
            lines += conditions(found)
        beside = self._seen("events", *scope, "--sort-by=.lastTimestamp") if where else None
        if beside:
            lines += events(beside["items"], target.rpartition("/")[2])
        return "".join("\n  " + line for line in lines)


def conditions(item: Object) -> list[str]:
    """The conditions of an object that say something."""
    status = item.get("status", {})
    said = []
    if status.get("phase"):
        said.append("phase {}".format(status["phase"]))
    if isinstance(status.get("state"), dict) and status["state"].get("phase"):
        said.append("phase {} {}".format(status["state"]["phase"], status["state"].get("message", "")))
    for condition in status.get("conditions", [])[-5:]:
        text = condition.get("message") or condition.get("reason")
        if text and "type" in condition:
            said.append("{}={}: {}".format(condition["type"], condition.get("status", ""), text))
    return said


def events(items: Sequence[Object], name: str, most: int = 8) -> list[str]:
    """The last events about an object and what is named after it (the pods of a job), equal ones once."""
    lines: list[str] = []
    for item in items:
        about = item.get("involvedObject", {})
        if not str(about.get("name", "")).startswith(name):
            continue
        line = "{} {} {}: {}".format(
            item.get("reason"),
            about.get("kind"),
            about.get("name"),
            item.get("message", "").strip(),
        )
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
        except CheckError as failure:
            if time.monotonic() >= end or not passing(str(failure)):
                raise
        time.sleep(0.3)
