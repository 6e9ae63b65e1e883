# SPDX-License-Identifier: Apache-2.0
"""A worker as its supervisor sees it: a process, and the end of a socket."""

from __future__ import annotations

import fcntl
import logging
import os
import select
import signal
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ..control import Channel, Handed, store
from ..logs import facts

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from .mounted import Mount
    from .settings import Settings

_LOG = logging.getLogger(__name__)
# What systemd says to a service is no business of those that it starts.
_NOT_INHERITED: Final = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")
_LOCK = struct.Struct("@hhqqi4x")  # struct flock: type, whence, start, length, pid
_SECONDS: Final = 10


class Worker:
    """
    :ivar loaded: it waits to be told to go, or was told
    :ivar ready: it serves
    :ivar dirty: how many files had data that were not stored when it last said so
    """

    def __init__(self, pid: int, channel: Channel) -> None:
        self.pid, self.channel = pid, channel
        self.loaded = self.ready = False
        self.dirty = 0

    def tell(self, word: str, *descriptors: int, **told: Any) -> bool:
        """Whether it can be told: it may be stuck, or have ended a moment ago, which is found elsewhere."""
        try:
            self.channel.send(word, *descriptors, **told)
        except OSError as error:
            _LOG.warning("the worker cannot be told", extra=facts(pid=self.pid, word=word, error=error))
            return False
        return True

    def kill(self) -> None:
        """With its helpers. It is ours and was not waited for, so the number is nobody else's."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def ended(self) -> int | None:
        """How, once it has: a status, or the negative number of a signal."""
        return ended(self.pid)


def ended(pid: int) -> int | None:
    """Of a child: a status, or the negative number of a signal. What it started and left behind ends with it."""
    if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        return None
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # before its number may be another's
    _pid, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def reap(ours: Container[int]) -> None:
    """Those that were left to this process since it is the first of a container, and that nobody waits for.

    :param ours: who are waited for elsewhere; one that ended this moment ends this, and the word of its end has all looked at again
    """
    with suppress(ChildProcessError):
        while (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and found.si_pid not in ours:
            os.waitpid(found.si_pid, 0)


def start(settings: Settings, mount: Mount, as_json: bool, kept: dict[str, int], restarts: int = 0) -> Worker:
    """
    :param kept: those that a worker asked to be kept, by its names
    :raises OSError: when there is no such program
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        handed = Handed(
            fuse=mount.held["fuse"],
            region=mount.held["region"],
            control=theirs.fileno(),
            kept=kept,
            agreed=mount.agreed,
            beat=settings.limits.patience / 5,
            longest=settings.longest,
            session=mount.session,
            grace=settings.grace,
            json=as_json,
            files=settings.files,
            level=settings.log_level,
            restarts=restarts,
        )
        configuration = store(handed._asdict(), "paddleflow-configuration")
        try:
            given = (handed.fuse, handed.region, handed.control, configuration, *kept.values())
            pid = spawn([*settings.worker, str(configuration)], given)
        except OSError:
            ours.close()
            raise
        finally:
            os.close(configuration)
    return Worker(pid, Channel(ours))


def spawn(command: list[str], descriptors: Sequence[int], environment: dict[str, str] | None = None) -> int:
    """With these descriptors by the same numbers, in a group of its own: what a terminal sends to ours is not meant for it."""
    inherited = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    return os.posix_spawnp(
        command[0],
        command,
        {**inherited, **(environment or {})},
        file_actions=[(os.POSIX_SPAWN_DUP2, number, number) for number in descriptors],
        setpgroup=0,
        setsigmask=[],
    )


def end(pid: int) -> None:
    """A child, however it is."""
    handle = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        if not _ends(handle):
            _LOG.error("a process does not end", extra=facts(pid=pid))
        ended(pid)
    finally:
        os.close(handle)


def end_orphan(region: int, patience: float = 0) -> None:
    """Whoever serves a mount holds a lock on its memory. One that outlived its supervisor ends now, and what it had begun is begun anew.

    :param patience: seconds in which it may end by itself, since nobody begins anew what it does
    :raises TimeoutError: when it does not end
    """
    pid = _holder(region)
    if not pid:
        return
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if _ends(process, patience) or _holder(region) != pid:  # it has ended, and the number may be another's
            return
        _LOG.warning("the worker of a supervisor that was killed is ended", extra=facts(pid=pid))
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        if not _ends(process):
            raise TimeoutError(
                f"The worker {pid} of a supervisor that was killed does not end, and nobody else may serve till then."
            )
    finally:
        os.close(process)


def _ends(process: int, seconds: float = _SECONDS) -> bool:
    poll = select.poll()
    poll.register(process, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _holder(region: int) -> int:
    asked = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    kind, *_range, pid = _LOCK.unpack(fcntl.fcntl(region, fcntl.F_GETLK, asked))
    return 0 if kind == fcntl.F_UNLCK else int(pid)
