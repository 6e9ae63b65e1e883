# SPDX-License-Identifier: Apache-2.0
"""Signals as something that can be read, so that no wait ever delays one."""

from __future__ import annotations

import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import FrameType

ENDS: Final = frozenset((signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
UPGRADES: Final = signal.SIGUSR2
_HEARD: Final = ENDS | {UPGRADES, signal.SIGCHLD}


class Signals:
    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._theirs.setblocking(False)
        signal.set_wakeup_fd(self._theirs.fileno(), warn_on_full_buffer=False)
        for number in _HEARD:
            signal.signal(number, _nothing)
        # Who was started over the one before it begins with all of them held back.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)

    def fileno(self) -> int:
        return self._ours.fileno()

    def read(self) -> set[int]:
        with suppress(BlockingIOError):
            return set(self._ours.recv(1 << 12))
        return set()

    def wake(self) -> None:
        """From another thread: something is to be looked at."""
        with suppress(BlockingIOError):
            self._theirs.send(b"\0")

    @staticmethod
    def hold() -> None:
        """Until another begins, in this process: none is lost, and none ends it."""
        signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)

    @staticmethod
    def release() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)


def _nothing(_number: int, _frame: FrameType | None) -> None:
    pass
