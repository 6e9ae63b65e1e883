# SPDX-License-Identifier: Apache-2.0
"""What a worker does at its end, by whether another goes on after it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from paddleflow_fuse.cache.store import Store
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.worker.filesystem import begin
from paddleflow_fuse.worker.service import Given


@pytest.mark.parametrize("is_over", [True, False])
def test_only_at_the_end_of_a_mount_the_cache_is_brought_to_the_disk(
    tmp_path: Path, region: Region, monkeypatch: pytest.MonkeyPatch, is_over: bool
) -> None:
    """Which takes as long as whatever else waits for that disk: clients wait for the worker that comes after this one."""
    synced: list[Store] = []

    def sync(store: Store) -> None:
        synced.append(store)

    monkeypatch.setattr(Store, "sync", sync)
    (tmp_path / "data").mkdir()
    options = {"data-cache-path": str(tmp_path / "cache"), "meta-cache-driver": "disk"}
    told = {
        "mount": str(tmp_path / "mount"), "url": f"local:/{tmp_path}/data", "options": options, "uid": 0, "gid": 0,
        "mounted_ns": 0, "run": str(tmp_path / "run"),
    }  # fmt: skip
    session: Any = SimpleNamespace(agreed=SimpleNamespace(passthrough=False), unbind=lambda _number: False, doubt=None)
    given = Given(region, session, told, {}, lambda _name, _descriptor: None)

    async def serve() -> None:
        async with begin(given) as served:
            if is_over:
                served.over()

    trio.run(serve)
    assert bool(synced) == is_over
    (mark,) = (tmp_path / "cache").glob("*/*/names-well")
    assert ("disk" in mark.read_text()) == is_over
