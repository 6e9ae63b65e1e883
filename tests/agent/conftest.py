# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from paddleflow_fuse.sources.s3.options import Options
from paddleflow_fuse.sources.sftp import options as sftp

from tests.support.agent_command import Command, command
from tests.support.agent_mounts import Make, agents
from tests.support.minio import Minio, minio
from tests.support.places import KINDS, Place, Places
from tests.support.sshd import Sshd, sshd


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


@pytest.fixture(scope="module")
def ssh() -> Iterator[Sshd]:
    """Of a file of tests; a test has a folder of its own."""
    with sshd() as running:
        yield running


@pytest.fixture
def options(ssh: Sshd) -> sftp.Options:
    return ssh.options()


@pytest.fixture
def make() -> Iterator[Make]:
    with agents() as found:
        yield found


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Command]:
    (tmp_path / "agent").mkdir()
    with command(tmp_path / "agent") as one:
        yield one


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder of the machine, to be mounted."""
    (tmp_path / "source").mkdir()
    return tmp_path / "source"
