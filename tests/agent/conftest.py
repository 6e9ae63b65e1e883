# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from paddleflow_fuse.sources.s3.options import Options

from tests.support.minio import Minio, minio
from tests.support.mounted import Mounted
from tests.support.places import KINDS, Place, opened

_COUNT = itertools.count()


class Places:
    """One mount of each kind, that the tests of a file share; each has a folder of its own in it."""

    def __init__(self, base: Path, stack: ExitStack) -> None:
        self._base, self._stack = base, stack
        self._opened: dict[str, tuple[Path, Mounted | None]] = {}

    def take(self, name: str) -> Place:
        if name not in self._opened:
            (self._base / name).mkdir()
            self._opened[name] = self._stack.enter_context(opened(name, self._base / name))
        root, mount = self._opened[name]
        own = root / str(next(_COUNT))
        own.mkdir()
        return Place(own, name, mount)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    with ExitStack() as stack:
        yield Places(tmp_path_factory.mktemp("places"), stack)


@pytest.fixture(params=list(KINDS))
def place(request: pytest.FixtureRequest, places: Places) -> Place:
    """Everywhere: what holds here is POSIX."""
    return places.take(request.param)


@pytest.fixture(params=[name for name, kind in KINDS.items() if kind.keeps])
def keeper(request: pytest.FixtureRequest, places: Places) -> Place:
    """Where owners, modes and times are kept."""
    return places.take(request.param)


@pytest.fixture(params=[name for name, kind in KINDS.items() if kind.source == "memory"])
def objects(request: pytest.FixtureRequest, places: Places) -> Place:
    """Where a store of objects makes a difference."""
    return places.take(request.param)


@pytest.fixture(params=[name for name, kind in KINDS.items() if kind.source])
def ours(request: pytest.FixtureRequest, places: Places) -> Place:
    """Our mounts, where they differ from a plain folder."""
    return places.take(request.param)


@pytest.fixture(params=["memory", "memory-without-passthrough"])
def forgetful(request: pytest.FixtureRequest, places: Places) -> Place:
    """Where no owners, modes and times are kept."""
    return places.take(request.param)


@pytest.fixture(scope="session")
def server() -> Iterator[Minio]:
    """Of a worker; a test has a bucket of its own."""
    with tempfile.TemporaryDirectory(prefix="minio-") as folder, minio(Path(folder)) as running:
        yield running


@pytest.fixture
def bucket(server: Minio) -> Options:
    return server.bucket()
