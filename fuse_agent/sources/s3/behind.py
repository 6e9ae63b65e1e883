# SPDX-License-Identifier: Apache-2.0
"""Files that are still being written: parts of them are sent before anybody stores them, in an upload that nobody sees. Who stores the
file has each of these parts looked at again, and sends those that are not what was sent."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from .bodies import Slice
from .multipart import Part
from .quick import WRITE, new_mark

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    from .multipart import Multipart, Sent

# So many parts are of one size, and the next ones twice as large: the 10,000 that there may be are enough for any object.
ALIKE: Final = 1000
# Larger ones, which begin beyond 56 GB, are not copied to memory, and so are sent when the file is stored.
LARGEST: Final = 32 << 20


def growing(size: int, first: int) -> Iterator[Part]:
    """The parts of a file, which stay where they are while it becomes larger.

    :param first: bytes of the first ones
    """
    number, offset = 1, 0
    while offset < size:
        step = first << ((number - 1) // ALIKE)
        yield Part(number, offset, min(step, size - offset))
        number, offset = number + 1, offset + step


def due(size: int, first: int, known: Container[int], written: Callable[[int], int]) -> Part | None:
    """What is sent next: a part behind which as much again was written, so that it is most likely left alone from now on.

    :param known: numbers of parts that were sent, or are on their way
    :param written: up to where there is no hole, from an offset on
    """
    for part in growing(size, first):
        end = part.offset + 2 * part.size
        if end > size or part.size > LARGEST:
            return None
        if part.number not in known and written(part.offset) >= end:
            return part
    return None


def is_there(part: Part, sent: Sent | None, sum_: Callable[[Part], str]) -> bool:
    """Whether what was sent of a part is what it holds now.

    :param sum_: its SHA-256
    """
    return sent is not None and sent.size == part.size and sent.sum == sum_(part)


class Growing:
    """The upload of one file.

    :ivar mark: by which its object is known again
    :ivar upload: "" until it was begun
    :ivar under_way: numbers of parts
    """

    def __init__(self) -> None:
        self.mark, self.upload = new_mark(), ""
        self.sent: dict[int, Sent] = {}
        self.under_way: set[int] = set()


class Behind:
    """By the keys of what they are to become. Whose file a part was of does not matter: it counts where it is the same."""

    def __init__(self, multipart: Multipart, first: int) -> None:
        """
        :param first: bytes of the first parts
        """
        self._multipart, self._first = multipart, first
        self._changed = threading.Condition()
        self._growing: dict[str, Growing] = {}

    def send(self, key: str, descriptor: int) -> int:
        """
        :returns: bytes of the part that was sent, 0 when none is due
        """
        with self._changed:
            while self._is_about_to_begin(key):
                self._changed.wait()
            one = self._growing.get(key) or Growing()
            size, known = os.fstat(descriptor).st_size, {*one.sent, *one.under_way}
            part = due(size, self._first, known, partial(_written, descriptor, size))
            if part is None:
                return 0
            self._growing[key] = one
            one.under_way.add(part.number)
        try:
            one.upload = one.upload or self._multipart.begin(key, {WRITE: one.mark}, tries=1)
            one.sent[part.number] = self._multipart.send_copy(key, descriptor, one.upload, part)
        finally:
            with self._changed:
                one.under_way.remove(part.number)
                self._changed.notify_all()
        return part.size

    def _is_about_to_begin(self, key: str) -> bool:
        one = self._growing.get(key)
        return one is not None and bool(one.under_way) and not one.upload

    def take(self, key: str) -> Growing | None:
        """What was sent, for who stores the file: nobody adds to it any more."""
        with self._changed:
            one = self._growing.pop(key, None)
            while one is not None and one.under_way:
                self._changed.wait()
        return one if one is not None and one.upload else None

    def drop(self, key: str) -> None:
        """Nobody stores it."""
        one = self.take(key)
        if one is not None:
            with suppress(OSError):  # then the journal has it
                self._multipart.abort(key, one.upload, tries=1)

    def finish(self, key: str, one: Growing, descriptor: int, size: int, **over: str) -> str:
        """
        :param over: boto3's conditions
        :returns: the new etag
        """

        def act(upload: str, part: Part) -> Mapping[str, Any]:
            sent = one.sent.get(part.number)
            if sent is not None and is_there(part, sent, partial(_sum, descriptor)):
                return sent.told
            return self._multipart.send(key, descriptor, upload, part)

        return self._multipart.finish(key, one.upload, list(growing(size, self._first)), act, **over)


def _written(descriptor: int, size: int, offset: int) -> int:
    try:
        return os.lseek(descriptor, offset, os.SEEK_HOLE)
    except OSError as error:
        if error.errno == errno.ENXIO:  # it was cut off
            return offset
        if error.errno == errno.EINVAL:  # its disk knows no holes
            return size
        raise


def _sum(descriptor: int, part: Part) -> str:
    return hashlib.file_digest(Slice(descriptor, part.offset, part.size), "sha256").hexdigest()
