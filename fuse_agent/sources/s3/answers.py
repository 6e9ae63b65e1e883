# SPDX-License-Identifier: Apache-2.0
"""What a store answered, by what obstore says of it. No input or output."""

from __future__ import annotations

import re
from typing import Final

# What stores say of a header that they do not know.
_NOT_KNOWN: Final = ("", "InvalidArgument", "InvalidRequest", "NotImplemented")


def answer_of(text: str) -> tuple[int, str, str]:
    """By an error, which has no fields: the status of HTTP, 0 without an answer; S3's own word; and what was said with it."""
    found = re.search(r"Server returned non-2xx status code: (\d{3})", text)
    if not found:
        return 0, "", ""
    body = text[found.end() :].partition("\n\nDebug source:")[0]
    code, said = re.search(r"<Code>(\w+)</Code>", body), re.search(r"<Message>([^<]*)</Message>", body)
    return int(found[1]), code[1] if code else "", said[1] if said else ""


def is_refusal(status: int, code: str) -> bool:
    """Whether the store does not know what it is asked, as a header of ours."""
    return status == 501 or (status == 400 and code in _NOT_KNOWN)
