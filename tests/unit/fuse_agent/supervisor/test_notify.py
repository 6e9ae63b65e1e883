# SPDX-License-Identifier: Apache-2.0
"""What systemd is told and gives, with a socket in its place."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from paddleflow_fuse.supervisor.notify import Notify, inherited
from paddleflow_fuse.supervisor.store import Nowhere, Systemd

PID = 4711


@pytest.fixture
def end(tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(path)
        bound.settimeout(30)
        yield bound, path


def test_systemd_is_told_how_it_is(end: tuple[socket.socket, str]) -> None:
    bound, path = end
    notify = Notify({"NOTIFY_SOCKET": path}, PID)
    assert notify
    notify.say(READY="1", STATUS="all\nis well")
    assert bound.recv(1000) == b"READY=1\nSTATUS=all is well\n"


def test_its_socket_may_have_no_place_in_any_folder() -> None:
    name = f"paddleflow-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind("\0" + name)
        bound.settimeout(30)
        Notify({"NOTIFY_SOCKET": f"@{name}"}, PID).say(STOPPING="1")
        assert bound.recv(1000) == b"STOPPING=1\n"


def test_without_systemd_nothing_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    notify = Notify({}, PID)
    assert not notify
    notify.say(READY="1")
    Notify({"NOTIFY_SOCKET": str(tmp_path / "gone")}, PID).say(READY="1")
    assert caplog.records == []
    Notify({"NOTIFY_SOCKET": str(tmp_path / ("far" * 50))}, PID).say(READY="1")
    assert [record.getMessage() for record in caplog.records] == ["systemd cannot be told"]


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        ({}, 0),
        ({"WATCHDOG_USEC": "30000000"}, 15),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(PID)}, 15),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, 0),
    ],
)
def test_signs_of_life_come_twice_as_often_as_wanted(environment: dict[str, str], seconds: float) -> None:
    assert Notify({"NOTIFY_SOCKET": "/nowhere", **environment}, PID).watchdog == seconds


def test_descriptors_are_kept_and_dropped_by_name(end: tuple[socket.socket, str], tmp_path: Path) -> None:
    bound, path = end
    file = tmp_path / "file"
    file.write_text("content")
    stored = Systemd(Notify({"NOTIFY_SOCKET": path}, PID), {}, PID)
    with file.open() as opened:
        stored.keep("keep.owner", opened.fileno())
    packet, (descriptor,), _flags, _address = socket.recv_fds(bound, 1000, 4)
    assert packet == b"FDSTORE=1\nFDNAME=keep.owner\n"
    assert os.read(descriptor, 100) == b"content"
    os.close(descriptor)
    stored.drop("keep.owner")
    assert bound.recv(1000) == b"FDSTOREREMOVE=1\nFDNAME=keep.owner\n"


def test_what_is_kept_nowhere_is_not_there() -> None:
    nowhere = Nowhere()
    nowhere.keep("fuse", 0)
    nowhere.drop("fuse")
    assert nowhere.take() == {}


def test_what_is_meant_for_another_process_is_not_taken() -> None:
    assert inherited({}, PID) == {}
    assert inherited({"LISTEN_PID": "1", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "fuse:region"}, PID) == {}


def test_what_was_kept_is_taken_by_name_and_goes_to_no_child(tmp_path: Path) -> None:
    """In a process of its own, whose descriptors from 3 on are these."""
    script = """
import os, sys
from paddleflow_fuse.supervisor.notify import inherited
for place in range(4):
    os.dup2(os.memfd_create(str(place)), 50 + place)
for place in range(4):
    os.dup2(50 + place, 3 + place)
found = inherited({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "4", "LISTEN_FDNAMES": "fuse:region:fuse:keep.owner"}, os.getpid())
print(sorted(found.items()), [os.get_inheritable(number) for number in found.values()])
try:
    os.fstat(3)
except OSError:
    print("closed")
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    found, closed = done.stdout.splitlines()
    assert found == "[('fuse', 5), ('keep.owner', 6), ('region', 4)] [False, False, False]"
    assert closed == "closed"  # the older of two with one name
