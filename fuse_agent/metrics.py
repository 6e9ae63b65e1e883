# SPDX-License-Identifier: Apache-2.0
"""What a mount counts, and how Prometheus reads it."""

from __future__ import annotations

import threading
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Labels: TypeAlias = tuple[tuple[str, str], ...]

PREFIX: Final = "pfs_"
# Seconds: from what is answered from memory to what waits for a source.
BUCKETS: Final = (0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0)


class Family(NamedTuple):
    type: str
    help: str


# By name, in the order of what a person asks first.
FAMILIES: Final[dict[str, Family]] = {
    "up": Family("gauge", "Whether somebody serves the mount at the moment."),
    "uptime": Family("gauge", "Seconds since this worker began; counters begin anew with it."),
    "mount_recoveries_total": Family("counter", "Workers that took over from one before them, since it was mounted."),
    "fuse_ops_total": Family("counter", "Requests of the kernel by operation and the errno of the answer."),
    "fuse_ops_durations_histogram_seconds": Family("histogram", "Seconds until the kernel had its answer."),
    "fuse_read_size_bytes_sum": Family("counter", "Bytes that the kernel was given; what it reads by itself is not among them."),
    "fuse_written_size_bytes_sum": Family("counter", "Bytes that the kernel gave; what it writes by itself is not among them."),
    "fuse_requests_waiting": Family("gauge", "Requests of the kernel that are not answered yet."),
    "opens_total": Family("counter", "Opens by who reads then: the kernel by itself (passthrough), or through the agent."),
    "blockcache_hits": Family("counter", "Reads, and opens of what the kernel reads by itself, that found it in the cache."),
    "blockcache_hit_bytes": Family("counter", "Bytes of those reads; of such opens none, since nobody counts what the kernel reads."),
    "blockcache_miss": Family("counter", "Reads, and opens of what the kernel reads by itself, for which it had to be fetched."),
    "blockcache_miss_bytes": Family("counter", "Bytes of those reads, and sizes of those files."),
    "blockcache_hit_rate": Family("gauge", "hits / (hits + miss), 0 before the first."),
    "blockcache_writes": Family("counter", "Pieces that were taken into the cache, by tier."),
    "blockcache_write_bytes": Family("counter", "Bytes of those."),
    "blockcache_evicts": Family("counter", "What was pushed out for something newer, by tier."),
    "blockcache_drops": Family("counter", "What was removed from the disk since it is not wanted any more."),
    "blockcache_read_hist_seconds": Family("histogram", "Seconds to read from the cache."),
    "blockcache_write_hist_seconds": Family("histogram", "Seconds to take a piece into the cache."),
    "cache_used_bytes": Family("gauge", "What is cached, by tier."),
    "memory_budget_bytes": Family("gauge", "What the memory tier may have."),
    "memory_used_bytes": Family("gauge", "What the memory tier has."),
    "prefetch_bytes_total": Family("counter", "Bytes that were asked of the source before anybody wanted them."),
    "prefetch_used_bytes_total": Family("counter", "Bytes of those that somebody read."),
    "prefetch_unused_bytes_total": Family("counter", "Bytes of those that were let go before anybody read them."),
    "object_requests_total": Family("counter", "Requests to the source by operation, status, and whether it was asked before."),
    "object_request_errors_total": Family("counter", "Requests that the source did not answer, or with an error, by status."),
    "object_request_durations_histogram_seconds": Family("histogram", "Seconds until the source had answered a request."),
    "object_request_data_bytes_GET": Family("counter", "Bytes that the source gave."),
    "object_request_data_bytes_PUT": Family("counter", "Bytes that the source took."),
    "meta_ops_durations_histogram_seconds": Family("histogram", "Seconds until the source told of names."),
    "queue_length": Family("gauge", "What waits for a thread: questions and changes (source), or fetches of data (fetch)."),
    "staging_bytes": Family("gauge", "What was written and lies in the staging area."),
    "dirty_bytes": Family("gauge", "What of that the source does not have."),
    "dirty_handles": Family("gauge", "Files that the source does not have as they were written."),
    "behind_bytes_total": Family("counter", "Bytes of new files that the source was sent while they were still being written."),
    "upload_failures_total": Family("counter", "Times that the source did not take a file."),
    "spins_total": Family("counter", "Times that the loop looked for the next request before it lay down, by whether one came."),
    "spin_seconds_total": Family("counter", "Seconds of processor that this took, which are among those of cpu_usage."),
    "cpu_usage": Family("counter", "Seconds of processor that the worker took."),
    "memory": Family("gauge", "Bytes of memory that the worker holds."),
    "nodes": Family("gauge", "Names that are known."),
    "conflicts": Family("gauge", "Files that were written and that a newer version overtook; see paddleflow-fuse resolve."),
    "shadowed_names": Family("gauge", "Files of the source that cannot be reached, since there is a folder of the same name."),
    "hidden_names": Family("gauge", "Names of the source that no file can have, and that listings leave out."),
}  # fmt: skip
_UNKNOWN: Final = Family("", "Not described.")
_OPERATIONS: Final = "fuse_ops_durations_histogram_seconds"
_HITS: Final = ("blockcache_hits", "blockcache_miss")


class Histogram:
    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0

    def see(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds


class Counter:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0


class Request(NamedTuple):
    """That was made of a store, for who counts them."""

    name: str  # the store's own
    code: int  # of its answer, in numbers of HTTP; 0 without one
    again: bool = False
    seconds: float = 0.0
    received: int = 0  # bytes of files
    sent: int = 0
    lacks: str = ""  # of no request: what the store was found not to have, in words
    refused: str = ""  # of no request: why nobody is let in, in words


class Metrics:
    """Counted by the thread that serves, but for what requests of a source tell."""

    def __init__(self) -> None:
        # Of the kernel's: all by operation, which are found without making a key, and beside them those that failed.
        self._operations: dict[str, Histogram] = {}
        self._failures: dict[tuple[str, int], int] = {}
        self._durations: dict[tuple[str, Labels], Histogram] = {}
        self._counts: dict[tuple[str, Labels], Counter] = {}
        self._lock = threading.Lock()
        self.lacks = set[str]()  # what the store was found not to have, in words
        self.refused = ""  # why it let nobody in when it was asked last

    def operation(self, name: str, code: int, seconds: float) -> None:
        """Of the kernel's, with the errno of its answer."""
        if code:
            key = (name, code)
            self._failures[key] = self._failures.get(key, 0) + 1
        histogram = self._operations.get(name)
        if histogram is None:
            histogram = self._operations[name] = self._durations[_OPERATIONS, (("op", name),)] = Histogram()
        histogram.see(seconds)

    def see(self, name: str, seconds: float, **labels: str) -> None:
        key = (name, tuple(labels.items()))
        histogram = self._durations.get(key)
        if histogram is None:
            histogram = self._durations[key] = Histogram()
        histogram.see(seconds)

    def counter(self, name: str, **labels: str) -> Counter:
        """For who counts often: to find it anew takes longer than to count."""
        key = (name, tuple(labels.items()))
        found = self._counts.get(key)
        if found is None:
            found = self._counts[key] = Counter()
        return found

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        self.counter(name, **labels).value += amount

    def request(self, one: Request) -> None:
        """Of a source; from any of its threads."""
        with self._lock:
            if one.lacks:
                self.lacks.add(one.lacks)
                return
            if one.refused:
                self.refused = one.refused
                return
            if 200 <= one.code < 400 or one.code == 404:
                self.refused = ""
            self.count("object_requests_total", op=one.name, code=str(one.code), retried=str(one.again).lower())
            self.see("object_request_durations_histogram_seconds", one.seconds, op=one.name)
            if one.code >= 400 or not one.code:
                self.count("object_request_errors_total", code=str(one.code))
            # Names that the reference's own tools read.
            if one.received:
                self.count("object_request_data_bytes_GET", one.received)
            if one.sent:
                self.count("object_request_data_bytes_PUT", one.sent)

    def results(self) -> dict[tuple[str, int], int]:
        """How often there was which errno, by operation."""
        failures = list(self._failures.items())
        found: dict[tuple[str, int], int] = {}
        for name, histogram in list(self._operations.items()):
            failed = {one: count for one, count in failures if one[0] == name}
            if done := sum(histogram.counts) - sum(failed.values()):
                found[name, 0] = done
            found.update(failed)
        return found

    def value(self, name: str, **labels: str) -> float:
        found = self._counts.get((name, tuple(labels.items())))
        return found.value if found else 0

    def total(self, name: str) -> float:
        """Of all labels."""
        return sum(found.value for (one, _labels), found in list(self._counts.items()) if one == name)

    def samples(self) -> list[Sample]:
        found = [
            Sample("fuse_ops_total", count, (("op", name), ("errno", str(code))))
            for (name, code), count in self.results().items()
        ]
        for (name, labels), histogram in list(self._durations.items()):
            below = 0
            for bound, count in zip((*BUCKETS, "+Inf"), histogram.counts, strict=True):
                below += count
                found.append(Sample(name, below, (*labels, ("le", str(bound))), "_bucket"))
            found.append(Sample(name, histogram.total, labels, "_sum"))
            found.append(Sample(name, below, labels, "_count"))
        found += [Sample(name, counter.value, labels) for (name, labels), counter in list(self._counts.items())]
        hits, misses = (self.total(name) for name in _HITS)
        found.append(Sample("blockcache_hit_rate", hits / (hits + misses) if hits + misses else 0.0))
        return found


class Sample(NamedTuple):
    name: str
    value: float
    labels: Labels = ()
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
        family = FAMILIES.get(name, _UNKNOWN)
        lines.append(f"# HELP {PREFIX}{name} {family.help}")
        lines.append(f"# TYPE {PREFIX}{name} {family.type or 'untyped'}")
        for one in members:
            labels = ",".join(f'{key}="{_escaped(value)}"' for key, value in (*always.items(), *one.labels))
            lines.append(f"{PREFIX}{name}{one.suffix}{{{labels}}} {one.value:.17g}")
    return "\n".join(lines) + "\n"


def together(texts: Iterable[str]) -> str:
    """Several of them as one, in which each name is described once."""
    families: dict[str, list[str]] = {}
    for one in texts:
        for family in one.split("# HELP ")[1:]:
            described, kind, rest = family.split("\n", 2)
            families.setdefault(f"# HELP {described}\n{kind}\n", []).append(rest)
    return "".join(head + "".join(bodies) for head, bodies in sorted(families.items()))


def _escaped(value: str) -> str:
    text = value.encode(errors="backslashreplace").decode()  # a mount point may have any name
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
