# SPDX-License-Identifier: Apache-2.0
"""What every session is to those who start it, and what they all answer to a failure."""

from __future__ import annotations

import errno
import logging
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    import trio

    from ..nodes.results import Results
    from ..operations import Operations
    from ..protocol.agree import Agreed
    from .spin import Spin

_LOG = logging.getLogger(__name__)


class Session(Protocol):
    """
    :ivar agreed: what kernel and agent can do for each other
    :ivar spin: when to look for the next request instead of being woken by it, where the session does that
    :ivar observe: is told of each operation, the errno of its answer, and the seconds it took
    :ivar results: of requests that a worker before this one may have answered, where the session looks for them
    :ivar began: requests are answered
    """

    @property
    def waiting(self) -> int:
        """Requests that are not answered yet."""

    agreed: Agreed
    spin: Spin
    observe: Callable[[str, int, float], None]
    results: Results | None
    began: trio.Event

    async def serve(self, operations: Operations, /) -> bool:
        """Until the mount is gone, or this is to leave it; whether it is gone."""

    def leave(self, longest: float, /) -> None:
        """No further request is read. Those that were are ended, as far as that takes no longer."""

    def bind(self, file: int, /) -> int:
        """The kernel's number for a file that it shall read and write by itself, where ``agreed.passthrough`` says that it can."""

    def unbind(self, number: int, /) -> bool:
        """Whether there was one."""

    def doubt(self, node: int, /) -> object:
        """The kernel is to ask anew for its attributes."""


def late(longest: float) -> OSError:
    return OSError(errno.EIO, f"it took more than {longest:g} s")


def code(error: Exception, what: str) -> int:
    """The errno that a user sees, when what needs to be is in the log.

    :param what: that failed
    """
    if isinstance(error, NotImplementedError):
        return errno.ENOSYS
    if isinstance(error, OSError) and error.errno:
        _LOG.debug("%s: %s", what, error)
        return error.errno
    _LOG.error("%s failed by a defect of the agent", what, exc_info=error)
    return errno.EIO
