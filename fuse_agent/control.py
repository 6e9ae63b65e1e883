# SPDX-License-Identifier: Apache-2.0
"""What supervisor and worker say to each other: a word and its facts, each message one packet of JSON.

A worker is born with what it needs (`Handed`), and says or is told:

============ =========== =======================================================================================
says         facts
============ =========== =======================================================================================
``loaded``               it waits to be told ``go``; until then it touches nothing of the mount
``ready``                it serves
``refused``  why         it cannot serve what is configured, and ends
``beat``     dirty       its loop turns; so many files have data that are not stored
``saved``    dirty names after ``stop``, or before it ends: so many were not stored, these among them
``gone``                 the mount ended
``keep``     name        with a descriptor that is to be handed to all workers after it
``answer``   id line     to ``ask``; there may be more, the last with ``done``
             done

is told
``go``                   nobody else serves: serve
``stop``     seconds     store what is not stored, in so many seconds, and say ``saved``; go on serving
``yield``    seconds     read no more requests, end those that were read, in so many seconds, and end
``ask``      id do with  ``status``, or a command of the file system
``drop``     id          nobody waits for that answer any more
============ =========== =======================================================================================

Who reads a word that is not here is of an older release, and does nothing. The end of the socket is the end of the supervisor: the worker
reads no more requests, stores what it can and ends.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

from .protocol.agree import Agreed
from .protocol.codes import Init

# The installation whose code this process runs. Where several lie behind one link, that link may lead elsewhere by now.
PROGRAM: Final = str(Path(sys.prefix).resolve())
_LONGEST: Final = 1 << 16
_MOST_DESCRIPTORS: Final = 4
# What each word has to have; of what it may have besides, newer releases know.
_FACTS: Final[dict[str, dict[str, Any]]] = {
    "beat": {"dirty": int},
    "saved": {"dirty": int, "names": list},
    "keep": {"name": str},
    "answer": {"id": int, "line": dict},
    "stop": {"seconds": int | float},
    "yield": {"seconds": int | float},
    "ask": {"id": int, "do": str, "with": dict},
    "drop": {"id": int},
}


class Session:
    """Names of those by which a mount can be served. Only the first hands a mount from one worker to the next."""

    DIRECT: Final = "direct"
    PYFUSE3: Final = "pyfuse3"


class GarbledError(ValueError):
    """What is no message."""


class Message(NamedTuple):
    word: str
    facts: dict[str, Any]
    descriptors: tuple[int, ...] = ()


class Channel:
    """One end. It never waits: who has no room or no message is told so by BlockingIOError."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        end.setblocking(False)

    def fileno(self) -> int:
        return self._end.fileno()

    def send(self, word: str, *descriptors: int, **facts: Any) -> None:
        """
        :raises ValueError: when it is longer than a message may be
        :raises OSError: when the other end is gone
        """
        packet = json.dumps({"word": word, **facts}).encode()
        if len(packet) > _LONGEST:
            raise ValueError(f"The message {word} has {len(packet)} bytes; one may have {_LONGEST}.")
        socket.send_fds(self._end, [packet], descriptors)

    def receive(self) -> Message | None:
        """None at the end.

        :raises GarbledError:
        """
        try:
            packet, descriptors, _flags, _address = socket.recv_fds(self._end, _LONGEST, _MOST_DESCRIPTORS)
        except ConnectionResetError:  # it ended, and had not read everything
            return None
        if not packet:
            return None
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        try:
            return Message(*_read(packet), tuple(descriptors))
        except GarbledError:
            for descriptor in descriptors:
                os.close(descriptor)
            raise

    def close(self) -> None:
        self._end.close()


def _read(packet: bytes) -> tuple[str, dict[str, Any]]:
    try:
        found = json.loads(packet)
    except ValueError:
        found = None
    if isinstance(found, dict) and isinstance(found.get("word"), str):
        word = found.pop("word")
        if all(isinstance(found.get(name), kind) for name, kind in _FACTS.get(word, {}).items()):
            return word, found
    raise GarbledError(f"A message of the other process cannot be read: {packet[:64]!r}")


class Handed(NamedTuple):
    """What a worker is born with; descriptors by their number."""

    fuse: int
    region: int
    control: int
    kept: dict[str, int]
    agreed: Agreed
    beat: float  # seconds between two
    longest: float  # seconds of an operation
    session: str  # by which the mount is served, a name of Session
    grace: float  # seconds to store what is not stored, when the supervisor is gone
    json: bool  # how to log
    files: dict[str, Any]  # of the file system, with its secrets
    # Supervisors of older releases say none of these.
    level: str = "INFO"  # of the log
    restarts: int = 0  # workers of this mount before this one

    def __repr__(self) -> str:
        return f"Handed({', '.join(f'{name}={value!r}' for name, value in self._asdict().items() if name != 'files')})"


def memory(content: bytes, name: str) -> int:
    """A descriptor of memory that holds it."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(content)
    return descriptor


def content(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def store(found: object, name: str) -> int:
    """A descriptor of memory that holds it as JSON."""
    return memory(json.dumps(found).encode(), name)


def load(descriptor: int) -> Any:
    return json.loads(content(descriptor))


def agreed_from(stored: list[int]) -> Agreed:
    minor, flags, *rest = stored
    return Agreed(minor, Init(flags), *rest)


def handed_from(stored: dict[str, Any]) -> Handed:
    # A supervisor of an older release names no session.
    return Handed(**{"session": Session.DIRECT, **stored, "agreed": agreed_from(stored["agreed"])})
