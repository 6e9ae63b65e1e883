# SPDX-License-Identifier: Apache-2.0
"""What of a file is there, against a set of pieces."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies as st
from paddleflow_fuse.cache.pieces import HEAD, PIECE, MapError, Pieces, bounds, count, map_size, runs

SIZES = st.integers(0, 6 * PIECE + 1)
BOOT = b"b" * 16


def lacking(size: int, there: set[int], offset: int, length: int) -> set[int]:
    return {piece for piece in range(count(size)) if piece not in there and overlaps(piece, size, offset, length)}


def overlaps(piece: int, size: int, offset: int, length: int) -> bool:
    start, long = bounds(piece, size)
    return max(start, offset) < min(start + long, offset + length)


@hypothesis.given(data=st.data(), size=SIZES)
def test_what_is_there_is_what_was_kept(data: st.DataObject, size: int) -> None:
    pieces = Pieces(size)
    there: set[int] = set()
    for _step in range(data.draw(st.integers(0, 6))):
        first = data.draw(st.integers(0, count(size)))
        end = min(data.draw(st.integers(first, count(size))) * PIECE, size)
        if end < first * PIECE:
            continue
        taken = pieces.take(first * PIECE, end - first * PIECE)
        assert set(taken) == {piece for piece in range(first, count(end)) if piece not in there}
        assert pieces.take(first * PIECE, end - first * PIECE) == []  # somebody writes them
        if data.draw(st.booleans()):
            pieces.keep(taken, [piece * 7 for piece in taken])
            there.update(taken)
        else:
            pieces.give_up(taken)
        for lost in data.draw(st.sets(st.sampled_from(sorted(there)))) if there else ():
            turns = pieces.turns
            pieces.lose([lost])
            others = pieces.take(0, size)
            assert lost not in others
            pieces.give_up([lost, *others])
            there.discard(lost)
            assert pieces.turns != turns
    offset, length = data.draw(st.integers(0, size + PIECE)), data.draw(st.integers(0, size + PIECE))
    lacks = lacking(size, there, offset, length)
    assert pieces.has(offset, length) == (not lacks)
    found = pieces.missing(offset, length)
    assert {piece for start, long in found for piece in range(start // PIECE, count(start + long))} == lacks
    assert all(start % PIECE == 0 and (start + long == size or long % PIECE == 0) for start, long in found)
    assert (pieces.there, pieces.complete, pieces.present) == (len(there), len(there) == count(size), sorted(there))


@hypothesis.given(size=SIZES, there=st.sets(st.integers(0, 6)), lost=st.sets(st.integers(0, 6)), cut=st.integers(0, 40))
def test_a_map_says_what_was_noted_and_not_lost(size: int, there: set[int], lost: set[int], cut: int) -> None:
    noted = sorted(piece for piece in there if piece < count(size))
    erased = sorted(piece for piece in lost if piece < count(size))
    data = bytearray(Pieces(size).head(BOOT)) + bytes(map_size(size) - HEAD.size)
    for note in Pieces.notes(noted, [piece + 1 for piece in noted]) + Pieces.erasures(erased):
        data[note.offset : note.offset + len(note.data)] = note.data
    left = set(noted) - set(erased)
    believed = Pieces.read(bytes(data), (b"o" * 16, BOOT))
    assert set(believed.present) == left
    assert [believed.sums[piece] for piece in sorted(left)] == [piece + 1 for piece in sorted(left)]
    doubted = Pieces.read(bytes(data))
    assert (set(doubted.doubtful), doubted.present, doubted.has(0, size)) == (left, [], size == 0)
    # Its end is not written before anything is noted there.
    short = Pieces.read(bytes(data[: max(len(data) - cut, HEAD.size)]), (BOOT,))
    assert set(short.present) <= left


def test_what_is_doubtful_is_neither_there_nor_written_again() -> None:
    size = 2 * PIECE
    data = Pieces(size).head(BOOT) + b"".join(note.data for note in Pieces.notes([0, 1], [5, 6]))
    pieces = Pieces.read(data)
    assert pieces.take(0, size) == []
    pieces.trust(0)
    assert (pieces.reject(1), pieces.reject(0)) == ([1], [])
    assert (pieces.has(0, PIECE), pieces.has(PIECE, 1), pieces.there) == (True, False, 1)


@pytest.mark.parametrize(("offset", "size"), [(1, PIECE), (0, 1), (0, 4 * PIECE), (-PIECE, PIECE), (PIECE, PIECE + 1)])
def test_a_part_that_cuts_a_piece_is_refused(offset: int, size: int) -> None:
    with pytest.raises(ValueError, match="no whole pieces"):
        Pieces(2 * PIECE + 10).take(offset, size)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"short",
        bytes(HEAD.size),
        b"x" * 40,
        Pieces(5).head(BOOT).replace(b"pfpieces", b"pfpieceX"),
        Pieces(5).head(BOOT) + bytes(9),
    ],
)
def test_what_is_no_map_of_ours_is_refused(data: bytes) -> None:
    with pytest.raises(MapError):
        Pieces.read(data)


def test_numbers_in_a_row_are_one_run() -> None:
    assert runs([1, 2, 3, 5, 7, 8]) == [(1, 3), (5, 5), (7, 8)]
    assert runs([]) == []
