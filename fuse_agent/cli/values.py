# SPDX-License-Identifier: Apache-2.0
"""What an agent counts, read from its own text."""

from __future__ import annotations

import re
from typing import Final

from ..metrics import PREFIX

_SAMPLE: Final = re.compile(rf"{PREFIX}(\w+)(?:\{{(.*)\}})? (\S+)")
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Values:
    def __init__(self, text: str = "") -> None:
        self._values: list[tuple[str, dict[str, str], float]] = []
        for line in text.splitlines():
            match = _SAMPLE.fullmatch(line)
            if match:
                self._values.append((match[1], dict(_LABEL.findall(match[2] or "")), float(match[3])))

    def sum(self, name: str, **labels: str) -> float:
        """Of all samples that have these labels."""
        return sum(
            value
            for one, has, value in self._values
            if one == name and all(has.get(key) == labels[key] for key in labels)
        )


class Change:
    """From one look at them to the next. Who counts anew, as a worker does that took over, began at nothing."""

    def __init__(self, before: Values, now: Values, seconds: float) -> None:
        self._before, self.now, self.seconds = before, now, seconds

    def of(self, name: str, **labels: str) -> float:
        now, before = self.now.sum(name, **labels), self._before.sum(name, **labels)
        return now - before if now >= before else now

    def rate(self, name: str, **labels: str) -> float:
        """A second."""
        return self.of(name, **labels) / self.seconds

    def mean(self, histogram: str, **labels: str) -> float | None:
        """Seconds; None when nothing was timed."""
        count = self.of(f"{histogram}_count", **labels)
        return self.of(f"{histogram}_sum", **labels) / count if count else None
