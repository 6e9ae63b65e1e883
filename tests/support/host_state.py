# SPDX-License-Identifier: Apache-2.0
"""What a cluster could leave behind on its host, as a value that two moments can be compared by."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True)
class HostState:
    mounts: frozenset[str]
    interfaces: frozenset[str]
    namespaces: frozenset[str]
    routes: frozenset[str]
    rules: frozenset[str]
    cgroups: frozenset[str]
    folders: frozenset[str]
    processes: frozenset[str]
    settings: frozenset[str]

    def left_by(self, before: HostState) -> dict[str, list[str]]:
        """What is there now and was not there before, but for that of a cluster that ran before: it goes on meanwhile, or stops
        and sets the kernel back."""
        found = {}
        for field in fields(self):
            old = getattr(before, field.name)
            families = {family(name) for name in old}
            found[field.name] = sorted(name for name in getattr(self, field.name) - old if family(name) not in families)
        if KERNEL_NOTES in before.folders:
            found["settings"] = []
        return {name: values for name, values in found.items() if values}


# There while a cluster runs, with what it changed of the kernel.
KERNEL_NOTES = "/run/paddleflow-kernel"
# What a cluster has many of, and other ones while its pods come and go: new ones count only where none of the family was before.
FAMILY = re.compile(r"/var/lib/[^/]+|/run/[^/]+|/var/log/containers/|veth|cni-")


def family(name: str) -> str:
    match = FAMILY.match(name)
    return match[0] if match else name


def _json(*command: str) -> list[dict[str, object]]:
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    listing: list[dict[str, object]] = json.loads(text or "[]")
    return listing


def _lines(*command: str) -> frozenset[str]:
    return frozenset(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())


def _mounts() -> frozenset[str]:
    return frozenset(line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines())


def _cgroups() -> frozenset[str]:
    roots = [Path("/sys/fs/cgroup"), *(path for path in Path("/sys/fs/cgroup").iterdir() if path.is_dir())]
    return frozenset(str(path) for root in roots for path in root.iterdir() if path.is_dir())


def _folders() -> frozenset[str]:
    parents = (
        "/var/lib",
        "/var/lib/cni/results",
        "/var/lib/kubelet",
        "/run",
        "/var/log",
        "/var/log/containers",
        "/etc",
        "/opt",
    )
    return frozenset(str(path) for parent in map(Path, parents) if parent.is_dir() for path in parent.iterdir())


def _processes(names: frozenset[str]) -> frozenset[str]:
    """Processes that carry one of the names among their arguments; the dead that nobody has waited for do not count."""
    found = set()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z" and any(name in word for word in words for name in names):
            found.add(f"{folder.name} {' '.join(words)}"[:200])
    return frozenset(found)


def _settings() -> frozenset[str]:
    """Of the kernel, those that a kubelet or a way out changes."""
    names = ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward")
    return frozenset(f"{name}={Path('/proc/sys', name).read_text().strip()}" for name in names)


def look(*owned: str) -> HostState:
    """`owned`: folders whose name in a process's arguments makes the process the cluster's."""
    return HostState(
        mounts=_mounts(),
        interfaces=frozenset(str(link["ifname"]) for link in _json("ip", "-json", "link")),
        namespaces=frozenset(str(item["name"]) for item in _json("ip", "-json", "netns")),
        routes=_lines("ip", "route", "show", "table", "all"),
        rules=_lines("nft", "list", "tables"),
        cgroups=_cgroups(),
        folders=_folders(),
        processes=_processes(frozenset(owned)),
        settings=_settings(),
    )
