# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Templates in the text of a document: `{{x}}`, `{{step.x}}`, and `[[x]]` where a document says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

PARENT = "PF_PARENT"
LOOP = "PF_LOOP_ARGUMENT"
SYSTEM = ("PF_RUN_ID", "PF_STEP_NAME", "PF_USER_NAME", LOOP)

_TOKEN = r"\s*(?P<{0}>[A-Za-z0-9_-]+\.[A-Za-z0-9_]+|[A-Za-z0-9_-]*[A-Za-z0-9_])\s*"
_BRACES = r"(?P<twice>\{\{\{\{)|\{\{" + _TOKEN.format("braced") + r"\}\}|(?P<broken>\{\{(?!\{))"
_BRACKETS = r"|(?P<twice2>\[\[\[\[)|\[\[" + _TOKEN.format("bracketed") + r"\]\]|(?P<broken2>\[\[(?!\[))"


class Part(NamedTuple):
    """Of a text: a template, or what looks like the beginning of one and is none."""

    text: str
    token: str = ""  # nothing for what is none

    @property
    def owner(self) -> str:
        """What stands before the point."""
        return self.token.rpartition(".")[0]

    @property
    def name(self) -> str:
        return self.token.rpartition(".")[2]


def pattern(brackets: bool) -> re.Pattern[str]:
    return re.compile(_BRACES + (_BRACKETS if brackets else ""))


def parts(text: str, brackets: bool = False) -> Iterator[Part]:
    """All but literal text. Four braces stand for two of the text's own."""
    for found in pattern(brackets).finditer(text):
        group = found.groupdict()
        token = group["braced"] or group.get("bracketed")
        if token:
            yield Part(found[0], token)
        elif group["broken"] or group.get("broken2"):
            end = text.find("}}" if group["broken"] else "]]", found.end())
            yield Part(text[found.start() : end + 2 if end >= 0 else found.start() + 20])


def whole(text: str, brackets: bool = False) -> Part | None:
    """The template that is the whole text."""
    found = list(parts(text, brackets))
    return found[0] if len(found) == 1 and found[0].token and found[0].text == text else None
