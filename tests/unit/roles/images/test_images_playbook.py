# SPDX-License-Identifier: Apache-2.0
"""What the role refuses before it builds anything."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support import checkout_play

PLAY = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: paddleflow.core.images
"""


@checkout_play.NEEDS_ANSIBLE
@pytest.mark.parametrize("mode", [(), ("--check",)])
def test_without_a_way_to_the_nodes_nothing_is_built(tmp_path: Path, mode: tuple[str]) -> None:
    cache = tmp_path / "cache"
    done = checkout_play.run(tmp_path, PLAY, "-i", "localhost,", *mode, PADDLEFLOW_CACHE_DIR=str(cache))
    assert done.returncode == 2, done.stdout + done.stderr
    assert "set images_registry to a registry that the nodes pull from" in done.stdout + done.stderr
    assert "Look which images there are" not in done.stdout
    assert not cache.exists()


PUSH = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.set_fact:
        images_plan: {missing: [], images: [{name: pause, ref: "r.example/p/pause:1"}]}
    - ansible.builtin.include_role:
        name: paddleflow.core.images
        tasks_from: push
"""
DRIVER = """
import sys
if "--dry-run" in sys.argv:
    sys.exit("buildah failed: x509: unknown authority.") if "untrusted" in sys.argv[1:][0] else print('{"present": false}')
else:
    sys.exit("buildah failed: denied.")
"""


@checkout_play.NEEDS_ANSIBLE
@pytest.mark.parametrize(
    ("registry", "said"),
    [
        (
            "untrusted",
            (
                "The registry of images_registry (r.example/p) could not be asked for r.example/p/pause:1: buildah failed:"
                " x509: unknown authority. Correct images_registry, or give credentials in images_registry_auth_file"
            ),
        ),
        (
            "trusted",
            (
                "The image r.example/p/pause:1 could not be pushed to images_registry (r.example/p): buildah failed: denied."
                " Whoever pushes there needs credentials in images_registry_auth_file."
            ),
        ),
    ],
)
def test_what_buildah_says_of_the_registry_is_said_with_its_name(tmp_path: Path, registry: str, said: str) -> None:
    (tmp_path / "driver.py").write_text(DRIVER)
    variables = {
        "images_driver": [sys.executable, str(tmp_path / "driver.py"), registry],
        "images_registry": "r.example/p",
        "artifacts_cache_dir": str(tmp_path),
    }
    done = checkout_play.run(tmp_path, PUSH, "-i", "localhost,", "-e", json.dumps(variables))
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stdout
    assert "from_json" not in done.stdout + done.stderr
