# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from paddleflow_fuse.cli.stats import GROUPS, amount, headings, row
from paddleflow_fuse.cli.values import Change, Values
from paddleflow_fuse.cli.words import parser
from paddleflow_fuse.metrics import Metrics, Sample, text

ALL = "".join(GROUPS)


def values(*samples: Sample, metrics: Metrics | None = None) -> Values:
    return Values(text([*samples, *(metrics or Metrics()).samples()], {"mp": '/a "b"\\{}'}))


def shown(letter: str, change: Change, more: int = 0) -> dict[str, str]:
    titles = headings(letter, more)[1].split()
    return dict(zip(titles, row(letter, more, change).split(), strict=True))


def test_rates_are_of_a_second_and_means_of_what_happened_between() -> None:
    metrics = Metrics()
    metrics.operation("OPEN", 0, 1.0)
    metrics.count("blockcache_hits", 10, tier="disk")
    before = values(Sample("cpu_usage", 1.0), metrics=metrics)
    for _time in range(4):
        metrics.operation("OPEN", 0, 0.002)
    metrics.count("blockcache_hits", 3, tier="disk")
    metrics.count("blockcache_miss", 1, tier="memory")
    metrics.count("fuse_read_size_bytes_sum", 4_000_000)
    change = Change(before, values(Sample("cpu_usage", 1.5), Sample("memory", 2048), metrics=metrics), 2.0)
    assert shown("u", change) == {"cpu%": "25.0", "mem": "2.0K", "dirty": "0"}
    assert shown("f", change) == {"ops": "2", "lat": "2.00", "read": "2.0M", "write": "0"}
    assert shown("c", change)["hit%"] == "75.0"
    assert shown("m", change)["lat"] == "-"


def test_who_counts_anew_began_at_nothing() -> None:
    before, now = values(Sample("cpu_usage", 50)), values(Sample("cpu_usage", 0.5))
    assert Change(before, now, 1).of("cpu_usage") == 0.5


@pytest.mark.parametrize("more", [0, 1])
def test_headings_stand_above_their_columns(more: int) -> None:
    change = Change(values(), values(), 1)
    lines = [*headings(ALL, more), row(ALL, more, change)]
    assert len({len(line) for line in lines}) == 1
    assert lines[0].replace("-", " ").split() == [name for name, _columns in GROUPS.values()]


@pytest.mark.parametrize(
    ("value", "told"),
    [(0, "0"), (7, "7"), (0.25, "0.2"), (999, "999"), (1000, "1.0K"), (123_456_789, "123.5M"), (1e18, "1000P")],
)
def test_amounts_are_short(value: float, told: str) -> None:
    assert amount(value) == told


def test_letters_that_are_no_group_are_refused() -> None:
    with pytest.raises(SystemExit, match="2"):
        parser().parse_args(["stats", "/mnt", "--schema", "ux"])
    assert parser().parse_args(["stats", "/mnt", "--schema", ALL]).schema == ALL
