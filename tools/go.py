# SPDX-License-Identifier: Apache-2.0
"""gofmt, go vet and go test for the Go modules that the roles carry, with the toolchain and the cache of the product's own builds."""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from tools import tree

VERBS = ("fmt", "vet", "test")


def modules() -> list[Path]:
    return sorted(tree.ROOT / path.parent for path in tree.files() if path.match("roles/*/files/*/go.mod"))


def load_gobuild() -> ModuleType:
    """roles/artifacts/files/gobuild.py is a program for the control node, not a package of ours."""
    spec = importlib.util.spec_from_file_location("gobuild", tree.ROOT / "roles/artifacts/files/gobuild.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def toolchain() -> tuple[str, dict[str, str]]:
    """The go program and the environment that the roles build with, so that what is compiled here is not compiled again."""
    gobuild: Any = load_gobuild()
    cache = tree.cache()
    environment: dict[str, str] = gobuild.go_environment(cache, "")
    needed = max(gobuild.required_go((module / "go.mod").read_text(encoding="utf-8")) for module in modules())
    go = gobuild.find_go(needed, cache, environment)
    if not go:
        defaults = yaml.safe_load((tree.ROOT / "roles/artifacts/defaults/main.yml").read_text(encoding="utf-8"))
        cache.mkdir(parents=True, exist_ok=True)
        requirement = defaults["artifacts_go_requirement"].replace(" --hash", " \\\n  --hash")
        go = gobuild.install_go(requirement, cache, "")
    return go, environment


def run(verb: str) -> int:
    go, environment = toolchain()
    failed = 0
    for module in modules():
        if verb == "fmt":
            goroot = subprocess.run(
                [go, "env", "GOROOT"], env=environment, check=True, capture_output=True, text=True
            ).stdout.strip()
            command = [str(Path(goroot, "bin", "gofmt")), "-l", "."]
        else:
            command = [go, verb, "./..."]
        print(f"+ cd {module.relative_to(tree.ROOT)} && {shlex.join(command)}", flush=True)
        result = subprocess.run(command, cwd=module, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        print(result.stdout, end="", flush=True)
        failed += bool(result.returncode or (verb == "fmt" and result.stdout))
    return failed


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in VERBS:
        sys.exit(f"usage: go.py {'|'.join(VERBS)}")
    sys.exit(1 if run(sys.argv[1]) else 0)
