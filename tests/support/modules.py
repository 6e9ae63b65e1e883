# SPDX-License-Identifier: Apache-2.0
"""Modules of the collection: within this process, and as Ansible runs them elsewhere, as a program with its arguments as JSON on
standard input. That both answer the same is what tests/api/test_here.py and test_apply_module.py say."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from ansible_collections.paddleflow.core.plugins.plugin_utils import here

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
    module = importlib.import_module(f"ansible_collections.paddleflow.core.plugins.modules.{name}")
    given = json.loads(json.dumps(arguments))
    answer = here.carried(module, given, surroundings() | environment, check=check, diff=diff)
    said: dict[str, Any] = json.loads(json.dumps(answer))
    return said


def start(name: str, arguments: Mapping[str, Any], *, check: bool = False, diff: bool = False) -> dict[str, Any]:
    """The same by a process of its own."""
    given = {"ANSIBLE_MODULE_ARGS": {**arguments, "_ansible_check_mode": check, "_ansible_diff": diff}}
    done = subprocess.run(
        [sys.executable, "-c", START, str(tree.ROOT / f"plugins/modules/{name}.py")],
        env=surroundings() | {"PYTHONPATH": str(tree.BUILD / "collections")},
        input=json.dumps(given), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def surroundings() -> dict[str, str]:
    """Without what a developer's own environment says of clusters."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("K8S_AUTH_", "KUBE"))}
