# SPDX-License-Identifier: Apache-2.0
"""Of a large object that is changed, only what was changed goes over the wire: counted between the agent and a real server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from paddleflow_fuse.sources.s3.options import Options

from tests.conftest import EXTENDED
from tests.support.agent_command import Command, command
from tests.support.minio import Minio
from tests.support.places import file
from tests.support.relay import Relay, closing

MIB = 1 << 20
SIZE = 1024 * MIB if EXTENDED else 80 * MIB
LEAST = 5 * MIB  # of a part
SLACK = MIB  # of what is said beside
STEP = b"0123456789abcdef" * (MIB // 16)


class Case:
    def __init__(self, agent: Command, relay: Relay, server: Minio, bucket: str) -> None:
        self.agent, self.relay, self._server, self._bucket = agent, relay, server, bucket
        self.path = agent.point / "large"

    def size(self) -> int:
        size: int = self._server.client.head_object(Bucket=self._bucket, Key="large")["ContentLength"]
        return size

    def holds(self, offset: int, data: bytes) -> bool:
        asked = f"bytes={offset}-{offset + len(data) - 1}"
        found = self._server.client.get_object(Bucket=self._bucket, Key="large", Range=asked)
        return bool(found["Body"].read() == data)


@pytest.fixture
def case(tmp_path: Path, server: Minio, bucket: Options) -> Iterator[Case]:
    big = tmp_path / "big"
    with big.open("wb") as out:
        for _step in range(SIZE // MIB):
            out.write(STEP)
    server.client.upload_file(str(big), bucket.bucket, "large")
    big.unlink()
    target = urlsplit(server.url)
    assert target.hostname
    assert target.port
    with closing(partial(Relay, (target.hostname, target.port))) as relay, command(tmp_path) as agent:
        agent.mount_bucket(bucket._replace(endpoint=f"http://127.0.0.1:{relay.port}"))
        yield Case(agent, relay, server, bucket.bucket)


def passed(relay: Relay) -> tuple[int, int]:
    there, back = relay.there, relay.back
    relay.there = relay.back = 0
    return there, back


def test_what_is_appended_is_what_is_sent_also_again_and_again(case: Case) -> None:
    """D-43."""
    passed(case.relay)
    more = os.urandom(MIB)
    with file(case.path, os.O_WRONLY | os.O_APPEND) as one:
        for turn in range(3):
            os.write(one, more)
            os.fsync(one)
            sent, fetched = passed(case.relay)
            assert sent < LEAST + len(more) + SLACK, turn
            assert fetched < LEAST + SLACK, turn
    assert case.size() == SIZE + 3 * MIB
    assert case.holds(SIZE - MIB, STEP + more * 3)
    assert case.holds(7 * MIB, STEP)


def test_of_what_is_changed_in_the_middle_a_part_is_sent(case: Case) -> None:
    passed(case.relay)
    places = [SIZE // 2 + 5, 11 * MIB]
    with file(case.path, os.O_RDWR) as one:
        for place in places:
            os.pwrite(one, b"changed", place)
        assert os.pread(one, 9, places[0] - 1)[1:8] == b"changed"
    sent, fetched = passed(case.relay)
    assert sent < len(places) * LEAST + SLACK
    assert fetched < len(places) * LEAST + SLACK
    assert case.size() == SIZE
    for place in places:
        expected = bytearray(STEP * 2)
        expected[place % MIB : place % MIB + 7] = b"changed"
        assert case.holds(place - place % MIB, bytes(expected))
    assert case.holds(0, STEP)


def test_what_is_cached_whole_is_sent_in_parts_as_well(case: Case) -> None:
    assert case.path.read_bytes()[-MIB:] == STEP
    passed(case.relay)
    with file(case.path, os.O_WRONLY) as one:
        os.ftruncate(one, SIZE - 3)
        os.pwrite(one, b"end", SIZE)
    sent, fetched = passed(case.relay)
    assert sent < LEAST + SLACK
    assert fetched < SLACK
    assert case.holds(SIZE - MIB, STEP[:-3] + bytes(3) + b"end")


def test_another_version_is_never_mixed_in(case: Case) -> None:
    one: Any = os.open(case.path, os.O_WRONLY | os.O_APPEND)
    os.write(one, b"more")
    other = b"another"
    case._server.client.put_object(Bucket=case._bucket, Key="large", Body=other)
    with pytest.raises(OSError, match="Stale"):
        os.close(one)
    assert case.size() == len(other)
    assert case.holds(0, other)
