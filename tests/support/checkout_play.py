# SPDX-License-Identifier: Apache-2.0
"""A playbook over the roles as they stand in the checkout, in an environment that knows nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tools import tree

ANSIBLE = Path(sys.executable).with_name("ansible-playbook")
NEEDS_ANSIBLE = pytest.mark.skipif(not ANSIBLE.exists(), reason="ansible-core is not installed beside this Python")


def run(folder: Path, playbook: str, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """``folder`` is its home, its working folder, and where the playbook is written."""
    command, ours = _prepared(folder, playbook, arguments)
    return subprocess.run(command, env={**ours, **environment}, cwd=folder, capture_output=True, text=True, check=False)


def started(folder: Path, playbook: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """The same, for who reads what it says while it runs."""
    command, ours = _prepared(folder, playbook, arguments)
    ours["PYTHONUNBUFFERED"] = "1"
    return subprocess.Popen(command, env=ours, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _prepared(folder: Path, playbook: str, arguments: Sequence[str | Path]) -> tuple[list[str | Path], dict[str, str]]:
    collection = folder / "collections/ansible_collections/paddleflow"
    collection.mkdir(parents=True, exist_ok=True)
    if not (collection / "core").is_symlink():
        (collection / "core").symlink_to(tree.ROOT)
    (folder / "play.yml").write_text(playbook)
    ours = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_COLLECTIONS_PATH": str(folder / "collections"),
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
    }
    return [ANSIBLE, folder / "play.yml", *arguments], ours


def other_python(folder: Path) -> Path:
    """The same Python by another path, to which tasks are sent that Ansible would otherwise run within itself."""
    script = folder / "python"
    if not script.exists():
        script.write_text(f'#!/bin/sh\nexec {ANSIBLE.with_name("python")} "$@"\n')
        script.chmod(0o755)
    return script
