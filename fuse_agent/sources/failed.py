# SPDX-License-Identifier: Apache-2.0
"""What went wrong at a server that says it in words, as SFTP's and HDFS's do. A bucket's says it in codes."""

from __future__ import annotations

from typing import Final, NamedTuple

_LONGEST: Final = 200


class Failure(NamedTuple):
    number: int
    said: str
    remedy: str
    status: int = 0  # 0 without an answer
    again: bool = False  # worth another try
    login: bool = False  # nobody was let in

    def told(self, operation: str, path: bytes, place: str, tries: int) -> OSError:
        often = f" after {tries} tries" if tries > 1 else ""
        named = path.decode(errors="backslashreplace")
        return OSError(self.number, f"{operation} of {named!r} on {place} failed{often}: {self.said}; {self.remedy}")


def line(text: str) -> str:
    """One, and no long one."""
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 3]}..."
