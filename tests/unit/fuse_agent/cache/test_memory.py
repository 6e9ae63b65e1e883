# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from paddleflow_fuse.cache.memory import Memory

KEY = b"k" * 16


def test_what_was_used_last_stays() -> None:
    memory = Memory(16 * 1400)
    for number in range(16):
        assert memory.put(KEY, number, bytes(1000))
    assert memory.get(KEY, 0) == bytes(1000)
    memory.put(b"other", 0, b"x" * 1000)
    assert memory.get(KEY, 0) == bytes(1000)
    assert memory.get(KEY, 1) is None
    assert memory.get(b"other", 0) == b"x" * 1000
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
    assert (memory.get(KEY, 0), memory.used) == (bytes(200), used + 100)
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
