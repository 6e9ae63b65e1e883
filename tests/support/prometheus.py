# SPDX-License-Identifier: Apache-2.0
"""Reads metrics as strictly as Prometheus does, and a little more: each name is described, before its samples, and nobody else's stand
between them."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
_SAMPLE = re.compile(rf"({_NAME})(?:\{{(.*)\}})? (\S+)")
_SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}
_PLAIN = {r"\"": '"', r"\\": "\\", r"\n": "\n"}


class Metrics(NamedTuple):
    types: dict[str, str]
    helps: dict[str, str]
    values: dict[tuple[str, frozenset[tuple[str, str]]], float]

    def __call__(self, name: str, **labels: str) -> float:
        """The only sample of that name that has these labels, whichever else it has."""
        (value,) = self.all(name, **labels)
        return value

    def all(self, name: str, **labels: str) -> list[float]:
        return [value for (one, has), value in self.values.items() if one == name and labels.items() <= set(has)]

    def sum(self, name: str, **labels: str) -> float:
        return sum(self.all(name, **labels))


def read(text: str) -> Metrics:
    """
    :raises AssertionError: when it is not as it has to be
    """
    assert text.endswith("\n")
    found, family = Metrics({}, {}, {}), ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _hash, _help, name, told = line.split(" ", 3)
            assert name not in found.helps, f"{name} is described twice"
            assert told.strip()
            found.helps[name], family = told, name
        elif line.startswith("# TYPE "):
            _hash, _type, name, kind = line.split(" ")
            assert name == family
            assert kind in _SUFFIXES
            found.types[name] = kind
        else:
            _sample(found, family, line)
    assert set(found.types) == set(found.helps)
    _histograms(found)
    return found


def _sample(found: Metrics, family: str, line: str) -> None:
    match = _SAMPLE.fullmatch(line)
    assert match, line
    name, inner, value = match.groups()
    assert name in [family + suffix for suffix in _SUFFIXES[found.types[family]]], f"{name} stands below {family}"
    labels, at = {}, 0
    while inner and at < len(inner):
        one = _LABEL.match(inner, at)
        assert one, line
        assert one[1] not in labels
        labels[one[1]] = re.sub(r'\\["\\n]', lambda sign: _PLAIN[sign[0]], one[2])
        at = one.end()
    key = (name, frozenset(labels.items()))
    assert key not in found.values, f"{line} comes twice"
    found.values[key] = float(value)
    assert found.types[family] == "gauge" or found.values[key] >= 0


def _histograms(found: Metrics) -> None:
    """Counts grow with the bound, and end with that of all."""
    rows: dict[tuple[str, frozenset[tuple[str, str]]], list[tuple[float, float]]] = {}
    for (name, labels), value in found.values.items():
        if name.endswith("_bucket"):
            bound = dict(labels)["le"]
            rest = frozenset(label for label in labels if label[0] != "le")
            rows.setdefault((name.removesuffix("_bucket"), rest), []).append((float(bound), value))
    for (name, labels), row in rows.items():
        row.sort()
        counts = [count for _bound, count in row]
        assert counts == sorted(counts), name
        assert row[-1][0] == math.inf
        assert found.values[f"{name}_count", labels] == counts[-1]
