# SPDX-License-Identifier: Apache-2.0
"""In systemd's place: a socket that a service tells how it is, which keeps descriptors and gives them to the service that is started again."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# By the numbers from 3 on, as systemd gives them; and only the process itself knows whom they are for.
_LAUNCH = """\
import os, sys
count = int(os.environ["LISTEN_FDS"])
moved = [os.dup(int(number)) for number in sys.argv[1:1 + count]]
safe = [os.dup2(number, 100 + place, inheritable=True) for place, number in enumerate(moved)]
for place, number in enumerate(safe):
    os.dup2(number, 3 + place, inheritable=True)
for number in (*safe, *(number for number in moved if number >= 3 + count)):
    os.close(number)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[1 + count], sys.argv[1 + count:])
"""


class Systemd:
    """
    :ivar kept: descriptors by name
    :ivar said: what it was told beside those, the newest last
    """

    def __init__(self, end: socket.socket, path: Path) -> None:
        self._end, self.path = end, path
        self.kept: dict[str, int] = {}
        self.said: list[dict[str, str]] = []

    def hear(self) -> None:
        """All that was said."""
        while True:
            try:
                packet, descriptors, _flags, _address = socket.recv_fds(self._end, 1 << 16, 8)
            except BlockingIOError:
                return
            said = dict(line.split("=", 1) for line in packet.decode().splitlines())
            if "FDSTORE" in said:
                assert said["FDNAME"] not in self.kept, "kept twice"
                (self.kept[said["FDNAME"]],) = descriptors
            elif "FDSTOREREMOVE" in said:
                if said["FDNAME"] in self.kept:
                    os.close(self.kept.pop(said["FDNAME"]))
            else:
                self.said.append(said)

    def times(self, name: str) -> int:
        """How often it was told that."""
        self.hear()
        return sum(name in said for said in self.said)

    def has_said(self, name: str) -> bool:
        return self.times(name) > 0

    @property
    def environment(self) -> dict[str, str]:
        return {"NOTIFY_SOCKET": str(self.path)}

    def start_again(self) -> tuple[dict[str, str], list[str], tuple[int, ...]]:
        """What the service finds, what stands before its command, and what it inherits."""
        names, numbers = list(self.kept), tuple(self.kept.values())
        environment = {**self.environment, "LISTEN_FDS": str(len(names)), "LISTEN_FDNAMES": ":".join(names)}
        return environment, [sys.executable, "-c", _LAUNCH, *map(str, numbers)], numbers


@contextmanager
def systemd(folder: Path) -> Iterator[Systemd]:
    path = folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(str(path))
        end.setblocking(False)
        stand_in = Systemd(end, path)
        yield stand_in
        stand_in.hear()
        for descriptor in stand_in.kept.values():
            os.close(descriptor)
