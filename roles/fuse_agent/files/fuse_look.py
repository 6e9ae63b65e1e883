# SPDX-License-Identifier: Apache-2.0
"""What the role decides by before anything of it is there: this machine, and what an earlier run left. Runs on the node with the
standard library alone (Python 3.9 and newer), and reads no secrets."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any


def look(plan: dict[str, Any]) -> dict[str, Any]:
    config, base = Path(plan["config"]), Path(plan["base"])
    return {
        "uid": os.getuid(),
        "python": first(plan["python"], "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"),
        "systemd": Path("/run/systemd/system").is_dir(),
        "systemd_version": number(first("systemctl", "--version")),
        "fuse": Path("/dev/fuse").exists() or shutil.which("modprobe") is not None,
        "fuse_conf": Path(plan["fuse_conf"]).exists(),
        "mounts": sorted(path.stem for path in config.glob("mounts/*.json")),
        "secrets": sorted(path.stem for path in config.glob("secrets/*.json")),
        "foreign": [path for path in plan["secrets_files"] if not is_for_root_alone(path)],
        "releases": sorted(path.parent.name for path in base.glob("releases/*/complete")),
        "unfinished": sorted(
            path.name
            for path in base.glob("releases/*")
            if not path.name.startswith(".") and not (path / "complete").exists()
        ),
        "current": Path(os.readlink(base / "current")).name if (base / "current").is_symlink() else "",
        "helper": link(*plan["helper"]),
        "there": [path for path in plan["there"] if os.path.lexists(path)],
    }


def first(*command: str) -> str:
    """The first line of what it says; nothing when it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.partition("\n")[0] if done.returncode == 0 else ""


def link(path: str, target: str) -> str:
    """Whose it is."""
    if not os.path.lexists(path):
        return ""
    return "ours" if os.path.islink(path) and os.readlink(path) == target else "foreign"


def number(version: str) -> int:
    """Of `systemd 252 (252.39-1)`."""
    words = version.split()
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def is_for_root_alone(path: str) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False
    return status.st_uid == 0 and not status.st_mode & 0o077


if __name__ == "__main__":
    json.dump(look(json.loads(sys.argv[1])), sys.stdout)
