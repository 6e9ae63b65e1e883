# SPDX-License-Identifier: Apache-2.0
"""Modules of the collection, run as Ansible runs them: a program with its arguments as JSON on standard input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from tools import tree

START = """
import runpy, sys
from ansible.module_utils import basic
basic._ANSIBLE_ARGS, basic._ANSIBLE_PROFILE = sys.stdin.buffer.read(), "legacy"
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def run(
    name: str, arguments: Mapping[str, Any], *, check: bool = False, diff: bool = False, **environment: str
) -> dict[str, Any]:
    """What the module answers; a failure is an answer too."""
    given = {"ANSIBLE_MODULE_ARGS": {**arguments, "_ansible_check_mode": check, "_ansible_diff": diff}}
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("K8S_AUTH_", "KUBE"))}
    done = subprocess.run(
        [sys.executable, "-c", START, str(tree.ROOT / f"plugins/modules/{name}.py")],
        env={**kept, "PYTHONPATH": str(tree.BUILD / "collections"), **environment},
        input=json.dumps(given), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
