# SPDX-License-Identifier: Apache-2.0
"""What a mount is granted by kernels of several ages."""

from __future__ import annotations

import struct

import pytest
from paddleflow_fuse.protocol import layout
from paddleflow_fuse.protocol.agree import UnfitError, Wish, agree, answer, by_libfuse, lacking
from paddleflow_fuse.protocol.codes import Init, Op
from paddleflow_fuse.protocol.requests import Request, parse

EVERYTHING = Init(2**43 - 1)
BEFORE_PASSTHROUGH = EVERYTHING & ~(Init.PASSTHROUGH | Init.HAS_RESEND | Init.ALLOW_IDMAP)


def asks(flags: Init = EVERYTHING, minor: int = 45, read_ahead: int = 131072) -> Request:
    body = struct.pack("<IIIII44x", 7, minor, read_ahead, flags & 0xFFFFFFFF, flags >> 32)
    return parse(layout.REQUEST.pack(40 + len(body), Op.INIT, 1, 0, 0, 0, 0, 0, 0) + body)


def test_the_older_of_both_versions_is_spoken() -> None:
    assert agree(asks(minor=45), Wish()).minor == 41
    assert agree(asks(minor=31), Wish()).minor == 31


def test_a_kernel_that_is_too_old_is_told_from_when_on_it_would_do() -> None:
    with pytest.raises(UnfitError, match=r"speaks version 7\.27 of FUSE, but the agent needs 7\.28 .* since 4\.20"):
        agree(asks(minor=27), Wish())


@pytest.mark.parametrize(
    "flag",
    [
        Init.AUTO_INVAL_DATA,  # does not see a rewrite of the same size within a second
        Init.WRITEBACK_CACHE,  # excludes passthrough, and times and sizes would be the kernel's
        Init.POSIX_LOCKS,  # not asking leaves locks to the kernel, for all who use the mount on this node
        Init.FLOCK_LOCKS,
        Init.PASSTHROUGH,  # only where it is wished for
        Init.ALLOW_IDMAP,
        Init.NO_OPEN_SUPPORT,
        Init.OVER_IO_URING,
    ],
)
def test_what_is_not_agreed_to_by_itself(flag: Init) -> None:
    assert flag not in agree(asks(), Wish())


def test_passthrough_is_granted_with_its_depth() -> None:
    agreed = agree(asks(), Wish(passthrough=2))
    assert Init.PASSTHROUGH in agreed
    assert agreed.passthrough == 2
    assert agree(asks(BEFORE_PASSTHROUGH), Wish(passthrough=2)).passthrough == 0


def test_opens_go_unasked_only_where_nobody_can_write() -> None:
    """No close would come either, and a truncation that comes with an open would be lost."""
    writable = agree(asks(), Wish(without_open=True))
    assert Init.NO_OPEN_SUPPORT not in writable
    assert Init.ATOMIC_O_TRUNC in writable
    fixed = agree(asks(), Wish(without_open=True, read_only=True, passthrough=1))
    assert Init.NO_OPEN_SUPPORT in fixed
    assert Init.NO_OPENDIR_SUPPORT in fixed
    assert Init.ATOMIC_O_TRUNC not in fixed
    assert Init.PASSTHROUGH not in fixed  # there is no open to say so


def test_large_requests_need_a_kernel_that_counts_pages() -> None:
    assert agree(asks(), Wish()).largest == 1 << 20
    assert agree(asks(EVERYTHING & ~Init.MAX_PAGES), Wish()).largest == 128 << 10


def test_the_answer_is_what_was_agreed() -> None:
    agreed = agree(asks(), Wish(passthrough=1))
    values = layout.INIT_OUT.unpack(answer(agreed))
    assert values[:3] == (7, 41, 131072)
    assert values[3] | values[10] << 32 == agreed.flags
    assert (values[6], values[8], values[11]) == (1 << 20, 256, 1)


def test_what_a_kernel_lacks_is_said_in_words() -> None:
    assert lacking(asks(), Wish(passthrough=1, idmapped=True)) == []
    wishes = Wish(passthrough=1, idmapped=True)
    assert [text.rpartition(" (")[2] for text in lacking(asks(BEFORE_PASSTHROUGH), wishes)] == [
        "Linux 6.9)", "Linux 6.9)", "Linux 6.12)",
    ]  # fmt: skip
    assert lacking(asks(BEFORE_PASSTHROUGH | Init.HAS_RESEND), Wish()) == []


def test_what_libfuse_lacks_is_said_in_words_and_nothing_is_agreed_on() -> None:
    agreed, lacks = by_libfuse(Wish(passthrough=1))
    assert (agreed.flags, agreed.passthrough) == (Init(0), 0)
    assert [word for word in ("speed", "replaced", "mapped", "pages", "Linux") if any(word in one for one in lacks)] == [
        "speed", "replaced",
    ]  # fmt: skip
