# SPDX-License-Identifier: Apache-2.0
"""What the role refuses before it builds anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
ANSIBLE = Path(sys.executable).with_name("ansible-playbook")
PLAY = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: paddleflow.core.images
"""


@pytest.mark.skipif(not ANSIBLE.exists(), reason="ansible-core is not installed beside this Python")
@pytest.mark.parametrize("mode", [(), ("--check",)])
def test_without_a_way_to_the_nodes_nothing_is_built(tmp_path: Path, mode: tuple[str]) -> None:
    collection = tmp_path / "collections/ansible_collections/paddleflow"
    collection.mkdir(parents=True)
    (collection / "core").symlink_to(ROOT)
    (tmp_path / "play.yml").write_text(PLAY)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_HOME": str(tmp_path / "ansible"),
        "ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections"),
        "PADDLEFLOW_CACHE_DIR": str(tmp_path / "cache"),
    }
    command: list[str | Path] = [ANSIBLE, "-i", "localhost,", tmp_path / "play.yml", *mode]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "set images_registry to a registry that the nodes pull from" in done.stdout + done.stderr
    assert "Look which images there are" not in done.stdout
    assert not (tmp_path / "cache").exists()
