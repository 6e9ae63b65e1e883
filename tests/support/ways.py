# SPDX-License-Identifier: Apache-2.0
"""Tasks in both ways in which a module may run: within ansible-playbook, and in a process of its own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from tests.support import checkout_play
from tests.support.control_plane import ControlPlane

WAYS = ("here", "process")
LOCAL = {"ansible_connection": "local"}
# Another host's, as far as Ansible can tell.
ELSEWHERE = """\
DOCUMENTATION = "{name: elsewhere, short_description: This host, description: Under another name., author: Tests}"
from ansible.plugins.connection.local import Connection as Local
class Connection(Local):
    transport = "elsewhere"
"""


class Runner:
    """Tasks as a user writes them, each with its result."""

    def __init__(self, api: ControlPlane, folder: Path) -> None:
        self.api, self.folder = api, folder

    def tasks(
        self, *tasks: dict[str, Any], way: str = "here", arguments: tuple[str, ...] = (), **play: Any
    ) -> list[Any]:
        """
        :param way: `process` names the same Python by another path, so that the task is sent to it
        """
        folder = self.folder / f"run-{len(list(self.folder.iterdir()))}"
        folder.mkdir()
        noted = [{"ignore_errors": True, **task, "register": f"r{number}"} for number, task in enumerate(tasks)]
        told = "{{ [" + ", ".join(f"r{number}" for number in range(len(tasks))) + "] | to_json }}"
        copied = {"content": told, "dest": str(folder / "results.json")}
        keep = {"ansible.builtin.copy": copied, "check_mode": False, "diff": False}
        python = {} if way == "here" else {"ansible_python_interpreter": str(checkout_play.other_python(self.folder))}
        text = {
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            # Two parts of Ansible disagree about ~ where HOME is not the user's own.
            "vars": {**python, "ansible_async_dir": str(folder / "async")},
            "module_defaults": {"group/paddleflow.core.paddleflow": {"kubeconfig": str(self.api.kubeconfig)}},
            "tasks": [*noted, keep],
            **play,
        }
        (folder / "connection_plugins").mkdir()
        (folder / "connection_plugins/elsewhere.py").write_text(ELSEWHERE)
        (folder / "hosts.yml").write_text(
            yaml.safe_dump({"all": {"hosts": {"localhost": {}, "there": {**LOCAL, **python}}}})
        )
        done = checkout_play.run(folder, yaml.safe_dump([text]), "--inventory=hosts.yml", *arguments)
        self.output = done.stdout + done.stderr
        assert done.returncode == 0, self.output
        results: list[Any] = json.loads((folder / "results.json").read_text())
        return results


def comparable(result: Any, space: str) -> Any:
    """Without what differs between any two runs, and without what only says how a process ended."""
    noise = ("exception", "module_stdout", "module_stderr", "rc", "ansible_facts", "ansible_job_id", "results_file")
    text = json.dumps({key: value for key, value in result.items() if key not in noise}, sort_keys=True)
    text = re.sub(r"/run-\d+/", "/run/", text.replace(space, "SPACE"))
    text = re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", text)  # of a secret, with a salt
    text = re.sub(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b", "UID", text)
    return re.sub(r"Supported parameters include.*?\.|not ready after \d+ s", "", text)
