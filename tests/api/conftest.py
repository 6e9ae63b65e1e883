# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import checklogs
from tests.support.control_plane import ControlPlane, control_plane


@pytest.fixture(scope="session")
def api() -> Iterator[ControlPlane]:
    """One real API server for the whole run; each test keeps to names of its own."""
    with control_plane() as plane:
        yield plane
        assert checklogs.crashes({log.stem: [log] for log in plane.folder.glob("*.log")}) == []
