# SPDX-License-Identifier: Apache-2.0
"""What users say of files beside what POSIX knows: names that begin with ``user.``, each with a value. No input or output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import parse_qsl, urlencode

if TYPE_CHECKING:
    from collections.abc import Mapping

    Xattrs: TypeAlias = Mapping[bytes, bytes]
    Changed: TypeAlias = Mapping[bytes, bytes | None]  # those without a value are removed

PREFIX: Final = b"user."
_BYTES: Final = "latin-1"  # in which each byte is a character


def packed(xattrs: Xattrs) -> str:
    """All of a file's as a text that a header can hold, and a person read."""
    return urlencode([(name.removeprefix(PREFIX), value) for name, value in sorted(xattrs.items())])


def unpacked(text: str) -> dict[bytes, bytes]:
    """What others may have written there is bent, and never an error."""
    pairs = parse_qsl(text, keep_blank_values=True, encoding=_BYTES)
    return {PREFIX + name.encode(_BYTES, "replace"): value.encode(_BYTES, "replace") for name, value in pairs}


def merged(before: Changed, changed: Changed) -> dict[bytes, bytes]:
    return {name: value for name, value in {**before, **changed}.items() if value is not None}
