# SPDX-License-Identifier: Apache-2.0
"""Small files of a bucket, made and removed: by how many requests, counted on a real server, and that others are met all the same."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from paddleflow_fuse.cli.ask import ask
from paddleflow_fuse.files.known.bulk import LEAST
from paddleflow_fuse.sources.s3.options import Options

from tests.support.agent_command import Command, command
from tests.support.granted import until
from tests.support.minio import Minio
from tests.support.prometheus import read
from tests.support.source_suite import failing

MANY = 40
LONG = {"entry-cache-expire": "3600", "meta-cache-expire": "3600", "attr-timeout": "3600", "entry-timeout": "3600"}
ALONE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
ANY = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


class Case:
    """
    :ivar bucket: what others see of it
    """

    def __init__(self, agent: Command, server: Minio, bucket: Options) -> None:
        self.agent, self.point = agent, agent.point
        self.server, self._options, self.bucket = server, bucket, bucket.bucket

    def mount(self, **options: str) -> None:
        self.agent.mount_bucket(self._options, options={**LONG, **options})

    def theirs(self, key: str, data: bytes = b"theirs") -> None:
        self.server.client.put_object(Bucket=self.bucket, Key=key, Body=data)

    def gone(self, key: str) -> None:
        self.server.client.delete_object(Bucket=self.bucket, Key=key)

    def keys(self) -> list[str]:
        found = self.server.client.list_objects_v2(Bucket=self.bucket)
        return [one["Key"] for one in found.get("Contents", ())]

    def holds(self, key: str) -> bytes:
        data: bytes = self.server.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        return data

    def requests(self, act: Callable[[], None]) -> Counter[str]:
        """To the store, while that was done."""
        before = self._asked()
        act()
        return self._asked() - before

    def _asked(self) -> Counter[str]:
        found = read("".join(line.get("text", "") for line in ask(self.agent.run, self.point, "metrics")))
        asked: Counter[str] = Counter()
        for (name, labels), value in found.values.items():
            if name == "pfs_object_requests_total":
                asked[dict(labels)["op"]] += int(value)
        return asked

    def settle(self) -> None:
        """Until the agent holds nothing of what was closed: the kernel tells it of that later."""
        until("all is let go", lambda: self.agent.status()["worker"]["files"]["staged"] == [])

    def conflicts(self) -> list[str]:
        return [one["path"] for one in self.agent.status()["worker"]["files"]["conflicts"]]


@pytest.fixture
def case(tmp_path: Path, server: Minio, bucket: Options) -> Iterator[Case]:
    with command(tmp_path) as agent:
        yield Case(agent, server, bucket)


def written(path: Path, flags: int, data: bytes = b"ours") -> None:
    descriptor = os.open(path, flags, 0o644)
    os.write(descriptor, data)
    os.close(descriptor)


def make(folder: Path, flags: int, begin: int = 0, count: int = MANY) -> None:
    for number in range(begin, begin + count):
        written(folder / f"{number:04}", flags)


# --- made ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [ALONE, ANY])
@pytest.mark.parametrize("persists", ["true", "false"])
def test_each_file_that_is_made_takes_one_request(case: Case, flags: int, persists: str) -> None:
    case.mount(persistAttributes=persists)
    folder = case.point / "folder"
    folder.mkdir()
    make(folder, flags, 0, LEAST)
    assert case.requests(lambda: make(folder, flags, LEAST)) == {"PutObject": MANY}
    assert case.holds("folder/0020") == b"ours"
    assert len(case.keys()) == MANY + LEAST + 1


def test_who_makes_many_in_a_folder_that_nobody_listed_has_it_listed(case: Case) -> None:
    case.theirs("folder/theirs")
    case.mount()
    folder, made = case.point / "folder", 0
    while case.requests(partial(make, folder, ALONE, made, 1)) != {"PutObject": 1}:
        made += 1
        assert made < 4 * MANY
    assert case.requests(lambda: make(folder, ALONE, 10_000)) == {"PutObject": MANY}
    with failing(errno.EEXIST):
        os.open(folder / "theirs", ALONE)


def test_a_file_that_others_made_meanwhile_is_not_replaced_by_who_makes_it_alone(case: Case) -> None:
    """It is told when it is stored, as of two who make it at the same moment; from then on it is asked before, as for a lock."""
    case.mount()
    folder = case.point / "folder"
    folder.mkdir()
    make(folder, ALONE)
    case.theirs("folder/lock")
    descriptor = os.open(folder / "lock", ALONE)
    os.write(descriptor, b"ours")
    with failing(errno.ESTALE):
        os.close(descriptor)
    assert case.holds("folder/lock") == b"theirs"
    until("it is told", lambda: case.conflicts() == ["folder/lock"])
    assert (folder / "lock").read_bytes() == b"theirs"
    case.theirs("folder/other")
    with failing(errno.EEXIST):
        os.open(folder / "other", ALONE)
    case.theirs("folder/third")
    make(folder, ALONE, 5000)
    with failing(errno.EEXIST):
        os.open(folder / "third", ALONE)


def test_who_makes_a_lock_now_and_then_asks_for_it(case: Case) -> None:
    case.mount()
    folder = case.point / "folder"
    folder.mkdir()
    assert os.listdir(folder) == []
    case.theirs("folder/lock")
    with failing(errno.EEXIST):
        os.open(folder / "lock", ALONE)


def test_what_others_made_is_not_lost_by_who_adds_to_it(case: Case) -> None:
    case.mount()
    folder = case.point / "folder"
    folder.mkdir()
    make(folder, ALONE)
    case.theirs("folder/log", b"theirs, ")
    # That there is no folder of these names is known.
    asked = {"PutObject": MANY, "HeadObject": MANY}
    assert case.requests(lambda: make(folder, os.O_WRONLY | os.O_CREAT, 5000)) == asked
    written(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    assert case.holds("folder/log") == b"theirs, ours"


def test_with_conflicts_that_fail_no_other_version_is_replaced(case: Case) -> None:
    case.mount(conflict="fail")
    written(case.point / "file", ANY)
    case.settle()
    (case.point / "file").stat()  # which the kernel asks for, too, who opens it
    assert case.requests(lambda: written(case.point / "file", ANY, b"again")) == {"HeadObject": 1, "PutObject": 1}
    descriptor = os.open(case.point / "file", ANY)
    os.write(descriptor, b"more")
    case.theirs("file")
    with failing(errno.ESTALE):
        os.close(descriptor)
    assert case.holds("file") == b"theirs"


def test_the_time_of_what_was_stored_is_the_store_s(case: Case) -> None:
    case.mount()
    (case.point / "folder").mkdir()
    make(case.point / "folder", ANY, 0, 3)
    path = case.point / "folder" / "0000"
    status: list[os.stat_result] = []
    # Not what the kernel still knows of it.
    case.agent("clear", str(case.point))
    assert case.requests(lambda: status.append(path.stat()))["HeadObject"] <= 1
    told = case.server.client.head_object(Bucket=case.bucket, Key="folder/0000")["LastModified"]
    assert status[0].st_mtime == told.timestamp()


def test_times_of_many_are_asked_for_by_one_listing(case: Case) -> None:
    case.mount(**{"attr-timeout": "0", "entry-timeout": "0"})
    folder = case.point / "folder"
    folder.mkdir()
    make(folder, ANY)

    def look() -> None:
        with os.scandir(folder) as found:
            assert {one.stat().st_size for one in found} == {4}

    case.settle()
    asked = case.requests(look)
    assert asked["ListObjectsV2"] == 1
    assert asked["HeadObject"] <= 1
    assert case.requests(look) == {}


# --- removed ------------------------------------------------------------------------------------


def remove(folder: Path, begin: int, count: int) -> None:
    for number in range(begin, begin + count):
        (folder / f"{number:04}").unlink()


def test_each_file_that_is_removed_takes_two_requests(case: Case) -> None:
    case.mount()
    folder = case.point / "folder"
    folder.mkdir()
    make(folder, ANY)
    remove(folder, 0, 1)
    asked = case.requests(lambda: remove(folder, 1, MANY - 2))
    assert (asked["HeadObject"], asked["DeleteObject"]) == (MANY - 2, MANY - 2)
    # Whether the folder has anything else is asked each second.
    assert asked["ListObjectsV2"] < MANY // 2
    assert case.keys() == ["folder/", f"folder/{MANY - 1:04}"]


def test_a_folder_without_a_marker_stays_when_its_last_file_goes(case: Case) -> None:
    for name in ("a", "b", "c"):
        case.theirs(f"folder/{name}")
    case.mount()
    folder = case.point / "folder"
    for name in ("a", "b", "c"):
        (folder / name).unlink()
    assert case.keys() == ["folder/"]
    assert os.listdir(folder) == []
    folder.rmdir()
    assert case.keys() == []


def test_a_folder_stays_whatever_way_its_last_names_go(case: Case) -> None:
    for name in ("a", "b", "c"):
        case.theirs(f"folder/{name}")
    case.mount()
    folder = case.point / "folder"
    (folder / "a").unlink()
    (folder / "c").rename(case.point / "c")
    (folder / "b").unlink()
    assert case.keys() == ["c", "folder/"]


def test_what_others_removed_is_said_so(case: Case) -> None:
    """D-32."""
    case.mount()
    folder = case.point / "folder"
    folder.mkdir()
    make(folder, ANY, 0, 3)
    case.gone("folder/0001")
    with failing(errno.ENOENT):
        (folder / "0001").unlink()
    assert sorted(os.listdir(folder)) == ["0000", "0002"]
