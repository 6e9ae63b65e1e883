# SPDX-License-Identifier: Apache-2.0
"""What a check run says of Debian's packages, also where apt has neither lists nor its Python library."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support import checkout_play

PLAY = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: paddleflow.core.artifacts
        tasks_from: packages
"""
pytestmark = [
    checkout_play.NEEDS_ANSIBLE,
    pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="not Debian or its kin"),
]


@pytest.mark.parametrize(
    ("packages", "recap", "said"),
    [
        (["dpkg"], "changed=0", ""),
        (["dpkg", "no-such-package-anywhere"], "changed=1", "Would be installed: no-such-package-anywhere"),
    ],
    ids=["all are there", "one is missing"],
)
def test_a_check_run_says_what_is_missing_and_asks_apt_nothing(
    tmp_path: Path, packages: list[str], recap: str, said: str
) -> None:
    extra = json.dumps({"artifacts_packages": packages})
    done = checkout_play.run(tmp_path, PLAY, "-i", "localhost,", "--check", "-e", extra, ANSIBLE_LOCALHOST_WARNING="0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert recap in done.stdout
    assert said in done.stdout
