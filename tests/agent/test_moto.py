# SPDX-License-Identifier: Apache-2.0
"""A bucket of moto, which has what MinIO has not: an archive, and keys of customers without TLS."""

from __future__ import annotations

import base64
import errno
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from paddleflow_fuse.sources.base import Source
from paddleflow_fuse.sources.objects import ObjectSource
from paddleflow_fuse.sources.s3.multipart import Sizes
from paddleflow_fuse.sources.s3.options import Objects, Options
from paddleflow_fuse.sources.s3.store import S3Store

from tests.support.minio import KEYS
from tests.support.source_suite import SourceSuite, content, names, store

_NUMBERS = itertools.count(1)
KEY = base64.b64encode(bytes(range(32))).decode()
MIB = 1 << 20


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.support.moto_server"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        server.stdin.close()
        server.wait(30)


@pytest.fixture
def client(url: str) -> Any:
    make: Any = boto3.client
    return make(
        "s3", endpoint_url=url, aws_access_key_id=KEYS.key, aws_secret_access_key=KEYS.secret, region_name="us-east-1"
    )


@pytest.fixture
def bucket(url: str, client: Any) -> Options:
    name = f"bucket-{os.getpid()}-{next(_NUMBERS)}"
    client.create_bucket(Bucket=name)
    return Options(name, url, path_style=True, credentials=KEYS)


class TestMoto(SourceSuite):
    @pytest.fixture
    def source(self, bucket: Options) -> Iterator[Source]:
        source = ObjectSource(S3Store(bucket))
        yield source
        source.close()


def test_what_lies_in_an_archive_is_seen_and_told_when_it_is_read(bucket: Options, client: Any) -> None:
    client.put_object(Bucket=bucket.bucket, Key="old", Body=b"x" * 10, StorageClass="GLACIER")
    source = ObjectSource(S3Store(bucket))
    assert names(source) == [b"old"]
    assert source.find(b"old").size == 10
    with pytest.raises(OSError, match=r"InvalidObjectState.*restore it from the archive first") as told:
        content(source, b"old")
    assert told.value.errno == errno.EIO
    source.close()


def test_objects_are_encrypted_with_the_key_of_who_stores_them(bucket: Options, client: Any) -> None:
    keyed = bucket._replace(objects=Objects("SSE-C", customer_key=KEY))
    source = ObjectSource(S3Store(keyed, sizes=Sizes(put=5 * MIB)))
    for name, size in ((b"small", 10), (b"large", 6 * MIB)):
        store(source, name, b"x" * size)
        source.rename(name, name + b"-moved")
        assert content(source, name + b"-moved") == b"x" * size
    source.close()
    assert client.list_objects_v2(Bucket=bucket.bucket)["KeyCount"] == 2
