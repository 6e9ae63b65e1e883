# SPDX-License-Identifier: Apache-2.0
"""Answers, byte by byte where the kernel would take another byte for something else."""

from __future__ import annotations

import errno
import math
import stat
import struct

from paddleflow_fuse.protocol import layout, replies
from paddleflow_fuse.protocol.codes import Notify, Open
from paddleflow_fuse.protocol.replies import Attributes, Entry, Handle, Space

FILE = Attributes(
    number=99, mode=stat.S_IFREG | 0o640, size=1025, links=1, uid=5, gid=6,
    atime_ns=1_500_000_000, mtime_ns=2_000_000_007, ctime_ns=3_000_000_000,
)  # fmt: skip


def test_an_answer_says_its_length_and_whose_it_is() -> None:
    assert replies.done(7, b"body") == struct.pack("<IiQ", 20, 0, 7) + b"body"
    assert replies.failed(7, errno.ENOENT) == struct.pack("<IiQ", 16, -errno.ENOENT, 7)
    assert replies.header(7, 4) + b"body" == replies.done(7, b"body")


def test_attributes_have_whole_blocks_and_split_times() -> None:
    seconds, nanoseconds, *rest = layout.ATTR_OUT.unpack(replies.attributes(FILE, 1.25))
    assert (seconds, nanoseconds) == (1, 250_000_000)
    assert rest == [99, 1025, 3, 1, 2, 3, 500_000_000, 7, 0, stat.S_IFREG | 0o640, 1, 5, 6, 0, 4096, 0]


def test_times_may_lie_before_1970() -> None:
    early = FILE._replace(mtime_ns=-1)
    values = layout.ATTR_OUT.unpack(replies.attributes(early, 0))
    assert values[6] == -1
    assert values[9] == 999_999_999


def test_an_entry_is_a_node_with_attributes_of_its_own() -> None:
    values = layout.ENTRY.unpack(replies.entry(Entry(12, FILE, 60, 0.5)))
    assert values[:6] == (12, 0, 60, 0, 0, 500_000_000)
    assert values[6] == 99


def test_what_holds_for_ever_still_fits() -> None:
    assert layout.ENTRY.unpack(replies.entry(Entry(12, FILE, math.inf, 1e30)))[2:6] == (2**62, 2**62, 0, 0)


def test_an_absent_name_is_an_entry_without_a_node() -> None:
    values = layout.ENTRY.unpack(replies.absent(2.5))
    assert (values[0], values[2], values[4]) == (0, 2, 500_000_000)


def test_a_handle_carries_how_it_was_opened_and_the_file_below() -> None:
    handle = Handle(3, Open.PASSTHROUGH | Open.NOFLUSH, 17)
    assert replies.opened(handle) == struct.pack("<QIi", 3, 0xA0, 17)
    assert replies.created(Entry(12, FILE), handle) == replies.entry(Entry(12, FILE)) + replies.opened(handle)


def test_entries_of_a_folder_are_padded_to_eight_bytes() -> None:
    for length in range(1, 20):
        name = b"n" * length
        one = replies.listed(name, 99, stat.S_IFDIR | 0o755, 4)
        assert len(one) % 8 == 0
        assert len(one) == replies.listed_size(name, plus=False) == replies.listed_size(name, plus=True) - 128
        assert layout.DIRENT.unpack_from(one) == (99, 4, length, 4)  # DT_DIR
        assert one[24 : 24 + length] == name
    both = replies.listed_plus(b"name", Entry(12, FILE), 4)
    assert both == replies.entry(Entry(12, FILE)) + replies.listed(b"name", 99, FILE.mode, 4)


def test_space_is_told_in_blocks_and_names_have_255_bytes() -> None:
    values = layout.STATFS_OUT.unpack(replies.space(Space(4096, 100, 40, 10, 9)))
    assert values == (100, 40, 40, 10, 9, 4096, 255, 4096)


def test_small_answers() -> None:
    assert replies.written(5) == struct.pack("<II", 5, 0)
    assert replies.xattr_size(5) == struct.pack("<II", 5, 0)
    assert replies.position(5) == struct.pack("<Q", 5)


def test_what_is_told_unasked_has_a_code_and_no_number() -> None:
    assert replies.resend() == struct.pack("<IiQ", 16, Notify.RESEND, 0)
    assert replies.forget_data(12, 1, 2) == struct.pack("<IiQQqq", 40, Notify.INVAL_INODE, 0, 12, 1, 2)
    assert replies.forget_data(12, -1) == struct.pack("<IiQQqq", 40, Notify.INVAL_INODE, 0, 12, -1, 0)
    assert replies.forget_name(1, b"ab") == struct.pack("<IiQQII3s", 35, Notify.INVAL_ENTRY, 0, 1, 2, 0, b"ab\0")
    assert replies.removed(1, 12, b"ab") == struct.pack("<IiQQQII3s", 43, Notify.DELETE, 0, 1, 12, 2, 0, b"ab\0")
