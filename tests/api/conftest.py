# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import checklogs
from tests.support.control_plane import ControlPlane, control_plane


@pytest.fixture(scope="module")
def api() -> Iterator[ControlPlane]:
    """One real API server for each file, whose tests keep to names of their own: a few seconds, and no file sees another's."""
    with control_plane() as plane:
        yield plane
        assert checklogs.crashes({log.stem: [log] for log in plane.folder.glob("*.log")}) == []
