# SPDX-License-Identifier: Apache-2.0
"""The compiled binaries, through the product's own build driver and its cache."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

import yaml

from tools import tree

ROOT = tree.ROOT
SOURCES = {
    "kube": "roles/kubernetes/files/kube",
    "volcano": "roles/volcano/files/volcano",
    "vault": "tests/support/vault_server",
    "minio": "tests/support/minio_server",
}


def artifacts() -> dict[str, object]:
    text = (ROOT / "roles/artifacts/defaults/main.yml").read_text(encoding="utf-8")
    defaults: dict[str, object] = yaml.safe_load(text)
    return defaults


@functools.cache
def built(name: str) -> Path:
    """The folder of a finished build; compiles it (minutes) when the cache has none."""
    command = [sys.executable, str(ROOT / "roles/artifacts/files/gobuild.py"), "build", "--name", name]
    command += ["--source", str(ROOT / SOURCES[name]), "--cache", str(tree.cache())]
    command += ["--go-requirement", str(artifacts()["artifacts_go_requirement"])]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Path(json.loads(done.stdout)["dir"])
