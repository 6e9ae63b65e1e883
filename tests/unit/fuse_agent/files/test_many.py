# SPDX-License-Identifier: Apache-2.0
"""Rows of small work: each piece is done once and told of once, by few threads, whatever becomes of one of them."""

from __future__ import annotations

import threading

import trio
from paddleflow_fuse.files.work import Work

THREADS = 4


class Told:
    """What came of each."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, int | None]] = []
        self._enough, self._count = trio.Event(), 0

    def __call__(self, number: int, answer: int | None) -> None:
        self.answers.append((number, answer))
        if len(self.answers) == self._count:
            self._enough.set()

    async def wait(self, count: int) -> None:
        self._enough, self._count = trio.Event(), count
        if len(self.answers) < count:
            with trio.fail_after(30):
                await self._enough.wait()


def test_all_are_done_once_by_few_threads_that_go_on_with_the_next_row() -> None:
    threads, told = set[int](), Told()

    def call(number: int) -> int:
        threads.add(threading.get_ident())
        return number * 2

    async def test() -> None:
        async with trio.open_nursery() as nursery:
            work = Work(nursery, rows=THREADS)
            for row in range(20):
                work.rows.add(range(row * 50, row * 50 + 50), call, told)
                assert work.waiting["ahead"] <= 50
                await told.wait(row * 50 + 50)
            assert work.waiting["ahead"] == 0

    trio.run(test)
    assert sorted(told.answers) == [(number, number * 2) for number in range(1000)]
    assert len(threads) <= THREADS


def test_who_has_a_defect_leaves_nothing_undone() -> None:
    told = Told()

    def call(number: int) -> int:
        if number % 5 == 0:
            raise ValueError("a defect")
        return number

    async def test() -> None:
        async with trio.open_nursery() as nursery:
            Work(nursery, rows=THREADS).rows.add(range(60), call, told)
            await told.wait(60)

    trio.run(test)
    assert sorted(told.answers, key=lambda one: one[0]) == [
        (number, number if number % 5 else None) for number in range(60)
    ]


def test_what_is_not_begun_when_all_ends_is_told_of_as_well() -> None:
    told = Told()
    begun, may = threading.Semaphore(0), threading.Event()

    def call(number: int) -> int:
        begun.release()
        may.wait(30)
        return number

    async def test() -> None:
        async with trio.open_nursery() as nursery:
            Work(nursery, rows=THREADS).rows.add(range(60), call, told)
            for _thread in range(THREADS):
                await trio.to_thread.run_sync(begun.acquire)
            nursery.cancel_scope.cancel()

    try:
        trio.run(test)
    finally:
        may.set()
    assert [answer for _number, answer in told.answers] == [None] * (60 - THREADS)
