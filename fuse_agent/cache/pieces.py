# SPDX-License-Identifier: Apache-2.0
"""Which pieces of a file are there, and their checksums: in memory, and as they stand beside a file that is not whole yet.

A piece is noted after it was written. Who is killed between the two has written it for nothing; who is killed after leaves both, as
long as the machine goes on. After the machine died, neither says anything of the other, and only the checksum tells.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

PIECE: Final = 1 << 17
HEAD: Final = struct.Struct("<8sIIQ16s")
_MAGIC: Final = b"pfpieces"
_LAYOUT: Final = 1
# Of each piece: its checksum, and that it is there.
_NOTE: Final = struct.Struct("<II")
_THERE: Final = 0x65636570

_ABSENT, _PRESENT, _DOUBTFUL, _WRITING = range(4)


class MapError(ValueError):
    """Notes of another release, of another file, or of nobody of ours."""


class Note(NamedTuple):
    offset: int  # in the map
    data: bytes


class Pieces:
    """
    :ivar there: how many are
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.count = count(size)
        self.there = 0
        self._states = bytearray(self.count)
        self._sums = array("I", bytes(4 * self.count))
        self._turns = 0

    @property
    def complete(self) -> bool:
        return self.there == self.count

    @property
    def doubtful(self) -> list[int]:
        """Those of which only a comparison with their checksum tells whether they are there."""
        return self.doubtful_in(0, self.size)

    def doubtful_in(self, offset: int, size: int) -> list[int]:
        return [piece for piece in range(*self._span(offset, size)) if self._states[piece] == _DOUBTFUL]

    def doubts(self, offset: int, size: int) -> bool:
        """Whether some piece of a part is doubtful."""
        return self._states.find(_DOUBTFUL, *self._span(offset, size)) >= 0

    @property
    def present(self) -> list[int]:
        return [piece for piece, state in enumerate(self._states) if state == _PRESENT]

    @property
    def noted(self) -> list[int]:
        """Those that are there, and those that may be."""
        return [piece for piece, state in enumerate(self._states) if state in (_PRESENT, _DOUBTFUL)]

    @property
    def turns(self) -> int:
        """Another number after a piece went: who read meanwhile may have read nothing."""
        return self._turns

    @property
    def sums(self) -> array[int]:
        return self._sums

    def has(self, offset: int, size: int) -> bool:
        first, end = self._span(offset, size)
        return self._states.count(_PRESENT, first, end) == end - first

    def missing(self, offset: int, size: int) -> list[tuple[int, int]]:
        """Runs of whole pieces, as offsets and sizes."""
        first, end = self._span(offset, size)
        runs: list[tuple[int, int]] = []
        start = -1
        for piece in range(first, end + 1):
            lacks = piece < end and self._states[piece] != _PRESENT
            if lacks and start < 0:
                start = piece
            elif not lacks and start >= 0:
                runs.append((start * PIECE, min(piece * PIECE, self.size) - start * PIECE))
                start = -1
        return runs

    def take(self, offset: int, size: int) -> list[int]:
        """Those of a part that are not there and that nobody writes; who is given them writes them.

        :raises ValueError: of a part that cuts a piece
        """
        end = offset + size
        if offset < 0 or offset % PIECE or end > self.size or (end % PIECE and end != self.size):
            raise ValueError(f"{size} bytes at {offset} of {self.size} are no whole pieces of {PIECE}.")
        taken = [piece for piece in range(offset // PIECE, count(end)) if self._states[piece] == _ABSENT]
        for piece in taken:
            self._states[piece] = _WRITING
        return taken

    def give_up(self, taken: list[int]) -> None:
        for piece in taken:
            self._states[piece] = _ABSENT

    def keep(self, taken: list[int], sums: list[int]) -> None:
        for piece, checksum in zip(taken, sums, strict=True):
            self._states[piece], self._sums[piece] = _PRESENT, checksum
        self.there += len(taken)

    def know(self, sums: Sequence[int]) -> None:
        """Of all pieces, which are doubtful until they are compared."""
        self._sums = array("I", sums)

    def trust(self, piece: int) -> bool:
        """A doubtful one, after it was compared; False when somebody else has done it."""
        was_doubtful = self._states[piece] == _DOUBTFUL
        if was_doubtful:
            self._states[piece] = _PRESENT
            self.there += 1
        return was_doubtful

    def reject(self, piece: int) -> list[int]:
        """A doubtful one, after it was compared: it is lost."""
        if self._states[piece] != _DOUBTFUL:
            return []
        self.lose([piece])
        return [piece]

    def lose(self, lost: list[int]) -> None:
        """They are nobody's until they are given up."""
        for piece in lost:
            self.there -= self._states[piece] == _PRESENT
            self._states[piece] = _WRITING
        self._turns += 1

    @classmethod
    def doubted(cls, size: int) -> Pieces:
        """All of a whole file; `know` tells their checksums."""
        pieces = cls(size)
        pieces._states, pieces._sums = bytearray([_DOUBTFUL]) * pieces.count, array("I")
        return pieces

    # --- as they stand beside the file --------------------------------------------------------

    def head(self, boot: bytes) -> bytes:
        return HEAD.pack(_MAGIC, _LAYOUT, PIECE, self.size, boot)

    @staticmethod
    def notes(taken: list[int], sums: list[int]) -> list[Note]:
        """What is written into the map: one for each run of pieces."""
        return _runs(taken, [_NOTE.pack(checksum, _THERE) for checksum in sums])

    @staticmethod
    def erasures(lost: list[int]) -> list[Note]:
        return _runs(lost, [bytes(_NOTE.size)] * len(lost))

    @classmethod
    def read(cls, data: bytes, boots: Sequence[bytes] = ()) -> Pieces:
        """
        :param boots: runs of the machine of which notes are believed
        :raises MapError:
        """
        if len(data) < HEAD.size:
            raise MapError("The map is too short.")
        magic, layout, piece, size, boot = HEAD.unpack_from(data)
        if (magic, layout, piece) != (_MAGIC, _LAYOUT, PIECE):
            raise MapError(f"The map has layout {layout}, but this release reads {_LAYOUT}.")
        if len(data) > map_size(size):
            raise MapError(f"The map has {len(data)} bytes, more than a file of {size} needs.")
        pieces = cls(size)
        state = _PRESENT if boot in boots else _DOUBTFUL
        whole = len(data) - (len(data) - HEAD.size) % _NOTE.size
        for index, (checksum, mark) in enumerate(_NOTE.iter_unpack(data[HEAD.size : whole])):
            if mark == _THERE:
                pieces._states[index], pieces._sums[index] = state, checksum
        pieces.there = pieces._states.count(_PRESENT)
        return pieces

    def _span(self, offset: int, size: int) -> tuple[int, int]:
        end = min(offset + size, self.size)
        return (offset // PIECE, count(end)) if offset < end else (0, 0)


def count(size: int) -> int:
    """Of the pieces of so many bytes."""
    return -(-size // PIECE)


def map_size(size: int) -> int:
    return HEAD.size + count(size) * _NOTE.size


def bounds(piece: int, size: int) -> tuple[int, int]:
    """Where a piece begins, and how long it is, in a file of that size."""
    return piece * PIECE, min(PIECE, size - piece * PIECE)


def checksums(data: memoryview) -> list[int]:
    return [zlib.crc32(data[start : start + PIECE]) for start in range(0, len(data), PIECE)]


def runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Ascending numbers as first and last of each run."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _runs(pieces: list[int], notes: list[bytes]) -> list[Note]:
    by_piece = dict(zip(pieces, notes, strict=True))
    return [
        Note(HEAD.size + first * _NOTE.size, b"".join(by_piece[piece] for piece in range(first, last + 1)))
        for first, last in runs(sorted(pieces))
    ]
