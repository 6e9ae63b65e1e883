# SPDX-License-Identifier: Apache-2.0
"""The client works with both versions of urllib3 that are supported; the other tests run with the newer one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.binaries import ROOT

TESTS = [
    "tests/unit/core/kube",
    "tests/api/test_kube_auth.py",
    "tests/api/test_kube_objects.py",
    "tests/api/test_kube_watch.py",
]


@pytest.mark.extended
def test_urllib3_1(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path), "urllib3<2"]
    subprocess.run(pip, check=True)
    path = os.pathsep.join([str(tmp_path), str(ROOT), str(ROOT / "build/py")])
    version = "import urllib3; print(urllib3.__version__)"
    env = {**os.environ, "PYTHONPATH": path, "PADDLEFLOW_EXTENDED": ""}
    found = subprocess.run([sys.executable, "-c", version], env=env, check=True, capture_output=True, text=True).stdout
    assert found.startswith("1.26.")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *TESTS], env=env, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:]
