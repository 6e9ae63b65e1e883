# SPDX-License-Identifier: Apache-2.0
"""A file is written over one version alone: by the store itself, or where that knows no conditional writes by a look before."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, TypeVar

from ...metrics import Request
from ..base import ChangedError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base import Tell

_LOG = logging.getLogger(__name__)
T = TypeVar("T")
LACKS: Final = (
    "conditional writes, which the store refuses: of two who make the same new file at the same moment, neither is told"
)


class Conditions:
    def __init__(self, bucket: str, version: Callable[[str], bytes], on_request: Tell) -> None:
        """
        :param version: of what a key has now, b"" of nothing
        """
        self._bucket, self._version, self._on_request = bucket, version, on_request
        self._missing = False

    def keep(self, key: str, over: bytes | None, write: Callable[[bytes | None], T]) -> T:
        """
        :param over: the version that may be replaced, b"" for none at all; None replaces whatever is there
        :param write: by that condition
        :raises ChangedError:
        """
        if over is None:
            return write(None)
        if self._missing:
            return self._after_a_look(key, over, write)
        try:
            return write(over)
        except RefusedError as error:
            refused = str(error)
        # It may also be refused for what it is: then it is so again, and nothing is known of conditions.
        found = self._after_a_look(key, over, write)
        self._missing = True
        _LOG.warning(
            "the store of bucket %r takes no conditional writes, so it is looked before each whether another wrote the file: %s",
            self._bucket, refused,
        )  # fmt: skip
        self._on_request(Request("", 0, lacks=LACKS))
        return found

    def _after_a_look(self, key: str, over: bytes, write: Callable[[bytes | None], T]) -> T:
        if self._version(key) != over:
            raise ChangedError(key.encode())
        return write(None)
