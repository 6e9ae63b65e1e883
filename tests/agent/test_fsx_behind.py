# SPDX-License-Identifier: Apache-2.0
"""Operations at random on files that are sent while they are written, and workers that are killed over it: a bucket holds what a plain
folder holds, and no upload stays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule, run_state_machine_as_test
from paddleflow_fuse.sources.s3.options import BEHIND

from tests.agent.test_fsx import FILES, SEEDS, Pair, data, settings
from tests.agent.test_fsx_takeover import Killed, Machine
from tests.support.agent_command import command
from tests.support.agent_mounts import until
from tests.support.minio import Minio
from tests.support.ranges import KEEP, PUNCH, ZERO

PART = BEHIND // 2
GROWN = 3 * PART
# Edges of parts lie in between.
PLACES = st.sampled_from([0, 1, PART - 1, PART, PART + 4096, 2 * PART - 3, 2 * PART, GROWN - 1, GROWN])
SPANS = st.sampled_from([1, 4096, 1 << 20, PART + 1])


class Large(Killed):
    """Beside all that is done to small ones."""

    server: ClassVar[Minio]
    bucket: ClassVar[str]

    def parts(self, name: str) -> int:
        key = f"{self.ours.name}/{name}"
        found = self.server.client.list_multipart_uploads(Bucket=self.bucket, Prefix=key)
        counts = []
        for one in found.get("Uploads", ()):
            with suppress(self.server.client.exceptions.NoSuchUpload):  # it is ended right now
                told = self.server.client.list_parts(Bucket=self.bucket, Key=key, UploadId=one["UploadId"])
                counts.append(len(told.get("Parts", ())))
        return max(counts, default=0)

    def teardown(self) -> None:
        super().teardown()
        until(lambda: not self.parts("a") and not self.parts("b"), "uploads to be ended")

    @initialize(seed=SEEDS)
    def begin(self, seed: int) -> None:
        self.grow("a", seed)

    @rule(name=FILES, seed=SEEDS)
    @precondition(lambda self: len(self.handles) < 5)
    def grow(self, name: str, seed: int) -> None:
        """A new file, of which some is sent."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        for folder in (self.ours, self.theirs):
            (folder / name).unlink(missing_ok=True)
        pair = Pair(name, flags, os.open(self.ours / name, flags), os.open(self.theirs / name, flags))
        self.handles.append(pair)
        written = data(seed, GROWN)[:GROWN]
        for one in (pair.ours, pair.theirs):
            assert os.write(one, written) == GROWN
        until(lambda: self.parts(name) >= 2, "parts to be sent")

    @rule(drawn=st.data(), offset=PLACES, size=SPANS, seed=SEEDS)
    def write_far(self, drawn: st.DataObject, offset: int, size: int, seed: int) -> None:
        self.write(drawn, offset, size, seed)

    @rule(drawn=st.data(), size=PLACES)
    def truncate_far(self, drawn: st.DataObject, size: int) -> None:
        self.truncate(drawn, size)

    @rule(drawn=st.data(), offset=PLACES, size=SPANS, seed=SEEDS)
    def write_to_memory_far(self, drawn: st.DataObject, offset: int, size: int, seed: int) -> None:
        self.write_to_memory(drawn, offset, size, seed)

    @rule(drawn=st.data(), offset=PLACES, size=SPANS, mode=st.sampled_from([0, KEEP, PUNCH | KEEP, ZERO]))
    def make_room_far(self, drawn: st.DataObject, offset: int, size: int, mode: int) -> None:
        self.make_room(drawn, offset, size, mode)

    @rule(drawn=st.data(), at=PLACES, to=PLACES, size=SPANS)
    def copy_far(self, drawn: st.DataObject, at: int, to: int, size: int) -> None:
        self.copy(drawn, at, to, size)


@pytest.fixture
def machine(tmp_path: Path, server: Minio) -> Iterator[tuple[Machine, str]]:
    bucket = server.bucket()
    assert bucket.credentials is not None
    given: dict[str, Any] = {
        "url": f"s3://{bucket.bucket}",
        "options": {"endpoint": server.url, "s3ForcePathStyle": "true"},
        "secrets": {"accessKey": bucket.credentials.key, "secretKey": bucket.credentials.secret},
    }
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    with command(tmp_path / "first") as one, command(tmp_path / "second") as other:
        yield Machine(one, other, given), bucket.bucket
        said = one.said() + other.said()
        for defect in ("defect of the agent", "never awaited", "Traceback"):
            assert defect not in said, said[-3000:]


def test_contents(machine: tuple[Machine, str], server: Minio) -> None:
    given = {"root": machine[0].agent.point, "machine": machine[0], "server": server, "bucket": machine[1]}
    run_state_machine_as_test(type("made", (Large,), given), settings=settings(3, 20))
