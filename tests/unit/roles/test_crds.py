# SPDX-License-Identifier: Apache-2.0
"""The role crds, run by ansible-playbook with a stand-in for the role that talks to the cluster."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import tree

PLAY = """\
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: paddleflow.core.crds
"""
# Takes the place of kubernetes/tasks/apply.yml and keeps what it was given.
APPLY = """\
- ansible.builtin.copy:
    content: "{{ {'title': kubernetes_apply_title, 'objects': kubernetes_apply_objects} | to_json }}"
    dest: "{{ playbook_dir }}/applied.json"
    mode: "0644"
"""


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    root = tmp_path / "collections/ansible_collections/paddleflow/core"
    shutil.copytree(tree.ROOT / "roles/crds", root / "roles/crds", ignore=shutil.ignore_patterns("files"))
    (root / "roles/kubernetes/tasks").mkdir(parents=True)
    (root / "roles/kubernetes/tasks/apply.yml").write_text(APPLY, encoding="utf-8")
    (tmp_path / "play.yml").write_text(PLAY, encoding="utf-8")
    return root


def play(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        "ANSIBLE_COLLECTIONS_PATH": str(folder / "collections"),
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_REMOTE_TMP": str(folder / "ansible/tmp"),
        "ANSIBLE_CONFIG": str(tree.ROOT / "ansible.cfg"),
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
    }
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "play.yml"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_it_applies_every_definition(collection: Path, tmp_path: Path) -> None:
    shutil.copytree(tree.ROOT / "crds", collection / "roles/crds/files")
    done = play(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    applied = json.loads((tmp_path / "applied.json").read_text(encoding="utf-8"))
    assert applied["title"] == "definitions of paddleflow.org"
    expected = sorted(path.stem for path in (tree.ROOT / "crds").glob("*.yaml"))
    assert [item["metadata"]["name"] for item in applied["objects"]] == expected


def test_it_says_what_to_do_in_a_checkout(collection: Path, tmp_path: Path) -> None:
    assert not (collection / "roles/crds/files").exists()
    done = play(tmp_path)
    assert done.returncode != 0
    assert "make collection" in done.stdout
    assert not (tmp_path / "applied.json").exists()
