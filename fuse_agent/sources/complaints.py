# SPDX-License-Identifier: Apache-2.0
"""What a store refused, for who looks after the mount: programs see a number alone."""

from __future__ import annotations

import errno
import logging
import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_LOG = logging.getLogger(__name__)
# Seconds in which one of a kind is told: a store that is away fails every file of a data set.
_REST: Final = 60.0
# What files are like, and no trouble of the store.
_ORDINARY: Final = frozenset((
    errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR, errno.ENOTDIR, errno.ESTALE, errno.EINVAL,
    errno.ENAMETOOLONG, errno.EILSEQ, errno.EPERM, errno.ERANGE,
))  # fmt: skip


class Complaints:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._told: dict[tuple[str, int | None], tuple[float, int]] = {}

    def tell(self, question: str, error: OSError) -> None:
        if error.errno in _ORDINARY:
            return
        kind, now = (question, error.errno), self._clock()
        with self._lock:
            last, more = self._told.get(kind, (-_REST, 0))
            if now - last < _REST:
                self._told[kind] = (last, more + 1)
                return
            self._told[kind] = (now, 0)
        since = f" ({more} more of this kind since the last line)" if more else ""
        _LOG.warning("%s%s", error, since)
