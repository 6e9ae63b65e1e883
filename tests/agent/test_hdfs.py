# SPDX-License-Identifier: Apache-2.0
"""Folders of a real HDFS cluster as a source, and what becomes of a cluster that does not answer."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing as closed

import hdfs_native
import pytest
from paddleflow_fuse.metrics import Request
from paddleflow_fuse.sources.base import ChangedError, Kept, Kind, Source
from paddleflow_fuse.sources.hdfs.calls import PATIENT
from paddleflow_fuse.sources.hdfs.options import Options
from paddleflow_fuse.sources.hdfs.source import HdfsSource
from paddleflow_fuse.sources.make import Wanted, here

from tests.support.agent_command import Command, command
from tests.support.hadoop import Hadoop, hadoop
from tests.support.ports import held_port
from tests.support.relay import Relay, closing
from tests.support.source_suite import SourceSuite, content, failing, names, store

pytestmark = pytest.mark.extended  # 90 MB of jars, and half a minute of one processor

MIB = 1 << 20
SOON = PATIENT._replace(total=0.5)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Hadoop]:
    with hadoop() as running:
        yield running


@pytest.fixture
def options(cluster: Hadoop) -> Options:
    return cluster.options()


@pytest.fixture
def source(options: Options) -> Iterator[HdfsSource]:
    with closed(HdfsSource(options)) as made:
        yield made


@pytest.fixture
def relay(cluster: Hadoop) -> Iterator[Relay]:
    with closing(lambda: Relay(("127.0.0.1", cluster.port))) as one:
        yield one


def by_way_of(relay: Relay, options: Options) -> Options:
    return options._replace(namenodes=(f"127.0.0.1:{relay.port}",))


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


class TestHdfs(SourceSuite):
    def test_links_lead_where_they_were_told_to(self, source: Source) -> None:
        """There are none."""
        assert not source.abilities.links
        with failing(errno.EPERM):
            source.link(b"link", b"target")
        store(source, b"file")
        with failing(errno.EINVAL):
            source.target(b"file")

    def test_names_are_bytes(self, source: Source) -> None:
        """Of text, without a colon."""
        for name in ("späte Größe".encode(), b"a b", b"a+b%20c", b"#?&=;,'\"\\", b"x" * 255, b"-", b"..."):
            store(source, name, name)
            assert content(source, name) == name
        assert len(names(source)) == 7


def test_a_large_file_is_stored_and_read_whole(options: Options, cluster: Hadoop) -> None:
    data = noise(20 * MIB + 7)
    with closed(HdfsSource(options._replace(block_size=4 * MIB))) as source:
        stored = store(source, b"large", data)
        status = cluster.client.get_file_info(f"{options.root}/large")
        assert (status.length, status.blocksize, status.replication) == (len(data), 4 * MIB, 2)
        assert source.read(b"large", stored.version, 3, 8 * MIB) == data[3 : 3 + 8 * MIB]
        assert source.read(b"large", stored.version, 20 * MIB, 8 * MIB) == data[20 * MIB :]
        assert source.read(b"large", stored.version, 30 * MIB, 8 * MIB) == b""


def test_many_threads_at_once(source: HdfsSource) -> None:
    data = noise(MIB)
    paths = [b"%d" % index for index in range(32)]
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda path: store(source, path, data), paths))
        assert all(found == data for found in threads.map(lambda path: content(source, path), paths))


def test_modes_and_times_are_kept_and_owners_are_not(options: Options, source: HdfsSource) -> None:
    kept = Kept(mode=0o640, uid=1000, gid=100, mtime_ns=1_500_000_000_123_456_789)
    found = store(source, b"a", b"a", kept=kept)
    assert found == source.find(b"a")
    assert found[4:7] == (0o640, None, None)
    assert found.mtime_ns == 1_500_000_000_123_000_000
    assert source.keep(b"a", Kept(mode=0o600)).mode == 0o600
    assert source.make_folder(b"folder", Kept(mode=0o700, uid=5)).mode == 0o700
    with failing(errno.EPERM):
        source.keep(b"a", Kept(uid=7))
    with closed(HdfsSource(options._replace(ignores_owners=True))) as easy:
        assert easy.keep(b"a", Kept(uid=7, mode=0o644)).mode == 0o644


def test_what_was_changed_in_place_is_another_version(source: HdfsSource, options: Options, cluster: Hadoop) -> None:
    old = store(source, b"a", b"old")
    writer = cluster.client.append(f"{options.root}/a")
    writer.write(b"er")
    writer.close()
    with pytest.raises(ChangedError):
        source.read(b"a", old.version, 0, 3)
    assert content(source, b"a") == b"older"


def test_a_file_is_there_whole_or_not_at_all(source: HdfsSource, options: Options, cluster: Hadoop) -> None:
    store(source, b"a", b"before")
    descriptor = os.memfd_create("short")
    with failing(errno.EIO):
        source.store(b"a", descriptor, 10)
    os.close(descriptor)
    with failing(errno.EISDIR):
        source.make_folder(b"folder")
        store(source, b"folder", b"x")
    with failing(errno.EEXIST):
        source.make_folder(b"a")
    assert content(source, b"a") == b"before"
    assert sorted(one.path for one in cluster.client.list_status(options.root)) == [
        f"{options.root}/a", f"{options.root}/folder",
    ]  # fmt: skip


def test_what_is_being_written_is_not_listed(source: HdfsSource, options: Options, cluster: Hadoop) -> None:
    cluster.client.create(f"{options.root}/.paddleflow-unfinished-0123").close()
    assert names(source) == []


def test_what_somebody_left_who_died_keeps_no_folder(source: HdfsSource, options: Options, cluster: Hadoop) -> None:
    source.make_folder(b"folder")
    cluster.client.create(f"{options.root}/folder/.paddleflow-unfinished-0123").close()
    source.remove_folder(b"folder")
    assert names(source) == []


def test_names_that_hdfs_cannot_have_are_told(source: HdfsSource) -> None:
    for code, name in ((errno.EINVAL, b"a:b"), (errno.EILSEQ, b"\xff"), (errno.ENAMETOOLONG, b"x" * 256)):
        with failing(code):
            store(source, name)
        with failing(code):
            source.make_folder(name)


def test_a_folder_does_not_go_into_itself(source: HdfsSource) -> None:
    source.make_folder(b"a")
    with failing(errno.EINVAL):
        source.rename(b"a", b"a/b")


def test_a_folder_that_is_not_there_is_named(options: Options) -> None:
    missing = options._replace(root=f"{options.root}/missing")
    with (
        closed(HdfsSource(missing)) as source,
        pytest.raises(FileNotFoundError, match=r"getFileInfo of '/.*/missing' on"),
    ):
        source.find(b"")


AS_SOMEONE = """
import sys
from paddleflow_fuse.sources.hdfs.options import Options
from paddleflow_fuse.sources.hdfs.source import HdfsSource
source = HdfsSource(Options((sys.argv[1],), "someone", sys.argv[2]))
try:
    source.make_folder(b"folder")
except OSError as error:
    print(error.errno, error.strerror)
"""


def test_what_the_user_may_not_is_refused(options: Options) -> None:
    command = [sys.executable, "-c", AS_SOMEONE, options.place, options.root]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert said.startswith(f"{errno.EACCES} ")
    assert "Permission denied: user=someone, access=WRITE" in said
    assert "FSPermissionChecker.java" not in said


def test_one_process_speaks_for_one_user(options: Options, source: HdfsSource) -> None:
    assert source
    with pytest.raises(OSError, match="and cannot as 'another' too"):
        HdfsSource(options._replace(user="another"))


def test_the_source_is_made_of_an_address(cluster: Hadoop, options: Options) -> None:
    url = f"hdfs://127.0.0.1:{cluster.port}{options.root}/"
    told: list[Request] = []
    with closed(here(Wanted(url, {"user": cluster.user, "group": "any"}, ""), told.append)) as source:
        assert store(source, b"a", b"a").size == 1
        with failing(errno.ENOENT):
            source.find(b"b")
    assert ("create", 200, False) in [one[:3] for one in told]
    assert told[-1][:3] == ("getFileInfo", 404, False)


# --- clusters that are lost ------------------------------------------------------------------


@pytest.fixture
def nowhere() -> Iterator[str]:
    with held_port() as port:
        yield f"127.0.0.1:{port}"


def test_the_name_node_that_answers_is_used(options: Options, nowhere: str) -> None:
    with closed(HdfsSource(options._replace(namenodes=(nowhere, *options.namenodes)))) as source:
        store(source, b"a", b"a")
        assert content(source, b"a") == b"a"


def test_a_cluster_that_stays_away_is_given_up(options: Options, nowhere: str) -> None:
    with closed(HdfsSource(options._replace(namenodes=(nowhere,)), patience=SOON)) as source:
        with pytest.raises(
            OSError, match=rf"on {nowhere} failed.*: Connection refused.*; see whether the address"
        ) as lost:
            source.find(b"")
        assert lost.value.errno == errno.ETIMEDOUT


def test_what_is_asked_while_connections_are_cut_is_answered(
    source: HdfsSource, options: Options, relay: Relay
) -> None:
    with closed(HdfsSource(by_way_of(relay, options))) as far, ThreadPoolExecutor(4) as threads:
        store(source, b"a", b"a")
        for _time in range(5):
            asking = [threads.submit(far.find, b"a") for _thread in range(50)]
            relay.cut()
            assert {one.result() for one in asking} == {source.find(b"a")}
        assert relay.connections > 1


def test_what_was_done_is_known_though_the_answer_was_lost(source: HdfsSource, options: Options, relay: Relay) -> None:
    store(source, b"file", b"file")
    with closed(HdfsSource(by_way_of(relay, options), patience=PATIENT._replace(answer=0.5))) as far:
        for act in (
            lambda: far.rename(b"file", b"moved"),
            lambda: far.make_folder(b"folder"),
            lambda: far.remove_folder(b"folder"),
            lambda: store(far, b"new", b"new", over=b""),
            lambda: far.remove(b"new"),
        ):
            far.find(b"")
            relay.deafen()
            act()
        assert names(source) == [b"moved"]


def test_a_cluster_that_does_not_answer_is_left_alone(source: HdfsSource, options: Options, cluster: Hadoop) -> None:
    store(source, b"a", b"a")
    with closed(HdfsSource(options, patience=PATIENT._replace(answer=0.3, total=1.0))) as hasty:
        assert hasty.find(b"a").kind is Kind.FILE
        os.kill(cluster.process.pid, signal.SIGSTOP)
        try:
            with pytest.raises(OSError, match="it did not answer in time") as silent:
                hasty.find(b"a")
        finally:
            os.kill(cluster.process.pid, signal.SIGCONT)
        assert silent.value.errno == errno.EIO
    assert content(source, b"a") == b"a"


def test_a_source_that_is_closed_says_so(options: Options) -> None:
    source = HdfsSource(options)
    source.find(b"")
    source.close()
    source.close()
    with pytest.raises(OSError, match="it is closed"):
        source.find(b"")


# --- mounted ---------------------------------------------------------------------------------


@pytest.fixture
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    with command(tmp_path_factory.mktemp("agent")) as one:
        yield one


def test_a_cluster_is_mounted(agent: Command, cluster: Hadoop, options: Options) -> None:
    client = cluster.client
    with client.create(f"{options.root}/there", hdfs_native.WriteOptions()) as writer:
        writer.write(b"there")
    agent.mount(
        f"hdfs://127.0.0.1:{cluster.port}{options.root}",
        options={"user": cluster.user, "group": "any", "replication": "2"},
    )
    assert (agent.point / "there").read_bytes() == b"there"
    (agent.point / "folder").mkdir()
    with (agent.point / "there").open("r+b") as file:  # what HDFS itself cannot
        file.seek(1)
        file.write(b"HE")
    with (agent.point / "there").open("ab") as file:
        file.write(b"!")
    os.truncate(agent.point / "there", 5)
    (agent.point / "there").rename(agent.point / "folder/moved")
    (agent.point / "folder/moved").chmod(0o640)
    found = client.get_file_info(f"{options.root}/folder/moved")
    assert (found.length, found.permission) == (5, 0o640)
    assert client.read(f"{options.root}/folder/moved").read_range(0, 5) == b"tHEre"
    with pytest.raises(PermissionError):
        (agent.point / "link").symlink_to("there")
    agent("umount", str(agent.point))
