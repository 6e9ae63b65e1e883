# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from paddleflow_fuse.sources.s3.options import Options

from tests.support.minio import Minio, minio


@pytest.fixture(scope="session")
def server() -> Iterator[Minio]:
    """Of a worker; a test has a bucket of its own."""
    with tempfile.TemporaryDirectory(prefix="minio-") as folder, minio(Path(folder)) as running:
        yield running


@pytest.fixture
def bucket(server: Minio) -> Options:
    return server.bucket()
