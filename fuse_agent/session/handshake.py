# SPDX-License-Identifier: Apache-2.0
"""The kernel's first request, which is answered once in the life of a mount: whoever serves it then needs only what was agreed."""

from __future__ import annotations

import errno
import os
import select
from typing import Final

from ..protocol import agree, replies, requests
from ..protocol.codes import Op

# The kernel asks as it mounts, so it has asked when this is called.
_SECONDS: Final = 10


def begin(descriptor: int, wish: agree.Wish) -> tuple[agree.Agreed, list[str]]:
    """What was agreed, and what a user misses since the kernel cannot, in words.

    :raises agree.UnfitError:
    :raises TimeoutError:
    """
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(_SECONDS * 1000):
        raise TimeoutError(errno.ETIMEDOUT, f"The kernel did not begin with the mount within {_SECONDS} s")
    buffer = bytearray(1 << 17)
    size = os.readv(descriptor, [buffer])
    request = requests.parse(memoryview(buffer)[:size])
    if request.op != Op.INIT:
        raise requests.MalformedError(request.number, f"operation {request.op} before INIT")
    try:
        agreed = agree.agree(request, wish)
    except agree.UnfitError:
        os.write(descriptor, replies.failed(request.number, errno.EPROTO))
        raise
    os.write(descriptor, replies.done(request.number, agree.answer(agreed)))
    return agreed, agree.lacking(request, wish)
