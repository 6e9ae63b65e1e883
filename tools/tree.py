# SPDX-License-Identifier: Apache-2.0
"""The files of the project: what git tracks, and new files that it does not ignore."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"


def cache() -> Path:
    """Where the roles keep what was compiled, and the checks what they made for every checkout."""
    return Path(os.environ.get("PADDLEFLOW_CACHE_DIR", "/var/cache/paddleflow"))


def files() -> list[Path]:
    """Relative to the root, sorted. A new file belongs to the project before its first commit, or no check would see it."""
    listing = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return sorted({Path(name) for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()})


def copy(paths: Iterable[Path], target: Path) -> None:
    """A fresh copy with modes 0644 and 0755 only, so that the result does not depend on the umask of a checkout."""
    shutil.rmtree(target, ignore_errors=True)
    for path in paths:
        destination = target / path
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, destination)
        destination.chmod(0o755 if (ROOT / path).stat().st_mode & 0o100 else 0o644)


def code_lines(text: str) -> int:
    """Lines that are neither blank, nor comment, nor the documentation of a plugin."""
    text = re.sub(r"(?ms)^(DOCUMENTATION|EXAMPLES|RETURN)\s*=\s*r?(\"\"\"|''').*?^\2", "", text)
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith(("#", "//")))
