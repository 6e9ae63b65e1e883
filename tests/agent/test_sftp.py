# SPDX-License-Identifier: Apache-2.0
"""Folders of a real SSH server as a source, whoever enters it, and what becomes of connections that are lost."""

from __future__ import annotations

import errno
import json
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing as closed
from pathlib import Path
from typing import NamedTuple

import asyncssh
import pytest
from paddleflow_fuse.metrics import Request
from paddleflow_fuse.sources.base import ChangedError, Kept, Kind
from paddleflow_fuse.sources.make import Wanted, here
from paddleflow_fuse.sources.sftp.connections import PATIENT
from paddleflow_fuse.sources.sftp.options import FileLogin, Login, Options, read
from paddleflow_fuse.sources.sftp.source import SftpSource

from tests.support.agent_command import command
from tests.support.ports import held_port
from tests.support.relay import Relay, closing
from tests.support.shown import assert_nowhere
from tests.support.source_suite import KeepingSuite, SourceSuite, content, failing, names, store
from tests.support.sshd import BARE, PASSWORD, ROOM, ROOT, USER, USER_ID, Sshd

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may start a server with users of its own")
MIB = 1 << 20
PATIENCE = 30.0
SOON = PATIENT._replace(total=0.5)


@pytest.fixture
def root(options: Options) -> Path:
    """The same folder, as the server has it."""
    return Path(os.fsdecode(options.root))


@pytest.fixture
def source(options: Options) -> Iterator[SftpSource]:
    with closed(SftpSource(options)) as made:
        yield made


@pytest.fixture
def relay(ssh: Sshd) -> Iterator[Relay]:
    with closing(lambda: Relay(("127.0.0.1", ssh.port))) as one:
        yield one


@pytest.fixture
def far(options: Options, relay: Relay) -> Iterator[SftpSource]:
    """By way of the relay."""
    with closed(SftpSource(options._replace(port=relay.port, host_keys=None))) as made:
        yield made


class TestRoot(KeepingSuite):
    pass


class TestWithoutExtensions(KeepingSuite):
    @pytest.fixture
    def options(self, ssh: Sshd) -> Options:
        return ssh.options(BARE)


class TestUser(SourceSuite):
    @pytest.fixture
    def options(self, ssh: Sshd) -> Options:
        return ssh.options(USER)


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# --- files -----------------------------------------------------------------------------------


def test_a_large_file_is_stored_and_read_whole(source: SftpSource, root: Path) -> None:
    data = noise(20 * MIB + 7)
    stored = store(source, b"large", data)
    assert (root / "large").read_bytes() == data
    assert source.read(b"large", stored.version, 3, 8 * MIB) == data[3 : 3 + 8 * MIB]
    assert source.read(b"large", stored.version, 20 * MIB, 8 * MIB) == data[20 * MIB :]


@pytest.mark.parametrize("user", [ROOT, BARE])
def test_many_threads_share_a_few_connections(ssh: Sshd, relay: Relay, user: str) -> None:
    data = noise(MIB // 4)
    options = ssh.options(user)._replace(port=relay.port, host_keys=None)
    with closed(SftpSource(options)) as source, ThreadPoolExecutor(16) as threads:
        paths = [b"%d" % index for index in range(32)]
        list(threads.map(lambda path: store(source, path, data), paths))
        assert all(found == data for found in threads.map(lambda path: content(source, path), paths))
    assert 2 <= relay.connections <= 4


def test_no_two_stores_look_alike_also_within_a_second(source: SftpSource) -> None:
    versions = {store(source, b"a", b"%d" % index, kept=Kept(mtime_ns=time.time_ns())).version for index in range(5)}
    assert len(versions) == 5


def test_a_time_that_a_user_chose_stays(source: SftpSource) -> None:
    moment = 1_000_000_000 * 10**9
    for text in (b"old", b"new"):
        assert store(source, b"a", text, kept=Kept(mtime_ns=moment)).mtime_ns == moment
    assert source.keep(b"a", Kept(mtime_ns=-5)).mtime_ns == 0  # the protocol knows nothing before


def test_what_was_changed_in_place_is_another_version(source: SftpSource, root: Path) -> None:
    old = store(source, b"a", b"old")
    os.utime(root / "a", (1, 1))
    with pytest.raises(ChangedError):
        source.read(b"a", old.version, 0, 3)


def test_a_file_is_there_whole_or_not_at_all(source: SftpSource, root: Path) -> None:
    store(source, b"a", b"before")
    descriptor = os.memfd_create("short")
    with failing(errno.EIO):
        source.store(b"a", descriptor, 10)
    os.close(descriptor)
    assert {path.name: path.read_bytes() for path in root.iterdir()} == {"a": b"before"}


def test_a_full_disk_is_told(ssh: Sshd) -> None:
    with closed(SftpSource(ssh.options()._replace(root=os.fsencode(ssh.full)))) as source:
        with failing(errno.ENOSPC):
            store(source, b"large", noise(5 * MIB))
        assert names(source) == []


def test_room_is_the_servers(ssh: Sshd, tmp_path: Path) -> None:
    """Of a disk that is seen in its namespace alone."""
    with closed(SftpSource(ssh.options()._replace(root=os.fsencode(ssh.full)))) as source:
        before = source.space()
        assert before is not None
        assert before.size == ROOM
        store(source, b"file", bytes(MIB))
        after = source.space()
        assert after is not None
        assert (before.free - after.free, before.files_free - after.files_free) == (MIB, 1)
    with command(tmp_path) as agent:
        agent.mount(
            f"sftp://127.0.0.1:{ssh.port}{ssh.full}",
            options={"user": ROOT, "hostKey": ssh.host_key},
            secrets={"privateKey": ssh.key},
        )
        told = os.statvfs(agent.point)
        assert (told.f_blocks * told.f_frsize, told.f_bavail * told.f_frsize) == (ROOM, after.free)
        assert (told.f_files, told.f_favail) == (after.files, after.files_free)
        (agent.point / "file").unlink()


def test_a_server_that_tells_no_room_is_asked_for_none(ssh: Sshd) -> None:
    with closed(SftpSource(ssh.options(BARE))) as source:
        assert source.space() is None


def test_what_is_being_written_is_not_listed_and_what_is_no_file_is_counted(source: SftpSource, root: Path) -> None:
    (root / ".paddleflow-unfinished-0123").touch()
    os.mkfifo(root / "pipe")
    assert [(page.listed, page.hidden) for page in source.list(b"")] == [([], (b"pipe",))]
    with failing(errno.ENOENT):
        source.find(b"pipe")


def test_what_somebody_left_who_died_keeps_no_folder(source: SftpSource, root: Path) -> None:
    for name in ("gone", "old", "new"):
        (root / name).mkdir()
        (root / name / ".paddleflow-unfinished-0123").touch()
    (root / "old/file").touch()
    source.remove_folder(b"gone")
    with failing(errno.ENOTEMPTY):
        source.remove_folder(b"old")
    source.rename(b"old", b"new")
    assert names(source) == [b"new"]
    assert names(source, b"new") == [b"file"]


def test_a_folder_replaces_no_file(ssh: Sshd) -> None:
    with closed(SftpSource(ssh.options(BARE))) as source:
        source.make_folder(b"folder")
        store(source, b"file", b"kept")
        with failing(errno.ENOTDIR):
            source.rename(b"folder", b"file")
        assert content(source, b"file") == b"kept"


def test_a_folder_does_not_go_into_itself(source: SftpSource) -> None:
    source.make_folder(b"a")
    with failing(errno.EINVAL):
        source.rename(b"a", b"a/b")


def test_names_that_are_too_long_are_told(source: SftpSource) -> None:
    with failing(errno.ENAMETOOLONG):
        store(source, b"x" * 256)
    with failing(errno.ENAMETOOLONG):
        source.make_folder(b"x" * 256)


def test_what_is_set_of_a_link_is_the_links_own(source: SftpSource, root: Path) -> None:
    store(source, b"file", b"x", kept=Kept(mode=0o600))
    source.link(b"link", b"file")
    found = source.keep(b"link", Kept(mode=0o777, uid=5, gid=6, mtime_ns=7 * 10**9))
    assert (found.kind, found.uid, found.gid, found.mtime_ns) == (Kind.LINK, 5, 6, 7 * 10**9)
    status = (root / "file").stat()
    assert (status.st_mode & 0o777, status.st_uid) == (0o600, 0)


def test_who_may_not_give_files_away_keeps_them(ssh: Sshd) -> None:
    with closed(SftpSource(ssh.options(USER))) as source:
        assert store(source, b"a", b"a", kept=Kept(mode=0o640, uid=0, gid=0)).uid == USER_ID
        assert source.make_folder(b"folder", Kept(mode=0o750, uid=0, gid=0))[4:7] == (0o750, USER_ID, USER_ID)
        with failing(errno.EPERM):
            source.keep(b"a", Kept(uid=0))
        assert source.keep(b"a", Kept(mode=0o600)).mode == 0o600


def test_what_cannot_be_given_away_may_be_let_pass(ssh: Sshd) -> None:
    with closed(SftpSource(ssh.options(USER)._replace(ignores_owners=True))) as source:
        store(source, b"a")
        assert source.keep(b"a", Kept(mode=0o600, uid=0))[4:6] == (0o600, USER_ID)


def test_what_the_servers_user_may_not_is_refused(ssh: Sshd) -> None:
    options = ssh.options(USER)
    folder = Path(os.fsdecode(options.root), "closed")
    folder.mkdir(mode=0o700)
    with closed(SftpSource(options)) as source:
        for act in (lambda: list(source.list(b"closed")), lambda: store(source, b"closed/a")):
            with failing(errno.EACCES):
                act()


# --- who enters ------------------------------------------------------------------------------


def test_a_folder_that_is_not_there_is_named(options: Options) -> None:
    missing = options._replace(root=options.root + b"/missing")
    with (
        closed(SftpSource(missing)) as source,
        pytest.raises(FileNotFoundError, match=r"lstat of '/.*/missing' on 127"),
    ):
        source.find(b"")


@pytest.mark.parametrize("user", [ROOT, USER])
def test_a_password_opens_as_a_key_does(options: Options, user: str) -> None:
    with closed(SftpSource(options._replace(user=user, login=Login(password=PASSWORD)))) as source:
        assert source.find(b"").kind is Kind.FOLDER


@pytest.mark.parametrize("login", [Login("wrong"), Login()], ids=["wrong", "none"])
def test_who_is_not_let_in_is_told_so_at_once(options: Options, relay: Relay, login: Login) -> None:
    with closed(SftpSource(options._replace(port=relay.port, host_keys=None, login=login))) as source:
        with pytest.raises(PermissionError, match="does not let the user in") as refused:
            source.find(b"")
        assert refused.value.errno == errno.EACCES
    assert relay.connections == 1  # who tries again may be locked out


def test_a_key_that_is_none_is_not_shown(options: Options) -> None:
    with closed(SftpSource(options._replace(login=Login(key="planted-key")))) as source:
        with pytest.raises(PermissionError, match="privateKey is no private key") as refused:
            source.find(b"")
        assert "planted-key" not in str(refused.value)


def test_a_key_that_needs_a_passphrase_is_told(options: Options) -> None:
    text = asyncssh.generate_private_key("ssh-ed25519").export_private_key("pkcs8-pem", passphrase="unknown").decode()
    with (
        closed(SftpSource(options._replace(login=Login(key=text)))) as source,
        pytest.raises(PermissionError, match="needs a passphrase"),
    ):
        source.find(b"")


def test_another_server_is_not_entered(ssh: Sshd, options: Options) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    known = asyncssh.import_known_hosts(f"* {other}")
    with (
        closed(SftpSource(options._replace(host_keys=known, login=Login(PASSWORD)))) as source,
        pytest.raises(PermissionError, match="another server than you believe"),
    ):
        source.find(b"")
    assert "Accepted password" not in (ssh.folder / "log").read_text().rpartition("\n")[2]


def test_the_login_of_a_file_may_change(options: Options, relay: Relay, tmp_path: Path) -> None:
    file = tmp_path / "secrets"
    file.write_text(json.dumps({"password": PASSWORD}))
    there = options._replace(port=relay.port, host_keys=None, login=Login())
    with closed(SftpSource(there, FileLogin(file))) as source:
        source.find(b"")
        file.write_text(json.dumps({"password": "wrong"}))
        source.find(b"")  # who is in stays in
        relay.cut()
        with failing(errno.EACCES):
            source.find(b"")
        file.write_text(json.dumps({"password": PASSWORD}))
        source.find(b"")
        file.write_text("[]")
        relay.cut()
        with pytest.raises(PermissionError, match="no JSON object with password or privateKey"):
            source.find(b"")


def test_the_source_is_made_of_an_address(ssh: Sshd, options: Options) -> None:
    url = f"sftp://127.0.0.1:{ssh.port}{options.root.decode()}/"
    given = {"user": ROOT, "privateKey": ssh.key, "hostKey": ssh.host_key}
    told: list[Request] = []
    with closed(here(Wanted(url, given, ""), told.append)) as source:
        store(source, b"a", b"a")
        with failing(errno.ENOENT):
            source.find(b"b")
    assert ("write", 200, False) in [one[:3] for one in told]
    assert told[-1][:3] == ("lstat", 404, False)
    assert ssh.key not in repr(read(url, given))


# --- connections that are lost ---------------------------------------------------------------


def started(act: Callable[[], object]) -> Future[object]:
    """In a thread of its own."""
    future: Future[object] = Future()

    def run() -> None:
        try:
            future.set_result(act())
        except OSError as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def test_what_is_read_while_connections_are_cut_is_whole(source: SftpSource, far: SftpSource, relay: Relay) -> None:
    data = noise(8 * MIB)
    version = store(source, b"large", data).version
    for _time in range(3):
        reading = [started(lambda: far.read(b"large", version, 0, 8 * MIB)) for _thread in range(4)]
        until(relay.cut)
        assert all(one.result(PATIENCE) == data for one in reading)
    assert relay.connections >= 3


def test_what_is_stored_while_connections_are_cut_is_whole(far: SftpSource, relay: Relay, root: Path) -> None:
    data = noise(32 * MIB)
    far.find(b"")
    storing = started(lambda: store(far, b"large", data))
    until(lambda: any(one.stat().st_size for one in root.iterdir()) or storing.done())
    relay.cut()
    storing.result(PATIENCE)
    assert {path.name: path.read_bytes() == data for path in root.iterdir()} == {"large": True}
    assert relay.connections > 1


def test_a_server_that_comes_back_is_used_again(far: SftpSource, relay: Relay, ssh: Sshd) -> None:
    far.find(b"")
    with held_port() as port:
        relay.target = ("127.0.0.1", port)
        relay.cut()
        waiting = started(lambda: far.find(b""))
        before = relay.connections
        until(lambda: relay.connections > before + 1)  # it was tried more than once
        relay.target = ("127.0.0.1", ssh.port)
    waiting.result(PATIENCE)


def test_a_server_that_stays_away_is_given_up(options: Options) -> None:
    with held_port() as port, closed(SftpSource(options._replace(port=port), patience=SOON)) as source:
        with pytest.raises(
            OSError, match=rf"on 127.0.0.1:{port} failed after \d+ tries: .*; see whether the address"
        ) as lost:
            source.find(b"")
        assert lost.value.errno == errno.ETIMEDOUT


def test_a_server_that_does_not_answer_is_left(source: SftpSource, options: Options, relay: Relay) -> None:
    store(source, b"a", b"a")
    there = options._replace(port=relay.port, host_keys=None)
    with closed(SftpSource(there, patience=PATIENT._replace(answer=0.3))) as far:
        far.find(b"")
        relay.deafen()
        assert far.find(b"a") == source.find(b"a")
        assert relay.connections == 2


class Lost(NamedTuple):
    """What is asked for, how it is seen on the server, and after which request no answer arrives."""

    act: Callable[[SftpSource], object]
    is_done: Callable[[Path], bool]
    after: str = "lstat"


LOST = {
    "store": Lost(lambda source: store(source, b"new", b"new"), lambda root: (root / "new").exists(), "write"),
    "remove": Lost(lambda source: source.remove(b"file"), lambda root: not (root / "file").exists()),
    "remove-folder": Lost(lambda source: source.remove_folder(b"folder"), lambda root: not (root / "folder").exists()),
    "rename": Lost(lambda source: source.rename(b"file", b"moved"), lambda root: (root / "moved").exists()),
    "link": Lost(lambda source: source.link(b"link", b"target"), lambda root: (root / "link").is_symlink()),
}


@pytest.mark.parametrize("name", LOST)
def test_what_was_done_is_known_though_the_answer_was_lost(
    source: SftpSource, options: Options, relay: Relay, root: Path, name: str
) -> None:
    lost = LOST[name]
    store(source, b"file", b"file")
    source.make_folder(b"folder")

    def told(one: Request) -> None:
        if one.name == lost.after and not one.again:
            relay.deafen()

    with closed(SftpSource(options._replace(port=relay.port, host_keys=None), on_request=told)) as far:
        far.find(b"")
        acting = started(lambda: lost.act(far))
        until(lambda: lost.is_done(root))
        assert not acting.done()
        relay.cut()
        acting.result(PATIENCE)
    assert lost.is_done(root)
    assert not [one for one in root.iterdir() if one.name.startswith(".")]


def test_who_waits_for_a_server_is_let_go_when_the_source_is_closed(options: Options) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes connections, and says nothing
        source = SftpSource(options._replace(port=silent.getsockname()[1]))
        waiting = [started(lambda: source.find(b"")) for _thread in range(3)]
        silent.accept()[0].close()
        source.close()
        for one in waiting:
            with pytest.raises(OSError, match="it is closed"):
                one.result(PATIENCE)
        with pytest.raises(OSError, match="it is closed"):
            source.find(b"")


# --- mounted ---------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["password", "privateKey"])
def test_no_login_is_shown_anywhere(ssh: Sshd, options: Options, root: Path, tmp_path: Path, word: str) -> None:
    held = {"password": PASSWORD, "privateKey": ssh.key}[word]
    (root / "there").write_bytes(b"there")
    with command(tmp_path) as agent:
        agent.mount(
            f"sftp://127.0.0.1:{ssh.port}{options.root.decode()}",
            options={"user": ROOT, "hostKey": ssh.host_key, "log-level": "DEBUG"},
            secrets={word: held},
        )
        assert (agent.point / "there").read_bytes() == b"there"
        (agent.point / "new").write_bytes(b"new")
        with failing(errno.ENOENT):
            (agent.point / "missing").read_bytes()
        assert_nowhere(agent, held.splitlines()[1:-1] or [held])


def test_a_server_is_mounted(ssh: Sshd, options: Options, root: Path, tmp_path: Path) -> None:
    (root / "there").write_bytes(b"there")
    with command(tmp_path) as agent:
        agent.mount(
            f"sftp://127.0.0.1:{ssh.port}{options.root.decode()}",
            options={"user": ROOT, "hostKey": ssh.host_key},
            secrets={"privateKey": ssh.key},
        )
        assert (agent.point / "there").read_bytes() == b"there"
        (agent.point / "folder").mkdir()
        (agent.point / "folder/new").write_bytes(b"new")
        (agent.point / "folder/new").chmod(0o640)
        (agent.point / "there").rename(agent.point / "folder/moved")
        (agent.point / "link").symlink_to("folder/new")
        assert (agent.point / "link").read_bytes() == b"new"
        assert (root / "folder/new").read_bytes() == b"new"
        assert (root / "folder/new").stat().st_mode & 0o777 == 0o640
        assert (root / "folder/moved").read_bytes() == b"there"
        assert 'op="write"' in agent("metrics", str(agent.point)).stdout
        agent("umount", str(agent.point))
        assert ssh.key.splitlines()[1] not in agent.said()
