# SPDX-License-Identifier: Apache-2.0
"""A source in a process of its own.

What parses listings or signs requests in Python holds the interpreter, and whoever serves a mount from the same one would answer
late; and it is large. So that is done in a helper, which any number of threads here wait for.
"""

from __future__ import annotations

import errno
import logging
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from ..metrics import Request
from .base import NOTHING, Abilities, Found, Kept, Page, Room, Source
from .channel import GOES_ON, Channel, pair
from .complaints import Complaints

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .base import Data, Part, Tell
    from .make import Wanted
    from .xattrs import Xattrs

_LOG = logging.getLogger(__name__)
_HELPER: Final = (sys.executable, "-P", "-m", "paddleflow_fuse.sources.helper")
# Helpers that ended by themselves within so many seconds, before it is left alone.
_MOST, _WINDOW = 5, 60.0
# Seconds in which one that lost a channel ends.
_ENDING: Final = 2.0
# Seconds without a word; a source's own patience is shorter, and what takes longer says that it goes on.
_LONGEST: Final = 600.0
# Those in which it says that it lives.
_LIVES: Final = 10.0
# What changes nothing is asked again when a helper ended over it.
_QUESTIONS: Final = frozenset((
    "find", "find_file", "find_new", "read", "read_replaced", "target", "xattrs", "space", "abilities", "credentials", "keep_folder",
    "drop_behind",
))  # fmt: skip
_RESUMED: Final = "rename_folder"  # by what it noted


class _LostError(Exception):
    """The helper ended before it answered."""


class FarSource(Source):
    """
    :ivar process: the helper
    """

    def __init__(self, wanted: Wanted, tell: Tell, abilities: Abilities | None = None) -> None:
        """
        :param tell: of each request that the helper made
        :param abilities: those of the source, where they are known; then nobody waits here until the helper is loaded
        :raises OSError: when there is no such source, as far as it was asked
        """
        self._wanted, self._tell = wanted, tell
        self._lock = threading.Lock()
        self._complaints: Complaints | None = None
        self._free: list[Channel] = []
        self._ends: deque[float] = deque(maxlen=_MOST)
        self.process: subprocess.Popen[bytes] | None = None
        self._control: Channel | None = None
        try:
            if abilities is None:
                abilities = self._ask("abilities")
            else:
                with self._lock:
                    self._helper()
        except BaseException:
            self.close()
            raise
        self.abilities: Abilities = abilities

    def opened(self) -> None:
        self._complaints = Complaints()

    def find(self, path: bytes) -> Found:
        found: Found = self._ask("find", path)
        return found

    def find_file(self, path: bytes) -> Found:
        found: Found = self._ask("find_file", path)
        return found

    def find_new(self, path: bytes) -> Found:
        found: Found = self._ask("find_new", path)
        return found

    def list(self, path: bytes) -> Iterator[Page]:
        begun = False
        for _attempt in range(2):
            try:
                with self._channel() as channel:
                    channel.send(("list", (path,)))
                    while (page := self._answer(channel, "list")) is not None:
                        begun = True
                        yield page
            except _LostError:
                if begun:
                    raise OSError(errno.EIO, "the helper ended in the middle of a listing", path) from None
            else:
                return
        raise OSError(errno.EIO, "two helpers ended over a listing", path)

    def read(self, path: bytes, version: bytes, offset: int, size: int) -> Data:
        data: Data = self._ask("read", path, version, offset, size)
        return data

    def read_replaced(self, path: bytes, version: bytes, offset: int, size: int) -> Data:
        data: Data = self._ask("read_replaced", path, version, offset, size)
        return data

    def store(self, path: bytes, descriptor: int, size: int, kept: Kept = NOTHING, over: bytes | None = None) -> Found:
        found: Found = self._ask("store", path, size, kept, over, descriptors=(descriptor,))
        return found

    def patch(
        self, path: bytes, descriptor: int, parts: Sequence[Part], version: bytes, kept: Kept = NOTHING,
        over: bytes | None = None,
    ) -> Found:  # fmt: skip
        found: Found = self._ask("patch", path, list(parts), version, kept, over, descriptors=(descriptor,))
        return found

    def send_behind(self, path: bytes, descriptor: int) -> int:
        sent: int = self._ask("send_behind", path, descriptors=(descriptor,))
        return sent

    def drop_behind(self, path: bytes) -> None:
        self._ask("drop_behind", path)

    def make_folder(self, path: bytes, kept: Kept = NOTHING) -> Found:
        found: Found = self._ask("make_folder", path, kept)
        return found

    def remove(self, path: bytes) -> None:
        self._ask("remove", path)

    def remove_folder(self, path: bytes) -> None:
        self._ask("remove_folder", path)

    def rename(self, old: bytes, new: bytes) -> None:
        self._ask("rename", old, new)

    def rename_folder(self, old: bytes, new: bytes, steps: int) -> None:
        self._ask("rename_folder", old, new, descriptors=(steps,))

    def link(self, path: bytes, target: bytes) -> Found:
        found: Found = self._ask("link", path, target)
        return found

    def target(self, path: bytes) -> bytes:
        found: bytes = self._ask("target", path)
        return found

    def keep(self, path: bytes, kept: Kept) -> Found:
        found: Found = self._ask("keep", path, kept)
        return found

    def xattrs(self, path: bytes) -> Xattrs:
        found: Xattrs = self._ask("xattrs", path)
        return found

    def sync(self, path: bytes) -> None:
        self._ask("sync", path)

    def space(self) -> Room | None:
        told: Room | None = self._ask("space")
        return told

    def credentials(self) -> tuple[str, str, str]:
        """Of a source whose keys are found by what only the helper has."""
        found: tuple[str, str, str] = self._ask("credentials")
        return found

    def close(self) -> None:
        with self._lock:
            for channel in self._free:
                channel.close()
            self._free.clear()
            if self._control is not None:
                self._control.close()
            if self.process is not None:
                self.process.wait()

    def _ask(self, name: str, *given: Any, descriptors: tuple[int, ...] = ()) -> Any:
        try:
            return self._once(name, given, descriptors)
        except _LostError:
            if name not in _QUESTIONS and not (name == _RESUMED and self.abilities.resumes):
                raise OSError(
                    errno.EIO, f"the helper that was asked to {name} ended; whether it was done is not known"
                ) from None
        try:
            return self._once(name, given, descriptors)
        except _LostError:
            raise OSError(errno.EIO, f"two helpers ended over {name}") from None

    def _once(self, name: str, given: tuple[Any, ...], descriptors: tuple[int, ...]) -> Any:
        with self._channel() as channel:
            channel.send((name, given), *descriptors)
            return self._answer(channel, name)

    def _answer(self, channel: Channel, name: str) -> Any:
        value: Any = GOES_ON
        while value == GOES_ON:
            (value, error, requests), _descriptors = channel.receive()
            for one in requests:
                self._tell(one)
        if error is not None:
            if error.errno == errno.EACCES:
                self._tell(Request("", 0, refused=str(error)))
            if self._complaints is not None:
                self._complaints.tell(name, error)
            raise error
        return value

    @contextmanager
    def _channel(self) -> Iterator[Channel]:
        """One that nobody else uses meanwhile. What is raised by the source leaves it as it was."""
        with self._lock:
            channel = self._free.pop() if self._free else self._open()
        channel.limit(_LONGEST)
        try:
            yield channel
        except (EOFError, ConnectionError):
            channel.close()
            self._lost()
            raise _LostError from None
        except OSError as error:
            if isinstance(error, TimeoutError) and error.errno is None:  # of the socket: the answer may still come
                channel.close()
                self._end_if_stuck()
                raise OSError(errno.EIO, f"the helper did not answer within {_LONGEST:g} s") from None
            self._free.append(channel)
            raise
        except BaseException:
            channel.close()
            raise
        else:
            self._free.append(channel)

    def _end_if_stuck(self) -> None:
        """What it was asked may take so long. But who does not even say that it lives is ended, and another begins."""
        process = self.process
        try:
            with self._lock:
                channel = self._open()
                process = self.process
            with closing(channel):
                channel.limit(_LIVES)
                channel.send(("alive", ()))
                self._answer(channel, "alive")
        except TimeoutError:
            _LOG.error("the helper gives no sign of life and is ended")
            if process is not None:
                process.kill()
        except (_LostError, EOFError, OSError):
            pass  # it has ended

    def _lost(self) -> None:
        """The other channels ended with it. It may take a moment until it is seen that it ended; who asks again asks another."""
        with self._lock:
            for channel in self._free:
                channel.close()
            self._free.clear()
            process = self.process
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_ENDING)

    def _open(self) -> Channel:
        """The lock is held."""
        control = self._helper()
        channel, theirs = pair()
        with theirs:
            try:
                control.send("channel", theirs.fileno())
            except OSError:
                channel.close()
                control.close()
                self._control = None
                raise _LostError from None
        return channel

    def _helper(self) -> Channel:
        if self._control is not None and self.process is not None:
            if self._control.is_over:  # it is about to end, if it has not
                self.process.wait()
            if self.process.poll() is None:
                return self._control
        now = time.monotonic()
        if self.process is not None:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_ENDING)
            self._ended(now)
        if self._control is not None:
            self._control.close()
        control, theirs = pair()
        with theirs:
            self.process = subprocess.Popen(
                [*_HELPER, str(theirs.fileno())], pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL
            )
        with suppress(BrokenPipeError):  # it has ended already, which is found by who asks it
            control.send(self._wanted)
        self._control = control
        return control

    def _ended(self, now: float) -> None:
        for channel in self._free:
            channel.close()
        self._free.clear()
        if len(self._ends) == _MOST and now - self._ends[0] < _WINDOW:
            raise OSError(errno.EIO, f"{_MOST} helpers ended within {_WINDOW:g} s; see above why")
        self._ends.append(now)
        _LOG.warning("a helper ended, and another begins")
