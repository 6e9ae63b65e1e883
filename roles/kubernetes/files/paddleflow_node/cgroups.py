# SPDX-License-Identifier: Apache-2.0
"""The cluster's cgroups: one tree per hierarchy that holds the components (`system`) and the pods (`kubepods`).

It is how the kubelet limits pods, and how a reset finds every process of the cluster, containers' shims included,
without guessing by name.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from .host import Config, Host, NodeError

ROOT = Path("/sys/fs/cgroup")
SYSTEM = "system"
# Where the components themselves are counted on cgroup v1. cpuset refuses members until its masks are set.
TRACKED_V1 = ("pids", "memory")


def is_v2(root: Path = ROOT) -> bool:
    return (root / "cgroup.controllers").exists()


def hierarchies(root: Path = ROOT, tracking_only: bool = False) -> list[Path]:
    """The folders under which a tree is made: the one of v2, or each controller's of v1.

    Beside those of v1 there may be a v2 tree without controllers (`unified`), in which the runtime makes groups too.
    """
    if is_v2(root):
        return [root]
    folders = [path for path in root.iterdir() if path.is_dir() and not path.is_symlink()]
    return sorted(
        path for path in folders if (tracking_only or path.name != "unified") and (path / "cgroup.procs").exists()
    )


def up(config: Config, host: Host) -> None:
    if config.supervisor == "systemd":
        return  # slices are systemd's to make
    for hierarchy in hierarchies():
        tree = hierarchy / config.instance
        if not tree.exists() and host.change(f"cgroup {tree}"):
            tree.mkdir()
        if host.check:
            continue
        for file, text in missing_settings(hierarchy, tree):
            file.write_text(text)
        if hierarchy.name in (*TRACKED_V1, ROOT.name):
            (tree / SYSTEM).mkdir(exist_ok=True)


def missing_settings(hierarchy: Path, tree: Path) -> list[tuple[Path, str]]:
    """Looked at each time and not only when the tree is made: a run may have been killed in between."""
    found = []
    if is_v2(hierarchy):
        controllers = (hierarchy / "cgroup.controllers").read_text().split()
        for folder in (hierarchy, tree):
            file = folder / "cgroup.subtree_control"
            absent = [name for name in controllers if name not in file.read_text().split()]
            found += [(file, " ".join(f"+{name}" for name in absent))] if absent else []
    for mask in ("cpuset.cpus", "cpuset.mems"):
        if hierarchy.name.startswith("cpuset") and not (tree / mask).read_text().strip():
            found.append((tree / mask, (hierarchy / mask).read_text()))
    return found


def join(config: Config) -> None:
    """Move the calling process, and so what it will start, among the components."""
    for hierarchy in hierarchies():
        folder = hierarchy / config.instance / SYSTEM
        if folder.exists():
            (folder / "cgroup.procs").write_text(str(os.getpid()))


def members(trees: Iterable[Path]) -> set[int]:
    found: set[int] = set()
    for tree in trees:
        for file in tree.rglob("cgroup.procs"):
            # The group, or its last member, may go while we look.
            with contextlib.suppress(OSError):
                found.update(int(line) for line in file.read_text().split())
    return found - {os.getpid()}


def slice_name(config: Config) -> str:
    """A dash in the name of a slice would put it below another one; instances have no underscore, so names stay apart."""
    return f"{config.instance.replace('-', '_')}.slice"


def trees(config: Config) -> list[Path]:
    folder = slice_name(config) if config.supervisor == "systemd" else config.instance
    return [path for path in (hierarchy / folder for hierarchy in hierarchies(tracking_only=True)) if path.exists()]


def end_all(folders: list[Path], sort: signal.Signals, patience: float) -> None:
    """Signal every member and wait until none is left; the kernel gives no event for that on v1, so it is looked up."""
    deadline = time.monotonic() + patience
    signalled: set[int] = set()
    while True:
        left = members(folders)
        for pid in left - signalled if sort != signal.SIGKILL else left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sort)
        signalled |= left
        if not left or time.monotonic() > deadline:
            return
        time.sleep(0.05)


def end_pods(config: Config, host: Host) -> None:
    """They are told first, and have a moment to end by themselves."""
    folders = [path for tree in trees(config) for path in tree.glob("*kubepods*")]
    if members(folders) and host.change(f"no pods of {config.instance}"):
        end_all(folders, signal.SIGTERM, 5.0)
        kill(config, folders)


def kill(config: Config, folders: list[Path]) -> None:
    end_all(folders, signal.SIGKILL, 20.0)
    left = members(folders)
    if left:
        raise NodeError(
            f"Processes {sorted(left)} of cluster {config.instance} do not end (in uninterruptible I/O?): see `ps`, then run again."
        )


def down(config: Config, host: Host) -> None:
    if members(trees(config)) and host.change(f"no processes of {config.instance}"):
        kill(config, trees(config))
    if config.supervisor == "systemd":
        return
    for tree in trees(config):
        if host.change(f"no cgroup {tree}"):
            for folder in sorted((path for path in tree.rglob("*") if path.is_dir()), reverse=True):
                folder.rmdir()
            tree.rmdir()
