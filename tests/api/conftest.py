# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from paddleflow_core.kube.client import Client

from tests.support.control_plane import ControlPlane, control_plane
from tests.support.kube_api import Session, session_in
from tests.support.shared_plane import SharedPlane

# Of few tests each, whose plays take longer than all tests of another file: begun last, they would keep one worker while the other
# has nothing left. xdist would begin with the files of most tests, so `make api` has it keep this order.
LONG = ("least_access", "module_examples", "volcano_role", "apply_module", "existing", "here", "queue_tree", "lookups")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.stem.removeprefix("test_") not in LONG)


@pytest.fixture(scope="session")
def shared() -> Iterator[SharedPlane]:
    """Of a worker, whose files take turns."""
    with contextlib.closing(SharedPlane()) as shared:
        yield shared


@pytest.fixture(scope="module")
def api(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A real API server with nothing of another file on it; a file's tests keep to names of their own."""
    if request.node.get_closest_marker("own_api"):
        with control_plane() as plane:
            yield plane
        return
    shared: SharedPlane = request.getfixturevalue("shared")
    with shared.turn() as plane:
        yield plane


@pytest.fixture(scope="module")
def session(api: ControlPlane, request: pytest.FixtureRequest) -> Iterator[Session]:
    """Clients for a file, with the namespace that it names NAMESPACE."""
    with session_in(api, request.module.NAMESPACE) as running:
        yield running


@pytest.fixture(scope="module")
def client(session: Session) -> Client:
    """The administrator's."""
    return session.client()
