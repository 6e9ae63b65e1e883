# SPDX-License-Identifier: Apache-2.0
"""However much is asked, an agent holds what is in use, and no more: nodes, descriptors and memory."""

from __future__ import annotations

import ctypes
import gc
import inspect
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from paddleflow_fuse.cache.claim import claim
from paddleflow_fuse.cache.disk import Disk
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.cache.room import Limits
from paddleflow_fuse.cli.ask import last
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.protocol import layout, requests
from paddleflow_fuse.protocol.codes import Op
from paddleflow_fuse.session.calls import CALLS, FORGETS, RECORDED, caller
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

from tests.conftest import EXTENDED
from tests.support.agent_command import Command
from tests.support.granted import until

TIMES = 100 if EXTENDED else 1
LOOKUPS = 100_000
CHANGES = 600
FILES = 500
FULL = 800  # files in the cache, before it is measured
# Of memory: what Python keeps for later use, and what the node table takes in pages. A byte for each lookup would show.
LEEWAY = (3 << 20) + (LOOKUPS * TIMES) // 8
MIB = 1 << 20
PATIENCE = 60.0
_REMOUNT = 32


class Kernel:
    """What a session does with each request, and nobody in between."""

    def __init__(self, operations: FileSystem) -> None:
        self._operations, self._count = operations, 0

    async def ask(self, op: int, node: int, *fixed: int, names: tuple[bytes, ...] = (), data: bytes = b"") -> bytes:
        self._count += 2
        body = layout.SHAPES[op].fixed.pack(*fixed) + b"".join(name + b"\0" for name in names) + data
        packet = layout.REQUEST.pack(40 + len(body), op, self._count, node, 0, 0, 1, 0, 0) + body
        request = requests.parse(packet)
        if op in FORGETS:
            self._operations.forget(requests.forgotten(request))
            return b""
        call, pack = CALLS[op]
        found = call(self._operations, caller(request), request)
        answer = bytes(pack(request, await found if inspect.isawaitable(found) else found))
        if op in RECORDED:
            self._operations.results.end(request.number, 0, answer)
        return answer

    async def look_up(self, name: bytes) -> int:
        return int.from_bytes((await self.ask(Op.LOOKUP, 1, names=(name,)))[:8], "little")

    async def forget(self, node: int, times: int = 1) -> None:
        await self.ask(Op.FORGET, node, times)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def held() -> tuple[int, int]:
    """Bytes of memory that is in use, and objects of Python's."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096, len(gc.get_objects())


async def look_up(kernel: Kernel, count: int, _round: int) -> None:
    for start in range(0, count, FILES):
        for index in range(min(FILES, count - start)):
            await kernel.forget(await kernel.look_up(b"file-%d" % index))
        await trio.lowlevel.checkpoint()


async def look_up_what_is_not_there(kernel: Kernel, count: int, turn: int) -> None:
    for index in range(count):
        await kernel.look_up(b"none-%d-%d" % (turn, index))


async def open_and_read(kernel: Kernel, count: int, _round: int) -> None:
    for index in range(count):
        node = await kernel.look_up(b"file-%d" % (index % 50))
        handle = int.from_bytes((await kernel.ask(Op.OPEN, node, os.O_RDONLY, 0))[:8], "little")
        assert await kernel.ask(Op.READ, node, handle, 0, 4096, 0, 0, 0) == b"content"
        await kernel.ask(Op.RELEASE, node, handle, 0, 0, 0)
        await kernel.forget(node)


async def make_and_remove(kernel: Kernel, count: int, turn: int) -> None:
    for index in range(count):
        name = b"new-%d-%d" % (turn, index)
        made = await kernel.ask(Op.CREATE, 1, os.O_RDWR, 0o644, 0, 0, names=(name,))
        node, handle = int.from_bytes(made[:8], "little"), int.from_bytes(made[layout.ENTRY.size :][:8], "little")
        await kernel.ask(Op.WRITE, node, handle, 0, 4, 0, 0, 0, data=b"data")
        await kernel.ask(Op.FLUSH, node, handle, 0)
        await kernel.ask(Op.RELEASE, node, handle, 0, 0, 0)
        handle = int.from_bytes((await kernel.ask(Op.OPEN, node, os.O_RDONLY, 0))[:8], "little")
        await kernel.ask(Op.RELEASE, node, handle, 0, 0, 0)
        await kernel.ask(Op.RENAME, 1, 1, names=(name, name + b"-moved"))
        await kernel.ask(Op.UNLINK, 1, names=(name + b"-moved",))
        await kernel.forget(node)


async def list_all(kernel: Kernel, count: int, _round: int) -> None:
    for _turn in range(count):
        after, seen = 0, 0
        while page := await kernel.ask(Op.READDIRPLUS, 1, 0, after, 1 << 16, 0, 0, 0):
            place, entry = 0, layout.ENTRY.size
            while place < len(page):
                node = int.from_bytes(page[place : place + 8], "little")
                _inode, after, length, _kind = layout.DIRENT.unpack_from(page, place + entry)
                if node:
                    await kernel.forget(node)
                seen += 1
                place += entry + -(-(layout.DIRENT.size + length) // 8) * 8
        assert seen == FILES + 2


async def idle(nursery: trio.Nursery) -> None:
    """What is done in the background has ended, and holds nothing."""
    with trio.fail_after(PATIENCE):
        while nursery.child_tasks:
            await trio.testing.wait_all_tasks_blocked(0.001)


WORK: dict[str, tuple[Callable[[Kernel, int, int], Any], int]] = {
    "lookups": (look_up, LOOKUPS * TIMES),
    "lookups of nothing": (look_up_what_is_not_there, LOOKUPS * TIMES // 10),
    "opens": (open_and_read, LOOKUPS * TIMES // 50),
    "changes": (make_and_remove, CHANGES * TIMES),
    "listings": (list_all, 20 * TIMES),
}


@pytest.mark.parametrize("work", list(WORK))
def test_nothing_is_held_for_nobody(work: str, tmp_path: Path) -> None:
    act, count = WORK[work]
    region, nodes = Region.create(), []

    async def measure() -> tuple[tuple[int, int], tuple[int, int]]:
        store = MemoryStore()
        source = ObjectSource(store, "")
        with tempfile.TemporaryFile() as file:
            file.write(b"content")
            file.flush()
            for index in range(FILES):
                source.store(b"file-%d" % index, file.fileno(), 7)
        disk = Disk(claim(tmp_path / "cache", {}), Limits(1 << 30, FULL))
        async with trio.open_nursery() as nursery:
            table = Nodes(region)
            parts = Parts(
                table,
                Opens(region, lambda _number: False),
                source,
                Memory(1 << 20),
                disk,
                Staging(tmp_path / "staging"),
            )
            files = FileSystem(nursery, parts, Settings(attributes_hold=3600, names_hold=3600, relaxed=True))
            kernel = Kernel(files)
            await list_all(kernel, 1, 0)
            await act(kernel, count // 2, 0)
            await idle(nursery)
            nodes.append(len(table))
            before, open_ = held(), descriptors()
            await act(kernel, count, 1)
            await idle(nursery)
            nodes.append(len(table))
            after = held()
            # The threads of the cache open their own files for a moment, now and then.
            await trio.to_thread.run_sync(until, "no more is open than before", lambda: descriptors() <= open_)
            assert not files.status()["open"]
        files.close()
        disk.close()
        return before, after

    try:
        before, after = trio.run(measure)
    finally:
        region.close()
    assert nodes[0] == nodes[1]
    assert after[0] - before[0] < LEEWAY, f"{(after[0] - before[0]) / count:.1f} bytes each"
    assert after[1] - before[1] < 100 + count // 100


def test_a_mount_that_is_used_holds_no_more_than_before(agent: Command, source: Path) -> None:
    """The kernel itself says what it forgets."""
    for index in range(200):
        (source / f"file-{index}").write_bytes(b"content")
    agent.mount(f"local:/{source}", options={"data-cache-files": "400"})  # which are there before it is measured

    def use(turn: int) -> None:
        for index in range(200):
            assert (agent.point / f"file-{index}").read_bytes() == b"content"
            new = agent.point / f"new-{turn}-{index}"
            new.write_bytes(b"data")
            new.rename(new.with_suffix(".moved"))
            new.with_suffix(".moved").unlink()
        assert len(os.listdir(agent.point)) == 200
        # Nobody holds a name of it any more; only in passing does a remount of anything do that.
        if ctypes.CDLL(None, use_errno=True).mount(b"none", os.fsencode(agent.point), None, _REMOUNT, None):
            raise OSError(ctypes.get_errno(), "remount")

    def seen() -> tuple[int, int, int, int]:
        said = last(agent.run, agent.point, "status")
        worker = Path("/proc", str(said["worker_pid"]))
        pages = int((worker / "statm").read_text(encoding="ascii").split()[1])
        files = said["worker"]["files"]
        return len(os.listdir(worker / "fd")), files["nodes"], files["open"], pages * 4096

    first = 1 + TIMES  # until what is remembered for a while has its size
    for turn in range(first):
        use(turn)
    before = seen()
    for turn in range(first, 6 * TIMES):
        use(turn)
    # The kernel waits for no answer to a close, and for none to what it forgets.
    until("all is closed, and forgotten", lambda: seen()[2] == 0 and seen()[1] <= before[1])
    after = seen()
    assert after[0] <= before[0] + 2  # threads that wait for work
    assert after[3] - before[3] < 4 * MIB
