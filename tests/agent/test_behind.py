# SPDX-License-Identifier: Apache-2.0
"""Large files of a bucket are sent while they are written: what a real server has then, what is sent at the close, and that no upload stays."""

from __future__ import annotations

import errno
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from paddleflow_fuse.cli.ask import ask, last
from paddleflow_fuse.session.mount import unmount
from paddleflow_fuse.sources.s3.options import Options

from tests.support.agent_command import Command, command
from tests.support.agent_mounts import is_alive
from tests.support.granted import until
from tests.support.minio import Minio
from tests.support.places import file
from tests.support.prometheus import Metrics, read
from tests.support.source_suite import failing

MIB = 1 << 20
PART = 8 * MIB
DATA = random.Random(1).randbytes(5 * PART)
NEW = os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Case:
    """Nothing here begins a process while a file is open: what is open here would be closed in it, and so stored."""

    def __init__(self, agent: Command, server: Minio, bucket: str) -> None:
        self.agent, self.point, self.client, self.bucket = agent, agent.point, server.client, bucket

    def mount(self, server: Minio, bucket: Options) -> None:
        assert bucket.credentials is not None
        secrets = {"accessKey": bucket.credentials.key, "secretKey": bucket.credentials.secret}
        options = {"endpoint": server.url, "s3ForcePathStyle": "true"}
        self.agent.mount(f"s3://{bucket.bucket}", options=options, secrets=secrets)

    def uploads(self, key: str = "large") -> list[str]:
        found = self.client.list_multipart_uploads(Bucket=self.bucket, Prefix=key)
        return [one["UploadId"] for one in found.get("Uploads", ()) if one["Key"] == key]

    def has_sent(self, count: int, key: str = "large") -> bool:
        """So many parts."""
        for upload in self.uploads(key):
            with suppress(self.client.exceptions.NoSuchUpload):  # it is ended right now
                found = self.client.list_parts(Bucket=self.bucket, Key=key, UploadId=upload)
                if len(found.get("Parts", ())) == count:
                    return True
        return False

    def keys(self) -> list[str]:
        return [one["Key"] for one in self.client.list_objects_v2(Bucket=self.bucket).get("Contents", ())]

    def holds(self, data: bytes, key: str = "large") -> bool:
        return bool(self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read() == data)

    def counted(self) -> Metrics:
        return read("".join(line.get("text", "") for line in ask(self.agent.run, self.point, "metrics")))

    def requests(self, act: Callable[[], object]) -> Counter[str]:
        """Those that change something, while that was done."""
        before = self._asked()
        act()
        return self._asked() - before

    def _asked(self) -> Counter[str]:
        asked: Counter[str] = Counter()
        for (name, labels), value in self.counted().values.items():
            if name == "pfs_object_requests_total" and dict(labels)["op"] not in ("HeadObject", "ListObjectsV2"):
                asked[dict(labels)["op"]] += int(value)
        return asked

    def worker(self) -> int:
        said = last(self.agent.run, self.point, "status")
        return int(said["worker_pid"]) if said["serves"] else 0

    def check(self, data: bytes, key: str = "large") -> None:
        assert self.holds(data, key)
        self.check_nothing_is_left(key)

    def check_nothing_is_left(self, key: str = "large") -> None:
        until("all uploads are ended", lambda: not self.uploads(key))
        folder = self.agent.cache
        until("none is noted", lambda: not list(folder.rglob("uploads/*.json")))


@pytest.fixture
def case(tmp_path: Path, server: Minio, bucket: Options) -> Iterator[Case]:
    with command(tmp_path) as agent:
        one = Case(agent, server, bucket.bucket)
        one.mount(server, bucket)
        yield one


def begun(case: Case, one: int, data: bytes = DATA, parts: int = 4) -> None:
    """It is written, and all is sent that can be."""
    assert os.write(one, data) == len(data)
    until_sent(case, parts)
    assert case.keys() == []


def until_sent(case: Case, parts: int) -> None:
    """The server has them, and a moment later they are counted."""
    until("parts are sent", lambda: case.has_sent(parts))
    until("they are counted", lambda: case.counted()("pfs_behind_bytes_total") == parts * PART)


def test_who_closes_a_file_sends_its_end_alone(case: Case) -> None:
    one: Any = os.open(case.point / "large", NEW)
    begun(case, one)
    assert case.requests(partial(os.close, one)) == {"UploadPart": 1, "CompleteMultipartUpload": 1}
    case.check(DATA)


def test_what_was_written_again_is_sent_again(case: Case) -> None:
    one: Any = os.open(case.point / "large", NEW)
    begun(case, one)
    os.pwrite(one, b"new", PART + 5)
    os.pwrite(one, DATA[:7], 0)  # as it was
    assert case.requests(partial(os.close, one)) == {"UploadPart": 2, "CompleteMultipartUpload": 1}
    case.check(DATA[: PART + 5] + b"new" + DATA[PART + 8 :])


@pytest.mark.parametrize("size", [0, 1000, 2 * MIB, 3 * PART + 1])
def test_what_is_cut_off_is_not_stored(case: Case, size: int) -> None:
    with file(case.point / "large", NEW) as one:
        begun(case, one)
        os.ftruncate(one, size)
    case.check(DATA[:size])


def test_who_syncs_has_all_stored_and_is_sent_on_from_then(case: Case) -> None:
    with file(case.point / "large", NEW) as one:
        begun(case, one, DATA[: 3 * PART], parts=2)
        os.fsync(one)
        assert case.holds(DATA[: 3 * PART])
        assert os.write(one, DATA[3 * PART :]) == 2 * PART
        until("parts are sent", lambda: case.has_sent(4))
        assert case.holds(DATA[: 3 * PART])
    case.check(DATA)


def test_what_is_removed_leaves_no_upload(case: Case) -> None:
    with file(case.point / "large", NEW) as one:
        begun(case, one)
        (case.point / "large").unlink()
        case.check_nothing_is_left()
        assert os.pread(one, 100, PART) == DATA[PART : PART + 100]
    assert case.keys() == []


def test_what_is_renamed_is_stored_under_its_new_name(case: Case) -> None:
    with file(case.point / "large", NEW) as one:
        begun(case, one)
        (case.point / "large").rename(case.point / "other")
        until("parts are sent", lambda: case.has_sent(4, "other"))
    case.check(DATA, "other")
    case.check_nothing_is_left("large")
    assert case.keys() == ["other"]


def test_what_has_its_size_before_it_is_written_is_not_sent_as_zeros(case: Case) -> None:
    one: Any = os.open(case.point / "large", NEW)
    os.posix_fallocate(one, 0, len(DATA))
    begun(case, one, DATA[: 3 * PART], parts=2)
    os.write(one, DATA[3 * PART :])
    until_sent(case, 4)
    assert case.requests(partial(os.close, one)) == {"UploadPart": 1, "CompleteMultipartUpload": 1}
    case.check(DATA)


def test_a_file_that_another_made_meanwhile_is_not_replaced_by_one_that_was_to_be_new(case: Case) -> None:
    one: Any = os.open(case.point / "large", os.O_RDWR | os.O_CREAT | os.O_EXCL)
    begun(case, one)
    case.client.put_object(Bucket=case.bucket, Key="large", Body=b"theirs")
    with failing(errno.ESTALE):
        os.close(one)
    case.check(b"theirs")


def helper_of(worker: int) -> int:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == worker and b"sources.helper" in (folder / "cmdline").read_bytes():
                return int(folder.name)
    raise LookupError("it has none")


@pytest.mark.parametrize("who", ["worker", "helper"])
def test_what_a_killed_process_had_sent_is_sent_by_the_next(case: Case, who: str) -> None:
    with file(case.point / "large", NEW) as one:
        begun(case, one, DATA[: 3 * PART], parts=2)
        (before,) = case.uploads()
        worker = case.worker()
        os.kill(worker if who == "worker" else helper_of(worker), signal.SIGKILL)
        assert os.write(one, DATA[3 * PART :]) == 2 * PART
        until("parts are sent anew", lambda: case.has_sent(4))
        until("what was begun is ended", lambda: before not in case.uploads())
    case.check(DATA)


def test_when_all_are_killed_the_next_mount_stores_it_and_ends_what_was_begun(
    case: Case, server: Minio, bucket: Options
) -> None:
    one: Any = os.open(case.point / "large", NEW)
    begun(case, one)
    status = last(case.agent.run, case.point, "status")
    processes = [status["pid"], status["worker_pid"]]
    for process in processes:
        os.kill(process, signal.SIGKILL)
    until("they are gone", lambda: not any(is_alive(process) for process in processes))
    with suppress(OSError):  # nobody is told
        os.close(one)
    unmount(case.point, lazily=True)
    case.mount(server, bucket)
    until("it is stored", lambda: case.keys() == ["large"])
    case.check(DATA)
