# SPDX-License-Identifier: Apache-2.0
"""In systemd's place: a socket that a service tells how it is, which keeps descriptors and gives them to the service that is started again."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.support.agent_mounts import Agent, until

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

    def __init__(self, end: socket.socket) -> None:
        self._end = end
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

    def start_again(self, agent: Agent, **changed: Any) -> None:
        """With what is kept."""
        names, numbers = list(self.kept), tuple(self.kept.values())
        agent.environment |= {"LISTEN_FDS": str(len(names)), "LISTEN_FDNAMES": ":".join(names)}
        launcher = [sys.executable, "-c", _LAUNCH, *map(str, numbers)]
        agent.start(launcher=launcher, descriptors=numbers, **changed)


@contextmanager
def systemd(agent: Agent, environment: Mapping[str, str] | None = None, **changed: Any) -> Iterator[Systemd]:
    """That has started it, and was told that it is ready."""
    path = agent.folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(str(path))
        end.setblocking(False)
        stand_in = Systemd(end)
        agent.environment |= {"NOTIFY_SOCKET": str(path), **(environment or {})}
        agent.start(serves=False, **changed)
        # Meanwhile it is heard, as who is not waits until there is room for another word.
        until(lambda: stand_in.has_said("READY"), "the service to be ready")
        yield stand_in
        stand_in.hear()
        for descriptor in stand_in.kept.values():
            os.close(descriptor)
