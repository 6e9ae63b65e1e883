# SPDX-License-Identifier: Apache-2.0
"""What importing the client costs: a module pays for it at each call."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import paddleflow_core.kube
import pytest

MODULES = sorted(path.stem for path in Path(paddleflow_core.kube.__path__[0]).glob("[!_]*.py"))
HEAVY = {"urllib3", "yaml", "kubernetes", "requests", "openshift", "http", "email", "tempfile", "asyncio", "ssl"}
# These are themselves imported only when a connection is opened, or has failed.
ALLOWED = {"tls": {"ssl", "tempfile"}, "unreachable": {"ssl"}}


@pytest.mark.parametrize("name", MODULES)
def test_importing_it_loads_nothing_heavy(name: str) -> None:
    program = f"import json, sys; import paddleflow_core.kube.{name}; print(json.dumps(sorted(sys.modules)))"
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-Sc", program], stdout=subprocess.PIPE, check=True, env=environment)
    loaded = {module.partition(".")[0] for module in json.loads(done.stdout)}
    assert loaded & HEAVY - ALLOWED.get(name, set()) == set()
