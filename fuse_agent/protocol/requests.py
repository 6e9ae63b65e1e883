# SPDX-License-Identifier: Apache-2.0
"""From the bytes of a request to its values. What does not fit together is refused here, so that nobody behind it has to look."""

from __future__ import annotations

from typing import NamedTuple

from .codes import RESENT, Init, Op
from .layout import FORGET_ONE, INIT_MORE, REQUEST, SHAPES


class MalformedError(ValueError):
    """A request that is not what its header says. ``number`` is whom to answer, or 0 when that is not to be trusted."""

    def __init__(self, number: int, problem: str) -> None:
        super().__init__(f"A request of the kernel cannot be read: {problem}")
        self.number = number


class UnknownOpError(MalformedError):
    """A request of a kernel that knows more; it is told so, and does without."""


class Request(NamedTuple):
    op: int
    number: int
    node: int
    uid: int
    gid: int
    pid: int
    fixed: tuple[int, ...]
    names: tuple[bytes, ...] = ()
    data: memoryview = memoryview(b"")  # of the buffer that was read into: copy what is to outlive the next request

    @property
    def resent(self) -> bool:
        """Whether a worker before this one may have begun it."""
        return bool(self.number & RESENT)


def parse(packet: bytes | bytearray | memoryview) -> Request:
    """
    :raises MalformedError:
    """
    view = memoryview(packet)
    size = len(view)
    if size < REQUEST.size:
        raise MalformedError(0, f"{size} bytes, fewer than a header has")
    length, op, number, node, uid, gid, pid, extensions, _padding = REQUEST.unpack_from(view)
    if length != size:
        raise MalformedError(0, f"{size} bytes, but its header says {length}")
    shape = SHAPES.get(op)
    if shape is None:
        raise UnknownOpError(number, f"operation {op} is not known")
    start, end = REQUEST.size + shape.fixed.size, size - extensions * 8
    if end < start:
        raise MalformedError(number, f"{Op(op).name} with a body of {size - REQUEST.size} bytes")
    fixed = shape.fixed.unpack_from(view, REQUEST.size)
    if not shape.names and shape.data:
        return Request(op, number, node, uid, gid, pid, fixed, (), view[start:end])
    if not shape.names:
        if end != start:
            raise MalformedError(number, f"{Op(op).name} with {end - start} bytes too many")
        return Request(op, number, node, uid, gid, pid, fixed)
    body = bytes(view[start:end])
    *names, rest = body.split(b"\0", shape.names)
    if len(names) != shape.names or not all(names) or (rest and not shape.data):
        raise MalformedError(number, f"{Op(op).name} with names {body[:256]!r}")
    return Request(op, number, node, uid, gid, pid, fixed, tuple(names), view[end - len(rest) : end])


def forgotten(request: Request) -> list[tuple[int, int]]:
    """Nodes, and how many lookups of each the kernel takes back.

    :raises MalformedError:
    """
    if request.op == Op.FORGET:
        return [(request.node, request.fixed[0])]
    (count,) = request.fixed
    if len(request.data) != count * FORGET_ONE.size:
        raise MalformedError(0, f"{count} nodes to forget, in {len(request.data)} bytes")
    return list(FORGET_ONE.iter_unpack(request.data))


def offered(request: Request) -> Init:
    """What the kernel of an INIT can do."""
    flags = request.fixed[3]
    if flags & Init.INIT_EXT and len(request.data) >= INIT_MORE.size:
        flags |= INIT_MORE.unpack_from(request.data)[0] << 32
    return Init(flags)
