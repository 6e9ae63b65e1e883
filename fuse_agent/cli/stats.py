# SPDX-License-Identifier: Apache-2.0
"""A live table of what an agent does: a line for each interval, until its mount goes or nobody reads any more."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from .ask import AskError, GoneError, ask
from .values import Change, Values

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_WIDTH: Final = 7
_ROWS: Final = 25  # between two headings, where nobody says how many fit


class Column(NamedTuple):
    """
    :ivar more: shown from this verbosity on
    """

    title: str
    show: Callable[[Change], str]
    more: int = 0


def _rate(name: str, **labels: str) -> Callable[[Change], str]:
    return lambda change: amount(change.rate(name, **labels))


def _now(name: str, **labels: str) -> Callable[[Change], str]:
    return lambda change: amount(change.now.sum(name, **labels))


def _mean(name: str, **labels: str) -> Callable[[Change], str]:
    return lambda change: milliseconds(change.mean(name, **labels))


def _share(part: str, rest: str) -> Callable[[Change], str]:
    def show(change: Change) -> str:
        some, more = change.of(part), change.of(rest)
        return f"{100 * some / (some + more):.1f}" if some + more else "-"

    return show


_OPS: Final = "fuse_ops_durations_histogram_seconds"
_META: Final = "meta_ops_durations_histogram_seconds"
_READ, _WRITE = "blockcache_read_hist_seconds", "blockcache_write_hist_seconds"
_REQUEST: Final = "object_request_durations_histogram_seconds"
# By the letters of --schema; bytes and numbers are of a second, times in milliseconds.
GROUPS: Final[dict[str, tuple[str, tuple[Column, ...]]]] = {
    "u": ("usage", (
        Column("cpu%", lambda change: f"{100 * change.rate('cpu_usage'):.1f}"),
        Column("mem", _now("memory")),
        Column("dirty", _now("dirty_bytes")),
        Column("staged", _now("staging_bytes"), 1),
    )),
    "f": ("fuse", (
        Column("ops", _rate(f"{_OPS}_count")),
        Column("lat", _mean(_OPS)),
        Column("read", _rate("fuse_read_size_bytes_sum")),
        Column("write", _rate("fuse_written_size_bytes_sum")),
        Column("open", _rate(f"{_OPS}_count", op="OPEN"), 1),
        Column("lookup", _rate(f"{_OPS}_count", op="LOOKUP"), 1),
        Column("waits", _now("fuse_requests_waiting"), 1),
    )),
    "m": ("meta", (
        Column("ops", _rate(f"{_META}_count")),
        Column("lat", _mean(_META)),
        Column("names", _now("nodes"), 1),
    )),
    "c": ("cache", (
        Column("hit%", _share("blockcache_hits", "blockcache_miss")),
        Column("read", _rate("blockcache_hit_bytes")),
        Column("fill", _rate("blockcache_write_bytes")),
        Column("rlat", _mean(_READ), 1),
        Column("wlat", _mean(_WRITE), 1),
        Column("evict", _rate("blockcache_evicts"), 1),
        Column("ahead%", _share("prefetch_used_bytes_total", "prefetch_unused_bytes_total"), 1),
        Column("disk", _now("cache_used_bytes", tier="disk"), 1),
        Column("mem", _now("cache_used_bytes", tier="memory"), 1),
    )),
    "o": ("object", (
        Column("ops", _rate("object_requests_total")),
        Column("get", _rate("object_request_data_bytes_GET")),
        Column("put", _rate("object_request_data_bytes_PUT")),
        Column("errors", _rate("object_request_errors_total")),
        Column("lat", _mean(_REQUEST), 1),
        Column("again", _rate("object_requests_total", retried="true"), 1),
    )),
    "g": ("agent", (
        Column("queue", _now("queue_length")),
        Column("new", _now("mount_recoveries_total")),
        Column("up", _now("uptime"), 1),
    )),
}  # fmt: skip


def amount(value: float) -> str:
    """In four or five signs."""
    for unit in ("", "K", "M", "G", "T"):
        if abs(value) < 1000:
            return f"{value:.0f}" if not unit and value == int(value) else f"{value:.1f}{unit}"
        value /= 1000
    return f"{value:.0f}P"


def milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1000:.2f}"


def headings(schema: str, more: int) -> list[str]:
    """Two lines: groups, and what stands in each column."""
    groups, titles = [], []
    for letter in schema:
        name, columns = GROUPS[letter]
        shown = [one.title for one in columns if one.more <= more]
        titles.append(" ".join(f"{title:>{_WIDTH}}" for title in shown))
        groups.append(f"{name:-^{len(titles[-1])}}")
    return [" ".join(groups), " ".join(titles)]


def row(schema: str, more: int, change: Change) -> str:
    return " ".join(
        f"{one.show(change):>{_WIDTH}}" for letter in schema for one in GROUPS[letter][1] if one.more <= more
    )


def live(run: Path, point: Path, schema: str, interval: float, more: int, times: int) -> None:
    """
    :param times: lines; 0 for as long as there is a mount
    :raises AskError: when nobody serves it to begin with
    """
    before, then = _values(run, point), time.monotonic()
    lines, rows = 0, max(shutil.get_terminal_size((80, _ROWS + 3)).lines - 3, 1)
    while not times or lines < times:
        time.sleep(interval)
        try:
            values = _values(run, point)
        except GoneError:
            print(f"{point} is not mounted any more.", file=sys.stderr)
            return
        except AskError as error:  # a worker is being replaced
            print(error, file=sys.stderr)
            continue
        now = time.monotonic()
        if not lines % rows:
            print("\n".join(headings(schema, more)))
        print(row(schema, more, Change(before, values, now - then)), flush=True)
        before, then, lines = values, now, lines + 1


def _values(run: Path, point: Path) -> Values:
    return Values("".join(one.get("text", "") for one in ask(run, point, "metrics")))
