# SPDX-License-Identifier: Apache-2.0
"""A status as people see it."""

from __future__ import annotations

from typing import Any

import pytest
from paddleflow_fuse.cli.show import size, span, status

FILES: dict[str, Any] = {
    "nodes": 7, "open": 2, "hidden_names": 12, "hidden": [f"a//{index}" for index in range(11)], "unsaved": 1,
    "waiting": {"source": 3, "fetch": 0}, "dirty_bytes": 1536, "staged_bytes": 2048, "upload_failures": 4,
    "staged": [{"path": "model/last.pt", "bytes": 1536, "stored": False, "retried": True}],
}  # fmt: skip
WORKER: dict[str, Any] = {
    "seconds": 3700, "resident": 50 << 20, "reads": {"hits": 3, "misses": 1}, "files": FILES,
    "memory": {"used": 0, "budget": 512 << 20},
    "disk": {"off": "", "short": "", "settled": True, "bytes": 3 << 30, "most_bytes": 10 << 30, "files": 5, "folder": "/cache"},
}  # fmt: skip
TOLD: dict[str, Any] = {
    "pid": 1, "worker_pid": 2, "serves": True, "restarts": 1, "failures": 0, "ends": False, "program": "/opt", "worker": WORKER,
    "mount": {
        "point": "/mnt", "source": "s3://bucket", "session": "pyfuse3", "lacks": ["reading 1024 KiB ahead (Read-only file system)"],
        "features": [{"name": "passthrough", "granted": True, "text": "fast"}, {"name": "resend", "granted": False, "text": "b"}],
    },
}  # fmt: skip


def rows(told: dict[str, Any]) -> list[str]:
    return [" ".join(line.split()) for line in status(told).splitlines()]


def test_what_a_person_asks_first_is_said() -> None:
    found = rows(TOLD)
    assert found[0] == "/mnt s3://bucket"
    for line in (
        "served by process 2 for 1 h 1 min; held by 1",
        "session pyfuse3",
        "replaced 1 times, of late 0 times by failures",
        "kernel yes passthrough fast",
        "no resend b",
        "hits 75.0 % of 4",
        "memory 0 B of 512.0 MiB cached; the process has 50.0 MiB",
        "disk 3.0 GiB of 10.0 GiB, 5 files, in /cache",
        "waiting 3 source, 0 fetch",
        "written 1 files not stored, 1.5 KiB; 2.0 KiB staged",
        "staged model/last.pt (1.5 KiB, its store does not take it; tried again and again)",
        "hidden a//0",
        "and 2 more",
        "warning without reading 1024 KiB ahead (Read-only file system)",
        "4 times its store did not take a file; see the log",
    ):
        assert line in found, found


def test_one_that_nobody_serves_is_told_as_such() -> None:
    found = rows({**TOLD, "serves": False, "worker_pid": None, "worker": "does not answer"})
    assert "served NOT at the moment; held by 1" in found
    assert "the worker does not answer" in found


def test_a_cache_that_is_off_says_why() -> None:
    worker = {**WORKER, "disk": {**WORKER["disk"], "off": "The disk is full."}}
    assert any("OFF: The disk is full." in line for line in rows({**TOLD, "worker": worker}))


def test_a_cache_whose_disk_others_use_says_why_nothing_is_kept() -> None:
    worker = {**WORKER, "disk": {**WORKER["disk"], "short": "its disk has 18.6% free"}}
    assert any("KEEPS NOTHING MORE: its disk has 18.6% free" in line for line in rows({**TOLD, "worker": worker}))


@pytest.mark.parametrize(("count", "told"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (5 << 50, "5.0 PiB")])
def test_sizes(count: int, told: str) -> None:
    assert size(count) == told


@pytest.mark.parametrize(("seconds", "told"), [(0, "0 s"), (59.9, "59 s"), (61, "1 min 1 s"), (90_061, "1 d 1 h")])
def test_spans(seconds: float, told: str) -> None:
    assert span(seconds) == told


def test_a_store_that_lets_nobody_in_is_told_with_its_words() -> None:
    why = "[Errno 13] GetObject is refused; correct secretKey"
    assert f"its store refused what it was asked last: {why}" in "\n".join(
        rows({**TOLD, "worker": {**WORKER, "refused": why}})
    )
    assert "refused" not in "\n".join(rows(TOLD))
