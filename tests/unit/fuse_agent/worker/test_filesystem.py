# SPDX-License-Identifier: Apache-2.0
"""What a worker does at its end, by whether another goes on after it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from paddleflow_fuse import cgroup
from paddleflow_fuse.cache import store
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.worker.filesystem import begin
from paddleflow_fuse.worker.service import Given

from tests.support.granted import until


def given(tmp_path: Path, region: Region) -> Given:
    """Of a folder of the machine, with a cache."""
    (tmp_path / "data").mkdir()
    options = {"data-cache-path": str(tmp_path / "cache"), "meta-cache-driver": "disk"}
    told = {
        "mount": str(tmp_path / "mount"), "url": f"local:/{tmp_path}/data", "options": options, "uid": 0, "gid": 0,
        "mounted_ns": 0, "run": str(tmp_path / "run"),
    }  # fmt: skip
    session: Any = SimpleNamespace(agreed=SimpleNamespace(passthrough=False), unbind=lambda _number: False, doubt=None)
    return Given(region, session, told, {}, lambda _name, _descriptor: None)


@pytest.mark.parametrize(("is_over", "waits"), [(True, 5000), (True, 300_000), (False, 5000)])
def test_only_at_the_end_of_a_mount_the_cache_is_brought_to_the_disk(
    tmp_path: Path, region: Region, monkeypatch: pytest.MonkeyPatch, is_over: bool, waits: int
) -> None:
    """Which takes its time: clients wait for the worker that comes after this one, and nobody for what others write."""
    synced: list[int] = []
    (tmp_path / "meminfo").write_text(f"Dirty: {waits} kB\nWriteback: 0 kB\n")
    monkeypatch.setattr(store, "_MEMORY", tmp_path / "meminfo")

    def syncfs(root: int) -> int:
        synced.append(root)
        return 0

    monkeypatch.setattr(store._LIBC, "syncfs", syncfs)

    async def serve() -> None:
        async with begin(given(tmp_path, region)) as served:
            # What ends before it has begun is looked through anew in any case.
            settled = partial(until, "the cache has begun", lambda: served.status()["disk"]["settled"])
            await trio.to_thread.run_sync(settled)
            if is_over:
                served.over()

    trio.run(serve)
    lasts = is_over and waits < 100_000
    assert bool(synced) == lasts
    (mark,) = (tmp_path / "cache").glob("*/*/names-well")
    assert ("disk" in mark.read_text()) == lasts


@pytest.mark.parametrize(("limit", "budget"), [(None, 512 << 20), (4 << 30, 512 << 20), (512 << 20, 128 << 20)])
def test_the_memory_tier_has_at_most_a_quarter_of_what_may_be_had(
    tmp_path: Path, region: Region, monkeypatch: pytest.MonkeyPatch, limit: int | None, budget: int
) -> None:
    """D-38."""
    monkeypatch.setattr(cgroup, "limit", lambda: limit)
    told: list[dict[str, Any]] = []

    async def serve() -> None:
        async with begin(given(tmp_path, region)) as served:
            told.append(served.status())

    trio.run(serve)
    assert told[0]["memory"]["budget"] == budget
