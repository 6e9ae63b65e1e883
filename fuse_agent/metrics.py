# SPDX-License-Identifier: Apache-2.0
"""What a mount counts, and how Prometheus reads it."""

from __future__ import annotations

import threading
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Labels: TypeAlias = tuple[tuple[str, str], ...]

_PREFIX: Final = "pfs_"
# Seconds: from what is answered from memory to what waits for a source.
BUCKETS: Final = (0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0)


class Histogram:
    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0

    def see(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds


class Request(NamedTuple):
    """That was made of a store, for who counts them."""

    name: str  # the store's own
    code: int  # of its answer, in numbers of HTTP; 0 without one
    again: bool = False
    seconds: float = 0.0
    received: int = 0  # bytes of files
    sent: int = 0


class Metrics:
    """Counted by the thread that serves, but for what requests of a source tell."""

    def __init__(self) -> None:
        self._results: dict[tuple[str, int], int] = {}
        self._durations: dict[tuple[str, str], Histogram] = {}
        self._counts: dict[tuple[str, Labels], float] = {}
        self._lock = threading.Lock()

    def operation(self, name: str, code: int, seconds: float) -> None:
        """Of the kernel's, with the errno of its answer."""
        key = (name, code)
        self._results[key] = self._results.get(key, 0) + 1
        self.see("fuse_ops_durations_histogram_seconds", name, seconds)

    def see(self, what: str, name: str, seconds: float) -> None:
        key = (what, name)
        histogram = self._durations.get(key)
        if histogram is None:
            histogram = self._durations[key] = Histogram()
        histogram.see(seconds)

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        key = (name, tuple(labels.items()))
        self._counts[key] = self._counts.get(key, 0) + amount

    def request(self, one: Request) -> None:
        """Of a source; from any of its threads."""
        with self._lock:
            self.count("object_requests_total", op=one.name, code=str(one.code), retried=str(one.again).lower())
            self.see("object_request_durations_histogram_seconds", one.name, one.seconds)
            if one.code >= 400 or not one.code:
                self.count("object_request_errors_total", code=str(one.code))
            # Names that the reference's own tools read.
            if one.received:
                self.count("object_request_data_bytes_GET", one.received)
            if one.sent:
                self.count("object_request_data_bytes_PUT", one.sent)

    def results(self) -> dict[tuple[str, int], int]:
        return dict(self._results)

    def value(self, name: str, **labels: str) -> float:
        return self._counts.get((name, tuple(labels.items())), 0)

    def samples(self) -> list[Sample]:
        found = [
            Sample("fuse_ops_total", count, (("op", name), ("errno", str(code))), "counter")
            for (name, code), count in list(self._results.items())
        ]
        for (what, name), histogram in list(self._durations.items()):
            labels: Labels = (("op", name),)
            below = 0
            for bound, count in zip((*BUCKETS, "+Inf"), histogram.counts, strict=True):
                below += count
                found.append(Sample(what, below, (*labels, ("le", str(bound))), "histogram", "_bucket"))
            found.append(Sample(what, histogram.total, labels, "histogram", "_sum"))
            found.append(Sample(what, below, labels, "histogram", "_count"))
        found += [Sample(name, value, labels, "counter") for (name, labels), value in list(self._counts.items())]
        return found


class Sample(NamedTuple):
    name: str
    value: float
    labels: Labels = ()
    type: str = "gauge"
    suffix: str = ""


def text(samples: Iterable[Sample], always: Mapping[str, str]) -> str:
    """In the form that Prometheus reads, names together.

    :param always: labels of every sample
    """
    families: dict[str, list[Sample]] = {}
    for sample in samples:
        families.setdefault(sample.name, []).append(sample)
    lines = []
    for name, members in sorted(families.items()):
        lines.append(f"# TYPE {_PREFIX}{name} {members[0].type}")
        for one in members:
            labels = ",".join(f'{key}="{_escaped(value)}"' for key, value in (*always.items(), *one.labels))
            lines.append(f"{_PREFIX}{name}{one.suffix}{{{labels}}} {one.value:.17g}")
    return "\n".join(lines) + "\n"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
