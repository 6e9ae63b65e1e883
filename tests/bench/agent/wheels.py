# SPDX-License-Identifier: Apache-2.0
"""What only the data set of images needs, from its own locks: Pillow, and PyTorch in an environment of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

from tools import tree

# Of the disk: PyTorch's only wheel comes with libraries for accelerators, which it loads although none is there.
_ROOM: Final = 10 << 30
_LOCKS: Final = tree.ROOT / "locks"


def pillow(folder: Path) -> Path | None:
    """Unpacked, not installed; None where it cannot be had."""
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    done = subprocess.run([*download, f"--requirement={_LOCKS}/bench-agent.txt", f"--dest={folder}"], check=False)
    if done.returncode:
        return None
    (wheel,) = folder.glob("pillow-*.whl")
    shutil.unpack_archive(wheel, folder / "pillow", "zip")
    return folder / "pillow"


def pytorch(installs: bool) -> Path | None:
    """The Python of an environment that has it, with Pillow; None where it cannot be had.

    :param installs: when it is not there yet
    """
    place = tree.BUILD / "bench/pytorch"
    python, made, lock = place / "bin/python", place / "made", (_LOCKS / "bench-torch.txt").read_text(encoding="utf-8")
    if made.exists() and made.read_text(encoding="utf-8") == lock:
        return python
    if not installs or shutil.disk_usage(tree.BUILD).free < _ROOM:
        return None
    print("installing PyTorch, which takes minutes and 6 GB", file=sys.stderr, flush=True)
    venv.create(place, clear=True, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps", "--require-hashes"]
    done = subprocess.run([*install, f"--requirement={_LOCKS}/bench-torch.txt"], check=False)
    tried = (
        subprocess.run([python, "-c", "import torch.utils.data, PIL.Image"], check=False)
        if not done.returncode
        else done
    )
    if tried.returncode:
        shutil.rmtree(place)
        return None
    made.write_text(lock, encoding="utf-8")
    return python
