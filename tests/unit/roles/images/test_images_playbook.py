# SPDX-License-Identifier: Apache-2.0
"""What the role refuses before it builds anything."""

from __future__ import annotations

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
