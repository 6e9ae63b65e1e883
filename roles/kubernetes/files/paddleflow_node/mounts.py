# SPDX-License-Identifier: Apache-2.0
"""Mounts of one cluster: the shared folder that volumes need, and every mount that must be gone after it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from .host import Config, Host

MOUNTINFO = Path("/proc/self/mountinfo")


class Mount(NamedTuple):
    path: str
    shared: bool


def parse(text: str) -> list[Mount]:
    """Mount points in the order they were made; blanks in paths are written as octal by the kernel."""
    mounts = []
    for line in text.splitlines():
        fields = line.split(" ")
        path = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), fields[4])
        optional = fields[6 : fields.index("-")]
        mounts.append(Mount(path, any(tag.startswith("shared:") for tag in optional)))
    return mounts


def below(mounts: Iterable[Mount], folders: Iterable[Path]) -> list[str]:
    """Mount points under the folders, the last made first, as they have to be taken away.

    Not the folders themselves: one that is a mount point is somebody's disk, and the data on it stays. The kernel names
    mounts without the links that led there.
    """
    roots = [os.path.realpath(folder) for folder in folders]
    return [mount.path for mount in reversed(list(mounts)) if any(mount.path.startswith(f"{root}/") for root in roots)]


def is_mount(folder: Path) -> bool:
    """Also one of the same file system (a bind mount), which `os.path.ismount` does not see."""
    return os.path.realpath(folder) in [mount.path for mount in parse(MOUNTINFO.read_text())]


def kubelet_dir(config: Config) -> Path:
    return config.data_dir / "kubelet"


def up(config: Config, host: Host) -> None:
    folder = str(kubelet_dir(config))
    at = [mount for mount in parse(MOUNTINFO.read_text()) if mount.path == os.path.realpath(folder)]
    if at and at[-1].shared:
        return
    if host.change(f"{folder} is a shared mount"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        if not at:
            host.run(["mount", "--bind", folder, folder])
        # private first: a peer group of the host's root would carry every volume into other namespaces as well
        host.run(["mount", "--make-private", folder])
        host.run(["mount", "--make-shared", folder])


def down(config: Config, host: Host) -> None:
    for path in below(parse(MOUNTINFO.read_text()), [config.data_dir, config.run_dir]):
        host.change(f"no mount {path}", ["umount", "--lazy", path])
