# SPDX-License-Identifier: Apache-2.0
"""SSH servers that are not as they should be: SFTP that does not begin, logins that take long, names that no file can have."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing as closed
from contextlib import contextmanager
from pathlib import Path

import asyncssh
import pytest
from paddleflow_fuse.sources.sftp.connections import PATIENT, Connections, Turn
from paddleflow_fuse.sources.sftp.options import Login, Options
from paddleflow_fuse.sources.sftp.source import SftpSource
from paddleflow_fuse.sources.unfinished import Unfinished

from tests.support.source_suite import content, store
from tests.support.sshd import BARE, STUCK, Sshd

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may start a server with users of its own")
PATIENCE = 30.0
SOON = PATIENT._replace(total=0.5)


def test_a_server_whose_sftp_does_not_begin_is_given_up(ssh: Sshd) -> None:
    """As where its user's folder lies on a disk that is away; the server itself is well."""
    soon = SOON._replace(login=1.0)
    with (
        closed(SftpSource(ssh.options(STUCK), patience=soon)) as source,
        pytest.raises(OSError, match="it did not answer in time; see whether the address"),
    ):
        source.find(b"")


class Slow:
    """A login that takes long, as from a Vault that is away."""

    def __init__(self, login: Login) -> None:
        self.asked, self.given = threading.Semaphore(0), threading.Semaphore(1)
        self._login = login

    def login(self) -> Login:
        self.asked.release()
        assert self.given.acquire(timeout=PATIENCE)
        return self._login


def test_who_waits_for_a_login_holds_up_no_other_connection(options: Options) -> None:
    slow, go_on = Slow(options.login), threading.Event()

    async def hold(turn: Turn) -> bool:
        return await asyncio.to_thread(go_on.wait, PATIENCE) and bool(await turn.client.getcwd())

    async def look(turn: Turn) -> bool:
        return bool(await turn.client.getcwd())

    with closed(Connections(options, slow)) as server, ThreadPoolExecutor(2) as pool:
        assert server.run("look", b"", look)
        slow.asked.acquire()
        first = pool.submit(server.run, "hold", b"", hold)
        second = pool.submit(server.run, "look", b"", look)
        assert slow.asked.acquire(timeout=PATIENCE)
        go_on.set()
        assert first.result(PATIENCE)
        assert not second.done()
        slow.given.release()
        assert second.result(PATIENCE)


ODD = [b"a/b", b"x" * 300, b"", b"c"]


class Entered(asyncssh.SSHServer):
    def begin_auth(self, _user: str) -> bool:
        return False


class Odd(asyncssh.SFTPServer):
    async def scandir(self, _path: bytes) -> AsyncIterator[asyncssh.SFTPName]:
        for name in ODD:
            yield asyncssh.SFTPName(name, attrs=asyncssh.SFTPAttrs(permissions=0o100644, size=1, mtime=1))


@contextmanager
def odd_server() -> Iterator[int]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    key = asyncssh.generate_private_key("ssh-ed25519")

    async def listen() -> asyncssh.SSHAcceptor:
        return await asyncssh.listen("127.0.0.1", 0, server_factory=Entered, server_host_keys=[key], sftp_factory=Odd)

    listener = asyncio.run_coroutine_threadsafe(listen(), loop).result(PATIENCE)
    try:
        yield listener.get_port()
    finally:
        loop.call_soon_threadsafe(listener.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
        loop.close()


def test_names_that_no_file_can_have_are_hidden() -> None:
    """A server may say anything."""
    with odd_server() as port, closed(SftpSource(Options("127.0.0.1", "any", port))) as source:
        (page,) = source.list(b"")
    assert [one.name for one in page.listed] == [b"c"]
    assert page.hidden == tuple(ODD[:3])


def test_the_next_one_removes_what_who_died_left(options: Options, tmp_path: Path) -> None:
    root, noted = Path(os.fsdecode(options.root)), Unfinished(tmp_path / "uploads")
    (root / "unfinished").touch()
    (root / "others").touch()
    noted.begun(options.root + b"/unfinished")
    with closed(SftpSource(options, noted=noted)) as source:
        source.end_left()
        assert store(source, b"file", b"content").size == 7
    assert sorted(path.name for path in root.iterdir()) == ["file", "others"]
    assert noted.left() == []


def test_what_cannot_be_removed_now_is_left_for_the_next_one(options: Options, tmp_path: Path) -> None:
    noted = Unfinished(tmp_path / "uploads")
    noted.begun(options.root + b"/unfinished")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with closed(SftpSource(options._replace(port=port), patience=SOON, noted=noted)) as source:
        source.end_left()
    assert noted.left() == [options.root + b"/unfinished"]


def test_a_connection_that_is_lost_between_removing_and_renaming_loses_no_file(
    ssh: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a server that replaces nothing at once."""
    lost, rename = [True], asyncssh.SFTPClient.rename

    async def losing(client: asyncssh.SFTPClient, old: bytes, new: bytes) -> None:
        if lost and await client.exists(old) and not await client.exists(new):
            lost.clear()
            raise asyncssh.SFTPConnectionLost("gone")
        await rename(client, old, new)

    with closed(SftpSource(ssh.options(BARE))) as source:
        before = store(source, b"file", b"before")
        monkeypatch.setattr(asyncssh.SFTPClient, "rename", losing)
        after = store(source, b"file", b"after and more", before.version)
        assert not lost
        assert content(source, b"file") == b"after and more"
        assert source.find(b"file").version == after.version
