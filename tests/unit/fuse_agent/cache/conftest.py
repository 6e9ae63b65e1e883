# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from paddleflow_fuse.cache.disk import Disk

from tests.support.caches import opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def disk(folder: Path) -> Iterator[Disk]:
    """With room for all."""
    with opened(folder) as one:
        yield one
