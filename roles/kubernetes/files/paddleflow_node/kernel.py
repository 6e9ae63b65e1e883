# SPDX-License-Identifier: Apache-2.0
"""Settings of the kernel, which are the whole machine's: when the last cluster that needs them has stopped, they are as they
were before the first. Notes of that end with a boot, as the settings do."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .host import Config, Host

SETTINGS = Path("/proc/sys")
NOTES = Path("/run/paddleflow-kernel")


@dataclass(frozen=True)
class Borrowed:
    name: str
    values: Mapping[str, str]  # while a cluster needs them

    def note(self, config: Config) -> Path:
        return NOTES / self.name / config.instance


# What the kubelet sets, and never sets back.
KUBELET = Borrowed(
    "kubelet",
    {
        "vm/overcommit_memory": "1",
        "vm/panic_on_oom": "0",
        "kernel/panic": "10",
        "kernel/panic_on_oops": "1",
        "kernel/keys/root_maxkeys": "1000000",
        "kernel/keys/root_maxbytes": "25000000",
    },
)
FORWARDING = Borrowed("forwarding", {"net/ipv4/ip_forward": "1"})


def read(name: str) -> str:
    return (SETTINGS / name).read_text().strip()


@contextmanager
def alone() -> Iterator[None]:
    """Clusters that start and stop side by side share the notes. The folder that holds them all is there, and stays."""
    descriptor = os.open(NOTES.parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def borrow(config: Config, host: Host, borrowed: Borrowed) -> None:
    """To be called before they are changed."""
    own = borrowed.note(config)
    if host.check or own.exists():
        return
    with alone():
        _note(own, borrowed)


def _note(own: Path, borrowed: Borrowed) -> None:
    others = [path for path in own.parent.glob("*") if path.suffix != ".new"]
    there = [name for name in borrowed.values if (SETTINGS / name).exists()]
    before = others[0].read_text() if others else json.dumps({name: read(name) for name in there})
    own.parent.mkdir(parents=True, exist_ok=True)
    new = own.with_name(f"{own.name}.new")
    new.write_text(before)
    new.replace(own)


def give_back(config: Config, host: Host, borrowed: Borrowed) -> None:
    own = borrowed.note(config)
    if not own.exists() or not host.change(f"settings of the kernel ({borrowed.name}) as they were before"):
        return
    with alone():
        _set_back(own, borrowed)


def _set_back(own: Path, borrowed: Borrowed) -> None:
    if list(own.parent.iterdir()) == [own]:
        for name, value in json.loads(own.read_text()).items():
            if read(name) == borrowed.values[name]:  # else somebody has changed it since
                (SETTINGS / name).write_text(value)
    own.unlink()
    for folder in (own.parent, NOTES):
        if not any(folder.iterdir()):
            folder.rmdir()
