# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator

import pytest
from paddleflow_fuse.nodes.region import Region


@pytest.fixture
def region() -> Iterator[Region]:
    made = Region.create()
    yield made
    made.close()
