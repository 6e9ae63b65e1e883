# SPDX-License-Identifier: Apache-2.0
"""Requests as the kernel lays them out, and bytes that are none."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_fuse.protocol import layout
from paddleflow_fuse.protocol.codes import RESENT, Init, Op
from paddleflow_fuse.protocol.requests import MalformedError, UnknownOpError, forgotten, offered, parse


def packet(op: int, body: bytes = b"", number: int = 7, node: int = 1, extensions: bytes = b"") -> bytes:
    length = layout.REQUEST.size + len(body) + len(extensions)
    return layout.REQUEST.pack(length, op, number, node, 1000, 100, 42, len(extensions) // 8, 0) + body + extensions


def test_a_header_tells_who_asks_for_what() -> None:
    request = parse(packet(Op.GETATTR, struct.pack("<IIQ", 1, 0, 9), number=12, node=5))
    assert (request.op, request.number, request.node) == (Op.GETATTR, 12, 5)
    assert (request.uid, request.gid, request.pid) == (1000, 100, 42)
    assert request.fixed == (1, 9)


# Sizes of the kernel's own structs, of which ours may neither have more nor less.
@pytest.mark.parametrize(
    ("op", "size"),
    [
        (Op.FORGET, 8), (Op.GETATTR, 16), (Op.SETATTR, 88), (Op.MKNOD, 16), (Op.MKDIR, 8), (Op.RENAME, 8), (Op.RENAME2, 16),
        (Op.LINK, 8), (Op.OPEN, 8), (Op.READ, 40), (Op.WRITE, 40), (Op.RELEASE, 24), (Op.FSYNC, 16), (Op.SETXATTR, 8),
        (Op.GETXATTR, 8), (Op.LISTXATTR, 8), (Op.FLUSH, 24), (Op.OPENDIR, 8), (Op.READDIR, 40), (Op.READDIRPLUS, 40),
        (Op.RELEASEDIR, 24), (Op.FSYNCDIR, 16), (Op.GETLK, 48), (Op.SETLK, 48), (Op.SETLKW, 48), (Op.ACCESS, 8),
        (Op.CREATE, 16), (Op.INTERRUPT, 8), (Op.IOCTL, 32), (Op.BATCH_FORGET, 8), (Op.FALLOCATE, 32), (Op.LSEEK, 24),
        (Op.COPY_FILE_RANGE, 56),
    ],
)  # fmt: skip
def test_the_fixed_part_has_the_kernels_size(op: Op, size: int) -> None:
    assert layout.SHAPES[op].fixed.size == size


def test_every_operation_has_a_shape() -> None:
    assert set(layout.SHAPES) == set(Op)


@pytest.mark.parametrize(
    ("struct_", "size"),
    [
        (layout.REQUEST, 40), (layout.REPLY, 16), (layout.ATTR, 88), (layout.ENTRY, 128), (layout.ATTR_OUT, 104),
        (layout.OPEN_OUT, 16), (layout.WRITE_OUT, 8), (layout.STATFS_OUT, 80), (layout.XATTR_OUT, 8), (layout.LOCK_OUT, 24),
        (layout.LSEEK_OUT, 8), (layout.INIT_OUT, 64), (layout.DIRENT, 24), (layout.BACKING, 16), (layout.INVAL_INODE, 24),
        (layout.INVAL_ENTRY, 16), (layout.DELETE, 24), (layout.STORE, 24),
    ],
)  # fmt: skip
def test_answers_have_the_kernels_size(struct_: struct.Struct, size: int) -> None:
    assert struct_.size == size


def test_names_are_bytes_and_end_with_a_zero_byte() -> None:
    assert parse(packet(Op.LOOKUP, b"a\xff \n\0")).names == (b"a\xff \n",)
    assert parse(packet(Op.SYMLINK, b"name\0../target\0")).names == (b"name", b"../target")
    assert parse(packet(Op.RENAME2, struct.pack("<QII", 3, 1, 0) + b"old\0new\0")).names == (b"old", b"new")


def test_data_follow_the_names() -> None:
    request = parse(packet(Op.SETXATTR, struct.pack("<II", 3, 0) + b"user.a\0" + b"\0x\0"))
    assert (request.names, bytes(request.data)) == ((b"user.a",), b"\0x\0")
    write = parse(packet(Op.WRITE, struct.pack("<QQIIQII", 1, 4096, 5, 0, 0, 0, 0) + b"hello"))
    assert (write.fixed, bytes(write.data)) == ((1, 4096, 5, 0, 0, 0), b"hello")


def test_extensions_of_the_header_are_left_out() -> None:
    request = parse(packet(Op.CREATE, struct.pack("<IIII", 2, 0o644, 0o22, 0) + b"new\0", extensions=bytes(16)))
    assert request.names == (b"new",)


def test_a_request_that_comes_again_says_so() -> None:
    assert not parse(packet(Op.READLINK)).resent
    assert parse(packet(Op.READLINK, number=7 | RESENT)).resent


def test_what_is_forgotten_is_one_node_or_many() -> None:
    assert forgotten(parse(packet(Op.FORGET, struct.pack("<Q", 3), node=8))) == [(8, 3)]
    many = struct.pack("<II", 2, 0) + struct.pack("<QQQQ", 8, 3, 9, 1)
    assert forgotten(parse(packet(Op.BATCH_FORGET, many))) == [(8, 3), (9, 1)]
    with pytest.raises(MalformedError, match="3 nodes to forget, in 16 bytes"):
        forgotten(parse(packet(Op.BATCH_FORGET, struct.pack("<IIQQ", 3, 0, 8, 3))))


def test_a_kernel_offers_in_one_word_or_two() -> None:
    old = parse(packet(Op.INIT, struct.pack("<IIII", 7, 31, 4096, Init.ASYNC_READ)))
    assert offered(old) == Init.ASYNC_READ
    flags = Init.ASYNC_READ | Init.INIT_EXT | Init.PASSTHROUGH
    body = struct.pack("<IIIII44x", 7, 41, 4096, flags & 0xFFFFFFFF, flags >> 32)
    assert offered(parse(packet(Op.INIT, body))) == flags


@pytest.mark.parametrize(
    ("given_", "number", "problem"),
    [
        (b"short", 0, "5 bytes, fewer than a header has"),
        (packet(Op.READLINK) + b"more", 0, "44 bytes, but its header says 40"),
        (packet(Op.READ, bytes(8)), 7, "READ with a body of 8 bytes"),
        (packet(Op.READLINK, bytes(4)), 7, "READLINK with 4 bytes too many"),
        (packet(Op.LOOKUP, b"unended"), 7, "LOOKUP with names b'unended'"),
        (packet(Op.LOOKUP, b"\0"), 7, r"LOOKUP with names b'\\x00'"),
        (packet(Op.LOOKUP, b"a\0b"), 7, r"LOOKUP with names b'a\\x00b'"),
        (packet(Op.SYMLINK, b"only one\0"), 7, "SYMLINK with names"),
    ],
)
def test_what_does_not_fit_together_is_refused(given_: bytes, number: int, problem: str) -> None:
    with pytest.raises(MalformedError, match=problem) as refused:
        parse(given_)
    assert refused.value.number == number


def test_what_a_newer_kernel_asks_is_told_apart() -> None:
    with pytest.raises(UnknownOpError, match="operation 4000 is not known") as refused:
        parse(packet(4000, bytes(3), number=9))
    assert refused.value.number == 9


@given(st.binary(max_size=300))
def test_no_bytes_crash_it(noise: bytes) -> None:
    with pytest.raises(MalformedError):
        parse(noise)


@given(st.sampled_from(sorted(layout.SHAPES)), st.binary(max_size=200), st.integers(0, 40))
def test_no_body_crashes_it(op: int, body: bytes, extensions: int) -> None:
    """What is let through has the shape of its operation."""
    length = layout.REQUEST.size + len(body)
    head = layout.REQUEST.pack(length, op, 7, 1, 0, 0, 0, extensions, 0)
    try:
        request = parse(head + body)
    except MalformedError:
        return
    shape = layout.SHAPES[op]
    assert len(request.names) == shape.names
    assert len(shape.fixed.pack(*request.fixed)) == shape.fixed.size
    assert all(name and b"\0" not in name for name in request.names)
    assert shape.data or not request.data


NAME = st.binary(min_size=1, max_size=255).map(lambda name: name.replace(b"\0", b"."))


@given(st.sampled_from(sorted(layout.SHAPES)), st.data())
def test_what_is_well_formed_comes_through_unchanged(op: int, data: st.DataObject) -> None:
    shape = layout.SHAPES[op]
    fixed = shape.fixed.unpack(data.draw(st.binary(min_size=shape.fixed.size, max_size=shape.fixed.size)))
    names = tuple(data.draw(st.tuples(*[NAME] * shape.names)))
    more = data.draw(st.binary(max_size=64)) if shape.data else b""
    request = parse(packet(op, shape.fixed.pack(*fixed) + b"".join(name + b"\0" for name in names) + more))
    assert (request.fixed, request.names, bytes(request.data)) == (fixed, names, more)
