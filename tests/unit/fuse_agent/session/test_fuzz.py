# SPDX-License-Identifier: Apache-2.0
"""Requests that fit the protocol and nothing else, in any order, to the file system as a whole: each has one answer, none of which
tells of a defect, and the mount goes on."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import hypothesis
import pytest
import trio
from hypothesis import strategies as st
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.protocol import layout
from paddleflow_fuse.protocol.agree import Agreed
from paddleflow_fuse.protocol.codes import RESENT, Init, Op
from paddleflow_fuse.session.calls import CALLS, FORGETS
from paddleflow_fuse.session.direct import Direct
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource, Options

from tests.conftest import EXTENDED

PATIENCE = 30
LARGEST = 1 << 17
AGREED = Agreed(41, Init.ASYNC_READ, LARGEST, LARGEST, 0)
# Names as no kernel sends them stay within the protocol.
NAMES = st.one_of(
    st.sampled_from([b"a", b"b", b"file", b"folder", b".", b"..", b"a/b", b"/", b"\xff", b"x" * 255, b"x" * 256, b"x" * 4096, b"user.a", b"user."]),
    st.binary(min_size=1, max_size=8).map(lambda name: name.replace(b"\0", b"0")),
)  # fmt: skip
HUGE = (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1
ODD = {4: (0, 1, 2, 3, 64, 4096, *HUGE[:3]), 8: (0, 1, 2, 3, 4096, *HUGE)}
FLAGS = (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_TRUNC, os.O_RDWR | os.O_EXCL, 3)
KINDS = (0o100644, 0o40755, 0o120777, 0o10644, 0o644)
MOST = LARGEST + 4096 - layout.REQUEST.size  # of what a session reads at once
_WITH_SIZE = frozenset((Op.READ, Op.READDIR, Op.READDIRPLUS))


class Shot(NamedTuple):
    """:ivar node: a number, or as many back in what was answered"""

    op: int
    node: int
    fixed: tuple[int, ...]
    names: tuple[bytes, ...]
    data: bytes
    again: bool
    waits: bool  # for its answer, before the next

    def body(self, kernel: Known) -> bytes:
        shape = layout.SHAPES[self.op]
        fixed = list(self.fixed)
        for place, value in enumerate(fixed):
            if value < 0:
                fixed[place] = kernel.handle(value) if self.op in _BY_HANDLE and not place else kernel.node(value)
        if self.op in _WITH_SIZE:
            fixed[2] = min(fixed[2], LARGEST)  # what the kernel has room for
        packed: bytes = shape.fixed.pack(*[abs(value) % (1 << 64) for value in fixed])
        # What is larger than the session has room for, the kernel refuses by itself.
        return (packed + b"".join(name + b"\0" for name in self.names) + self.data)[:MOST]


_BY_HANDLE = frozenset(
    (Op.READ, Op.WRITE, Op.RELEASE, Op.FSYNC, Op.FLUSH, Op.READDIR, Op.READDIRPLUS, Op.RELEASEDIR, Op.LSEEK, Op.FALLOCATE, Op.COPY_FILE_RANGE)
)  # fmt: skip


class Known:
    """What a kernel would know by now; it is not faithful to it."""

    def __init__(self) -> None:
        self.nodes, self.handles = [1], [0]

    def node(self, place: int) -> int:
        return self.nodes[place % len(self.nodes)] if place < 0 else place

    def handle(self, place: int) -> int:
        return self.handles[place % len(self.handles)]

    def learn(self, op: int, body: bytes) -> None:
        if op in (Op.LOOKUP, Op.MKDIR, Op.MKNOD, Op.SYMLINK, Op.LINK, Op.CREATE):
            self.nodes.append(int.from_bytes(body[:8], "little"))
        if op == Op.CREATE:
            self.handles.append(int.from_bytes(body[layout.ENTRY.size :][:8], "little"))
        if op == Op.OPEN:
            self.handles.append(int.from_bytes(body[:8], "little"))


def numbers(shape: layout.Shape) -> st.SearchStrategy[tuple[int, ...]]:
    """Of its fields: what is known, by a negative number, or whatever fits."""
    letters = [letter for count, letter in _fields(shape.fixed.format) for _turn in range(count) if letter != "x"]
    known = st.integers(-4, -1)
    of = {
        "I": st.one_of(st.sampled_from(ODD[4]), st.sampled_from(FLAGS), st.sampled_from(KINDS)),
        "Q": st.one_of(known, known, st.sampled_from(ODD[8])),
    }
    return st.tuples(*[of[letter] for letter in letters])


def _fields(code: str) -> Iterator[tuple[int, str]]:
    count = ""
    for letter in code.lstrip("<"):
        if letter.isdecimal():
            count += letter
        else:
            yield int(count or 1), letter
            count = ""


def shots(op: int) -> st.SearchStrategy[Shot]:
    shape = layout.SHAPES[op]
    data = st.just(b"")
    if op == Op.BATCH_FORGET:
        pairs = st.lists(st.tuples(st.sampled_from(ODD[8]), st.sampled_from(ODD[8])), max_size=3)
        return pairs.map(
            lambda all_: Shot(
                op, 0, (len(all_),), (), b"".join(layout.FORGET_ONE.pack(*one) for one in all_), False, False
            )
        )
    if shape.data:
        data = st.sampled_from([b"", b"x", b"x" * 4096, b"x" * LARGEST])
    node = st.one_of(st.integers(-4, -1), st.integers(-4, -1), st.sampled_from(ODD[8]))
    names = st.tuples(*[NAMES] * shape.names)
    return st.builds(Shot, st.just(op), node, numbers(shape), names, data, st.booleans(), st.booleans())


ANSWERED = sorted(set(CALLS) | {Op.IOCTL, Op.GETLK, Op.SETLKW})
SILENT = sorted({*FORGETS, Op.INTERRUPT})
ANY = st.one_of(
    *[shots(op) for op in [*ANSWERED, *SILENT]], shots(Op.CREATE), shots(Op.OPEN), shots(Op.WRITE), shots(Op.LOOKUP)
)
WITHOUT_ERRNO = frozenset(range(1, 134))


async def shoot(kernel: socket.socket, salvo: list[Shot]) -> None:
    end = trio.socket.from_stdlib_socket(kernel)
    known = Known()
    waiting: dict[int, int] = {}

    async def hear(until: int) -> None:
        while len(waiting) > until:
            with trio.fail_after(PATIENCE):
                packet = await end.recv(1 << 21)
            length, error, number = layout.REPLY.unpack_from(packet)
            assert length == len(packet)
            assert -error in WITHOUT_ERRNO or not error, error
            op = waiting.pop(number)  # one answer each, and of nothing else
            if not error:
                known.learn(op, packet[layout.REPLY.size :])

    for place, shot in enumerate(salvo, 1):
        number = place * 2 | (RESENT if shot.again else 0)
        body = shot.body(known)
        await end.send(
            layout.REQUEST.pack(40 + len(body), shot.op, number, known.node(shot.node), 5, 6, 7, 0, 0) + body
        )
        if shot.op not in SILENT:
            waiting[number] = shot.op
        if shot.waits:
            await hear(0)
    await hear(0)
    await end.send(layout.REQUEST.pack(40, Op.DESTROY, 2 * len(salvo) + 2, 0, 5, 6, 7, 0, 0))


async def serve(descriptor: int, kernel: socket.socket, folder: Path, salvo: list[Shot]) -> None:
    region = Region.create()
    try:
        session = Direct(descriptor, AGREED)
        async with trio.open_nursery() as nursery:
            store = MemoryStore()
            parts = Parts(
                Nodes(region), Opens(region, session.unbind), ObjectSource(store, "", Options(persist=True)), Memory(1 << 20), None,
                Staging(folder),
            )  # fmt: skip
            files = FileSystem(nursery, parts, Settings(attributes_hold=0.001, names_hold=0.001, xattrs=True))
            nursery.start_soon(shoot, kernel, salvo)
            await session.serve(files)
            nursery.cancel_scope.cancel()
        files.close()
    finally:
        region.close()


@hypothesis.given(st.lists(ANY, min_size=1, max_size=40))
@hypothesis.settings(
    max_examples=3000 if EXTENDED else 150,
    suppress_health_check=list(hypothesis.HealthCheck),
)
def test_whatever_is_asked_has_one_answer(salvo: list[Shot]) -> None:
    with pytest.MonkeyPatch.context() as patched, tempfile.TemporaryDirectory() as folder:
        defects: list[str] = []
        patched.setattr(
            "paddleflow_fuse.session.direct._LOG.error",
            lambda text, *rest, exc_info=None: defects.append(f"{text % rest}: {exc_info!r}"),
        )
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            ours.setblocking(False)
            trio.run(serve, theirs.fileno(), ours, Path(folder), salvo)
        assert not defects
