# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Conditions: their grammar (C-1 to C-6). A template is an operand, whatever its value will be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

# A literal, or an operator with what it stands between: ("&&", left, right).
Node: TypeAlias = "tuple[str | Node, ...]"

_LEVELS = (
    ("||",), ("&&",), ("==", "!=", ">", ">=", "<", "<=", "=~", "!~", "in"),
    ("&", "|", "^"), ("<<", ">>"), ("+", "-"), ("*", "/", "%"), ("**",),
)  # fmt: skip
_LEVEL = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}
_DEEPEST = 50
_OPERATORS = r"\?\?|\|\||&&|==|!=|>=|<=|=~|!~|<<|>>|\*\*|[?:<>&|^+*/%!~(),-]"
_TEMPLATES = (r"\{\{\s*[\w.-]+\s*\}\}", r"\[\[\s*[\w.-]+\s*\]\]")


class _Token(NamedTuple):
    kind: str  # number, text, word, operator, end
    text: str
    place: int


def parse(text: str, brackets: bool = False) -> Node:
    """ValueError says what is wrong and where."""
    tokens = _Tokens(list(_lex(text, brackets)))
    found = tokens.expression(0)
    tokens.expect("end", "")
    return found


def _lex(text: str, brackets: bool) -> Iterator[_Token]:
    operand = "|".join(_TEMPLATES[: 2 if brackets else 1])
    pattern = re.compile(
        r"\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
        rf"|(?P<number>(?:0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?)(?![\w.]|{operand}))"
        rf"|(?P<word>(?:{operand}|\w)+)|(?P<operator>{_OPERATORS})|(?P<end>$))",
        re.ASCII | re.DOTALL,
    )
    place = 0
    while True:
        found = pattern.match(text, place)
        if found is None or found.lastgroup is None:
            raise ValueError(f"cannot be read from {text[place:].strip()[:20]!r} on")
        kind, token = found.lastgroup, found[found.lastgroup]
        if kind == "word" and re.match("[0-9]", token) and not re.search(operand, token):
            raise ValueError(f"has {token!r}, which is neither a number nor a word")
        yield _Token("operator" if token == "in" else kind, token, found.start(kind))
        if kind == "end":
            return
        place = found.end()


class _Tokens:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens, self._next, self._depth = tokens, 0, 0

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, *operators: str) -> str:
        token = self._token
        if token.kind == "operator" and token.text in operators:
            self._next += 1
            return token.text
        return ""

    def expect(self, kind: str, text: str) -> None:
        if (self._token.kind, self._token.text) != (kind, text):
            wanted = repr(text) if text else "the end or an operator"
            raise ValueError(f"has {self._token.text[:20]!r} at {self._token.place + 1} in the place of {wanted}")
        self._next += 1

    def expression(self, level: int) -> Node:
        """All operators of one level stand from left to right; a choice (`a ? b : c`, `a ?? b`) is the lowest of all."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError(f"is nested more than {_DEEPEST} times")
        left = self._prefix()
        while self._token.kind == "operator" and _LEVEL.get(self._token.text, -1) >= level:
            operator = self._take(*_LEVEL)
            left = (operator, left, self.expression(_LEVEL[operator] + 1))
        if level == 0:
            if self._take("??"):
                left = ("??", left, self.expression(0))
            elif self._take("?"):
                then = self.expression(0)
                self.expect("operator", ":")
                left = ("?", left, then, self.expression(0))
        self._depth -= 1
        return left

    def _prefix(self) -> Node:
        signs = []
        while sign := self._take("!", "-", "~"):
            signs.append(sign)
        found = self._operand()
        for sign in reversed(signs):
            found = (sign, found)
        return found

    def _operand(self) -> Node:
        if self._take("("):
            items = [self.expression(0)]
            while self._take(","):
                items.append(self.expression(0))
            self.expect("operator", ")")
            return items[0] if len(items) == 1 else ("array", *items)
        token = self._token
        if token.kind in ("operator", "end"):
            raise ValueError(f"has {token.text!r} at {token.place + 1}" if token.text else "ends too early")
        self._next += 1
        return (token.kind, token.text)
