# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from paddleflow_fuse.cache.memory import BLOCK, Memory

KEY = b"k" * 16


def held(memory: Memory, key: bytes, number: int) -> bytes | None:
    found = memory.get(key, number)
    return None if found is None else bytes(found)


def test_what_was_used_last_stays() -> None:
    memory = Memory(16 * 1400)
    for number in range(16):
        assert memory.put(KEY, number, bytes(1000))
    assert held(memory, KEY, 0) == bytes(1000)
    memory.put(b"other", 0, b"x" * 1000)
    assert held(memory, KEY, 0) == bytes(1000)
    assert memory.get(KEY, 1) is None
    assert held(memory, b"other", 0) == b"x" * 1000
    assert (len(memory), memory.evictions) == (16, 1)


def test_a_block_that_would_push_out_too_much_is_refused() -> None:
    memory = Memory(80_000)
    assert not memory.put(KEY, 0, bytes(10_000))
    assert memory.put(KEY, 0, bytes(9_000))
    assert (memory.refused, len(memory)) == (1, 1)


def test_a_block_that_comes_again_is_counted_once() -> None:
    memory = Memory(80_000)
    memory.put(KEY, 0, bytes(100))
    used = memory.used
    memory.put(KEY, 0, bytes(200))
    assert (held(memory, KEY, 0), memory.used) == (bytes(200), used + 100)
    memory.clear()
    assert (memory.used, memory.get(KEY, 0)) == (0, None)


def test_a_smaller_budget_holds_at_once() -> None:
    memory = Memory(1 << 20)
    for number in range(100):
        memory.put(KEY, number, bytes(5000))
    memory.resize(50_000)
    assert 0 < memory.used <= 50_000
    assert memory.get(KEY, 99)
    assert memory.get(KEY, 0) is None


@pytest.mark.parametrize("size", [0, 10, 3000])
def test_the_budget_holds_whoever_writes(size: int) -> None:
    memory = Memory(100_000)

    def work(thread: int) -> int:
        most = 0
        for number in range(500):
            memory.put(b"%d" % thread, number, bytes(size))
            most = max(most, memory.used)
        return most

    with ThreadPoolExecutor(8) as threads:
        assert max(threads.map(work, range(8))) <= 100_000
    assert memory.used == len(memory) * (size + 400)


def test_what_came_at_once_is_kept_as_it_is_and_goes_as_one() -> None:
    memory, data = Memory(64 * BLOCK), bytes(3 * BLOCK + 10)
    assert memory.put(KEY, 5, memoryview(data))
    blocks = [memory.get(KEY, number) for number in range(5, 9)]
    assert all(block is not None and block.obj is data for block in blocks)
    assert [len(block or b"") for block in blocks] == [BLOCK, BLOCK, BLOCK, 10]
    assert memory.get(KEY, 9) is None
    memory.resize(2 * BLOCK)
    assert (len(memory), memory.used, memory.evictions) == (0, 0, 1)


def test_of_what_is_smaller_than_a_block_nothing_larger_is_held() -> None:
    memory, data = Memory(64 * BLOCK), bytes(3 * BLOCK)
    memory.put(KEY, 0, memoryview(data)[:4096])
    found = memory.get(KEY, 0)
    assert found is not None
    assert found.obj is not data


def test_what_would_push_out_too_much_at_once_is_taken_by_blocks() -> None:
    memory = Memory(17 * BLOCK)
    data = b"".join(bytes([number]) * BLOCK for number in range(8))
    assert memory.put(KEY, 0, data)
    assert [bytes(memory.get(KEY, number) or b"") for number in range(8)] == [
        bytes([number]) * BLOCK for number in range(8)
    ]
    memory.resize(4 * BLOCK)
    assert memory.get(KEY, 0) is None
    assert memory.get(KEY, 7) is not None


def test_a_piece_takes_the_place_of_all_that_it_overlaps() -> None:
    memory = Memory(64 * BLOCK)
    memory.put(KEY, 0, bytes(2 * BLOCK))
    memory.put(KEY, 1, b"x" * (2 * BLOCK))
    assert [memory.has(KEY, number) for number in range(4)] == [False, True, True, False]
    assert memory.used == 2 * BLOCK + 2 * 400


def test_what_was_passed_goes_first_unless_somebody_asks_again() -> None:
    memory = Memory(32 * BLOCK)
    for number in range(0, 12, 2):
        memory.put(KEY, number, bytes(2 * BLOCK - 1000))
    memory.passed(KEY, 0)  # not its end
    for number in (1, 3):
        memory.passed(KEY, number)
    assert memory.has(KEY, 0)  # a share of it is kept
    assert memory.get(KEY, 0)
    for number in (5, 7):
        memory.passed(KEY, number)
    assert [number for number in range(12) if memory.has(KEY, number)] == [0, 1, 4, 5, 6, 7, 8, 9, 10, 11]
    memory.clear()
    assert memory.put(KEY, 0, bytes(10))
    memory.passed(KEY, 0)
    assert memory.has(KEY, 0)
