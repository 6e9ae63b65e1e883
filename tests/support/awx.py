# SPDX-License-Identifier: Apache-2.0
"""What AWX does with a project: ansible-runner in a private folder, with AWX's environment, files and arguments.

Facts of AWX's awx/main/tasks/jobs.py and awx/main/models/credential/injectors.py. The collection is the installed one.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.binaries import ROOT
from tests.support.inventories import User

RUN = """
import json, sys, ansible_runner
done = ansible_runner.run(**json.load(sys.stdin))
print(json.dumps({"status": done.status, "rc": done.rc, "stats": done.stats}))
"""
STANDARD = {
    "ANSIBLE_FORCE_COLOR": "True",
    "ANSIBLE_HOST_KEY_CHECKING": "False",
    "ANSIBLE_INVENTORY_UNPARSED_FAILED": "True",
    "ANSIBLE_PARAMIKO_RECORD_HOST_KEYS": "False",
    "ANSIBLE_RETRY_FILES_ENABLED": "False",
    "MAX_EVENT_RES": "700000",
}
UPDATE = {"ANSIBLE_INVENTORY_EXPORT": "True", "ANSIBLE_VERBOSE_TO_STDERR": "True"}


@dataclass(frozen=True)
class Done:
    status: str
    stats: dict[str, Any] | None
    artifacts: Path

    @property
    def stdout(self) -> str:
        return (self.artifacts / "stdout").read_text(encoding="utf-8")

    @property
    def events(self) -> list[dict[str, Any]]:
        paths = sorted(self.artifacts.glob("job_events/*.json"), key=lambda path: int(path.name.partition("-")[0]))
        return [json.loads(path.read_text(encoding="utf-8")) for path in paths]

    def results(self) -> list[dict[str, Any]]:
        """Of every task that ended well, as the events tell them."""
        return [one["event_data"]["res"] for one in self.events if one["event"] == "runner_on_ok"]

    def everything(self) -> str:
        """All that AWX would keep or show; the command's environment is runner's own file and goes with the folder."""
        paths = [path for path in self.artifacts.rglob("*") if path.is_file() and path != self.artifacts / "command"]
        assert len(paths) > 3
        return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in paths)


class Project:
    """A checkout of a project, in the private folder of the jobs that run from it."""

    def __init__(self, folder: Path, user: User) -> None:
        self.folder, self.user = folder, user
        self._jobs = 0
        for name in ("project", "env", "inventory", "home"):
            (folder / name).mkdir()
        self._ca = folder / "env/ca"
        self._ca.write_bytes(Path(user.environment["K8S_AUTH_SSL_CA_CERT"]).read_bytes())

    def write(self, path: str, text: str) -> None:
        target = self.folder / "project" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def update_inventory(self, source: str, verbosity: int = 0) -> tuple[Done, dict[str, Any] | None]:
        """An inventory source that is sourced from the project."""
        ident = self._next()
        output = self.folder / "artifacts" / ident / "output.json"
        place = self.folder / "project" / source
        words = ["ansible-inventory", "--list", "--export", "-i", str(place), "--output", str(output)]
        words += ["--playbook-dir", str(place.parent), *(["-" + "v" * verbosity] if verbosity else [])]
        (self.folder / "args").write_text(shlex.join(words), encoding="utf-8")
        try:
            done = self._run(ident, UPDATE, {})
        finally:
            (self.folder / "args").unlink()
        return done, json.loads(output.read_text(encoding="utf-8")) if output.is_file() else None

    def launch(
        self, playbook: str, inventory: Mapping[str, Any], survey: Mapping[str, Any], verbosity: int = 0
    ) -> Done:
        """A job template, with what its inventory holds and the answers to its survey."""
        script = self.folder / "inventory/hosts"
        script.write_text(f"#! {sys.executable}\nprint(r'''{json.dumps(inventory)}''')\n", encoding="utf-8")
        script.chmod(0o700)
        (self.folder / "env/extravars").write_text(json.dumps(dict(survey)), encoding="utf-8")
        return self._run(self._next(), {}, {"playbook": playbook, "inventory": str(script), "verbosity": verbosity})

    def _next(self) -> str:
        self._jobs += 1
        return str(self._jobs)

    def _run(self, ident: str, environment: Mapping[str, str], more: Mapping[str, Any]) -> Done:
        variables = {
            **STANDARD,
            **self.user.environment,
            "K8S_AUTH_SSL_CA_CERT": str(self._ca),
            "AWX_PRIVATE_DATA_DIR": str(self.folder),
            "JOB_ID": ident,
            "HOME": str(self.folder / "home"),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "build/installed"),
            **environment,
        }
        (self.folder / "env/envvars").write_text(json.dumps(variables), encoding="utf-8")
        (self.folder / "env/settings").write_text('{"idle_timeout": 0, "job_timeout": 120}', encoding="utf-8")
        asked = {"private_data_dir": str(self.folder), "ident": ident, "quiet": True, **more}
        done = subprocess.run(
            [sys.executable, "-c", RUN], input=json.dumps(asked), text=True, capture_output=True, check=False,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout.splitlines()[-1])
        return Done(answer["status"], answer["stats"], self.folder / "artifacts" / ident)
