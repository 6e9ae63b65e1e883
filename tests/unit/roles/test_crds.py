# SPDX-License-Identifier: Apache-2.0
"""The role crds, run by ansible-playbook with a stand-in for the role that talks to the cluster."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.paddleflow.core.plugins.module_utils._core.model import policies

from tools import tree

PLAY = """\
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: paddleflow.core.crds
"""
# Each binding stands before its policy, in the order of the files.
OBJECTS = [item for pair in policies.policies() for item in reversed(pair)]
DEFINITIONS, POLICIES = "definitions of paddleflow.org", "policies of grants"
# Takes the place of kubernetes/tasks/apply.yml and keeps what it was given.
APPLY = """\
- ansible.builtin.copy:
    content: "{{ kubernetes_apply_objects | to_json }}"
    dest: "{{ playbook_dir }}/{{ kubernetes_apply_title }}.json"
    mode: "0644"
"""


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    root = tmp_path / "collections/ansible_collections/paddleflow/core"
    shutil.copytree(tree.ROOT / "roles/crds", root / "roles/crds", ignore=shutil.ignore_patterns("files"))
    shutil.copytree(tree.ROOT / "plugins/filter", root / "plugins/filter")
    shutil.copytree(tree.ROOT / "plugins/module_utils", root / "plugins/module_utils")
    (root / "roles/kubernetes/tasks").mkdir(parents=True)
    (root / "roles/kubernetes/tasks/apply.yml").write_text(APPLY, encoding="utf-8")
    (tmp_path / "play.yml").write_text(PLAY, encoding="utf-8")
    return root


def play(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "ANSIBLE_COLLECTIONS_PATH": str(folder / "collections"),
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_REMOTE_TMP": str(folder / "ansible/tmp"),
        "ANSIBLE_CONFIG": str(tree.ROOT / "ansible.cfg"),
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
    }
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "play.yml", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def applied(folder: Path, title: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / f"{title}.json").read_text(encoding="utf-8"))
    return found


def test_it_applies_every_definition(collection: Path, tmp_path: Path) -> None:
    shutil.copytree(tree.ROOT / "crds", collection / "roles/crds/files")
    done = play(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = sorted(path.stem for path in (tree.ROOT / "crds").glob("*.yaml"))
    assert [item["metadata"]["name"] for item in applied(tmp_path, DEFINITIONS)] == expected


def test_it_applies_every_policy_with_its_binding_and_enforces_it(collection: Path, tmp_path: Path) -> None:
    shutil.copytree(tree.ROOT / "crds", collection / "roles/crds/files")
    done = play(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert applied(tmp_path, POLICIES) == OBJECTS


def test_a_sites_settings_reach_the_policies(collection: Path, tmp_path: Path) -> None:
    shutil.copytree(tree.ROOT / "crds", collection / "roles/crds/files")
    site = {
        "crds_grants": "warn",
        "crds_grants_controllers": ["system:serviceaccount:operators:training"],
        "volcano_namespace": "vc",
        "volcano_scheduler_name": "mine",
    }
    done = play(tmp_path, "--extra-vars", json.dumps(site))
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = policies.configured(OBJECTS, "warn", ["system:serviceaccount:operators:training"], "vc", "mine")
    assert applied(tmp_path, POLICIES) == wanted


def test_an_unknown_setting_is_refused_before_anything_is_applied(collection: Path, tmp_path: Path) -> None:
    shutil.copytree(tree.ROOT / "crds", collection / "roles/crds/files")
    done = play(tmp_path, "--extra-vars", json.dumps({"crds_grants": "maybe"}))
    assert done.returncode != 0
    assert "value of crds_grants must be one of: enforce, warn, audit, got: maybe" in done.stdout
    assert not list(tmp_path.glob("*.json"))


def test_it_says_what_to_do_in_a_checkout(collection: Path, tmp_path: Path) -> None:
    assert not (collection / "roles/crds/files").exists()
    done = play(tmp_path)
    assert done.returncode != 0
    assert "make collection" in done.stdout
    assert not list(tmp_path.glob("*.json"))
