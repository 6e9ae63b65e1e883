# SPDX-License-Identifier: Apache-2.0
"""Several who use one file, and the less common ways to do so."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.granted import until
from tests.support.mapped import Memory
from tests.support.places import Place, client, file, opened, python
from tests.support.source_suite import failing

PAGE = mmap.PAGESIZE
LARGE = 600 << 10
BOTH = os.O_RDWR | os.O_CREAT


@pytest.fixture
def path(place: Place) -> Path:
    return place.root / "file"


def all_is_stored(place: Place) -> None:
    """What is opened next is what was stored, and not what is left of who wrote it."""
    if place.mount is not None:
        staging = place.mount.staging
        until("it is stored", lambda: not any(staging.iterdir()))


# --- handles ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 100, LARGE])
def test_what_one_writes_another_reads_at_once(path: Path, size: int) -> None:
    path.write_bytes(b"." * size)
    with file(path, BOTH) as one, file(path, os.O_RDONLY) as reader, file(path, BOTH) as other:
        assert os.pread(reader, 10, 0) == b"." * min(size, 10)
        os.pwrite(one, b"first", size)
        assert os.pread(reader, 100, size) == os.pread(other, 100, size) == b"first"
        os.pwrite(other, b"second", 0)
        assert os.pread(one, 6, 0) == os.pread(reader, 6, 0) == b"second"
        assert python("import sys; print(open(sys.argv[1], 'rb').read(6))", path) == str(b"second")
        os.close(one)
        os.pwrite(other, b"third", 0)
        assert os.pread(reader, 5, 0) == b"third"
        os.ftruncate(other, 3)
        assert os.pread(reader, 100, 0) == b"thi"
        assert os.fstat(reader).st_size == 3
    assert path.read_bytes() == b"thi"


def test_who_reads_sees_what_is_written_later(path: Path) -> None:
    path.write_bytes(b"before")
    with file(path, os.O_WRONLY) as writer, file(path, os.O_RDONLY) as reader:
        assert os.pread(reader, 100, 0) == b"before"
        os.pwrite(writer, b"AFTER!!", 0)
        assert os.pread(reader, 100, 0) == b"AFTER!!"
        assert path.read_bytes() == b"AFTER!!"
        path.write_bytes(b"again")
        assert os.pread(reader, 100, 0) == b"again"


@pytest.mark.parametrize("size", [0, 6, LARGE])
def test_who_reads_already_sees_what_is_written(place: Place, path: Path, size: int) -> None:
    """Section 14: also where the kernel reads by itself what is cached, as it does what was read before."""
    before = b"." * size
    path.write_bytes(before)
    all_is_stored(place)
    assert path.read_bytes() == before
    with file(path, os.O_RDONLY) as reader, file(path, os.O_RDONLY) as other:
        assert os.read(reader, size + 10) == before
        number = os.fstat(reader).st_ino
        for line in (b"one\n", b"two\n"):
            with path.open("ab") as writer:
                writer.write(line)
                writer.flush()
                assert os.read(reader, 100) == line
            assert os.read(reader, 100) == b""
        assert os.pread(other, 100, size) == b"one\ntwo\n"
        assert os.fstat(reader).st_size == size + 8
        os.truncate(path, 2)
        assert os.pread(reader, 100, 0) == (before + b"on")[:2]
        path.write_bytes(b"emptied before")
        assert os.pread(reader, 100, 0) == os.pread(other, 100, 0) == b"emptied before"
        path.write_bytes(b"")
        assert os.pread(reader, 100, 0) == b""
        assert os.fstat(other).st_ino == number == path.stat().st_ino
        path.write_bytes(b"at last")
    assert path.read_bytes() == b"at last"


def test_who_only_opens_to_write_changes_nothing(place: Place, path: Path) -> None:
    path.write_bytes(b"content")
    all_is_stored(place)
    assert path.read_bytes() == b"content"
    before = path.stat().st_mtime_ns
    with file(path, os.O_RDONLY) as reader:
        with file(path, os.O_RDWR) as writer:
            assert os.pread(writer, 100, 0) == b"content"
        assert os.fstat(reader).st_mtime_ns == path.stat().st_mtime_ns == before
    assert path.stat().st_mtime_ns == before
    assert path.read_bytes() == b"content"


def test_what_was_replaced_keeps_what_it_was_for_who_reads_it(place: Place, path: Path) -> None:
    path.write_bytes(b"before")
    all_is_stored(place)
    assert path.read_bytes() == b"before"
    with file(path, os.O_RDONLY) as reader:
        path.with_name("new").write_bytes(b"before")  # the same content, and so the same version where that tells
        path.with_name("new").rename(path)
        all_is_stored(place)
        with file(path, os.O_RDWR) as writer:
            os.pwrite(writer, b"AFTER!", 0)
            assert os.pread(reader, 100, 0) == b"before"
        assert os.pread(reader, 100, 0) == b"before"
    assert path.read_bytes() == b"AFTER!"


def test_a_copied_handle_is_the_same(path: Path) -> None:
    with file(path, BOTH) as one:
        other = os.dup(one)
        os.write(one, b"one")
        os.write(other, b"two")
        os.close(one)
        assert path.read_bytes() == b"onetwo"
        os.write(other, b"three")
        os.lseek(other, 0, os.SEEK_SET)
        assert os.read(other, 100) == b"onetwothree"
        os.close(other)
    assert path.read_bytes() == b"onetwothree"


def test_a_child_writes_on_after_its_parent(path: Path) -> None:
    with file(path, BOTH) as one:
        os.write(one, b"parent")
        code = "import os, sys; os.write(int(sys.argv[1]), b' child'); sys.stdin.read(); os.write(int(sys.argv[1]), b' later')"
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", code, str(one)], pass_fds=[one], stdin=subprocess.PIPE
        )
        os.close(one)
        assert child.stdin
        child.stdin.close()
        assert child.wait(60) == 0
    assert path.read_bytes() == b"parent child later"


def test_what_was_synced_and_closed_is_there_for_others(path: Path) -> None:
    with file(path, BOTH) as one:
        os.write(one, b"content")
        os.fsync(one)
        os.fdatasync(one)
        assert path.read_bytes() == b"content"
        os.write(one, b" and more")
        os.fsync(one)
    with file(path, os.O_RDONLY) as one:
        os.fsync(one)
    with file(path.parent, os.O_RDONLY | os.O_DIRECTORY) as one:
        os.fsync(one)
    os.sync()
    assert path.read_bytes() == b"content and more"


# --- locks --------------------------------------------------------------------------------------

TRY = """
import errno, fcntl, os, sys
one = os.open(sys.argv[1], os.O_RDWR)
try:
    {}
except OSError as error:
    print(errno.errorcode[error.errno])
else:
    print("locked")
"""
FLOCK = TRY.format("fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)")
LOCKF = TRY.format("fcntl.lockf(one, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, int(sys.argv[2]))")


def test_a_file_is_locked_for_other_processes(path: Path) -> None:
    with file(path, BOTH) as one:
        assert python(FLOCK, path) == "locked"
        fcntl.flock(one, fcntl.LOCK_EX)
        assert python(FLOCK, path) == "EAGAIN"
        fcntl.flock(one, fcntl.LOCK_SH)
        assert python(FLOCK, path) == "EAGAIN"
        fcntl.flock(one, fcntl.LOCK_UN)
        assert python(FLOCK, path) == "locked"


def test_a_range_is_locked_for_other_processes(path: Path) -> None:
    with file(path, BOTH) as one:
        fcntl.lockf(one, fcntl.LOCK_EX, 10, 100)
        assert python(LOCKF, path, 100) in ("EAGAIN", "EACCES")
        assert python(LOCKF, path, 105) in ("EAGAIN", "EACCES")
        assert python(LOCKF, path, 110) == "locked"
        fcntl.lockf(one, fcntl.LOCK_UN, 10, 100)
        assert python(LOCKF, path, 100) == "locked"


def test_locks_are_refused_on_demand(tmp_path: Path) -> None:
    """Rule 9: where a lock has to hold for other machines, too, none is better than one that does not."""
    with opened("memory", tmp_path, refuses_locks=True) as (root, _mount):
        locks_are_refused(root / "file")
        assert (root / "file").read_bytes() == b"content"


def locks_are_refused(path: Path) -> None:
    with file(path, BOTH) as one:
        for act in (
            lambda: fcntl.flock(one, fcntl.LOCK_EX), lambda: fcntl.flock(one, fcntl.LOCK_SH | fcntl.LOCK_NB),
            lambda: fcntl.lockf(one, fcntl.LOCK_EX), lambda: fcntl.lockf(one, fcntl.LOCK_EX | fcntl.LOCK_NB),
            lambda: fcntl.fcntl(one, fcntl.F_GETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)),
        ):  # fmt: skip
            with failing(errno.ENOLCK):
                act()
        os.write(one, b"content")


# --- memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, PAGE, PAGE + 1, LARGE])
def test_a_file_is_read_as_memory(path: Path, size: int) -> None:
    data = os.urandom(size)
    path.write_bytes(data)
    with file(path, os.O_RDONLY) as one, mmap.mmap(one, 0, mmap.MAP_SHARED, mmap.PROT_READ) as memory:
        assert memory[:] == data
    with (
        file(path, os.O_RDONLY) as one,
        mmap.mmap(one, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as memory,
    ):
        memory[0:1] = b"x"
        assert memory[:] == b"x" + data[1:]
    assert path.read_bytes() == data


@pytest.mark.parametrize("before", ["new", "small", "large"])
@pytest.mark.parametrize("sync", [True, False])
def test_what_is_written_to_memory_is_in_the_file(path: Path, before: str, sync: bool) -> None:
    data = bytearray(os.urandom(100 if before == "small" else LARGE))
    if before != "new":
        path.write_bytes(data)
    with file(path, BOTH) as one:
        if before == "new":
            os.write(one, data)
        with mmap.mmap(one, len(data)) as memory:
            for offset in (0, 50, len(data) - 3):
                memory[offset : offset + 3] = data[offset : offset + 3] = b"new"
            if sync:
                memory.flush()
            assert os.pread(one, len(data), 0) == data
    assert path.read_bytes() == data


def test_memory_outlives_its_handle(path: Path) -> None:
    """Rule 5: what was ever mapped to be written is stored when it is unmapped, too."""
    path.write_bytes(b"before")
    one = os.open(path, os.O_RDWR)
    memory = mmap.mmap(one, 6)
    os.close(one)
    with memory:
        memory[:] = b"after!"
        memory.flush()
        assert path.read_bytes() == b"after!"
        memory[0:1] = b"A"
    assert path.read_bytes() == b"After!"


@pytest.mark.parametrize("size", [9, LARGE, 9 << 20])
def test_memory_outlives_every_handle(place: Place, path: Path, size: int) -> None:
    """Rule 5: what is written after the last close is stored when it is unmapped, of which a kernel that writes by itself tells
    nobody."""
    data = bytearray(size)
    path.write_bytes(data)
    memory = Memory(path, size)
    for offset, written in ((0, b"first"), (size - 4, b"last"), (2, b"again")):
        memory.write(offset, written)
        data[offset : offset + len(written)] = written
        assert path.read_bytes() == data
    memory.sync()
    path.with_name("file").rename(path.with_name("moved"))
    memory.write(1, b"x")
    memory.end()
    data[1:2] = b"x"
    all_is_stored(place)
    assert path.with_name("moved").read_bytes() == data


def test_memory_of_what_is_removed_or_emptied(path: Path) -> None:
    path.write_bytes(bytes(PAGE))
    memory = Memory(path, PAGE)
    path.unlink()
    memory.write(0, b"nobody reads it")
    memory.end()
    assert not path.exists()
    path.write_bytes(bytes(2 * PAGE))
    memory = Memory(path, 2 * PAGE)
    os.truncate(path, PAGE)
    memory.write(0, b"here")
    memory.end()
    assert path.read_bytes() == b"here" + bytes(PAGE - 4)


def test_who_reads_memory_beyond_the_end_of_a_file_is_told_by_the_kernel(path: Path) -> None:
    path.write_bytes(b"x" * 3 * PAGE)
    code = (
        "import mmap, os, sys; one = os.open(sys.argv[1], os.O_RDWR); memory = mmap.mmap(one, 0); os.ftruncate(one, 100);"
        "print(memory[:200] == b'x' * 100 + bytes(100), flush=True); memory[2 * mmap.PAGESIZE]"
    )
    reader = client(code, path)
    with reader:
        said, _errors = reader.communicate(timeout=30)
    assert (said.strip(), reader.returncode) == ("True", -signal.SIGBUS)
    assert path.read_bytes() == b"x" * 100


def test_two_share_memory(path: Path) -> None:
    path.write_bytes(bytes(PAGE))
    code = "import mmap, os, sys; memory = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 0); print(memory[:5]); memory[5:10] = b'other'"
    with file(path, os.O_RDWR) as one, mmap.mmap(one, 0) as memory:
        memory[:5] = b"first"
        assert python(code, path) == str(b"first")
        assert memory[5:10] == b"other"
        assert os.pread(one, 10, 0) == b"firstother"
    assert path.read_bytes()[:10] == b"firstother"


# --- less common calls --------------------------------------------------------------------------


@pytest.mark.parametrize("size", [PAGE, 64 * PAGE])
def test_caches_are_passed_by_on_demand(path: Path, size: int) -> None:
    with mmap.mmap(-1, size) as buffer, mmap.mmap(-1, size) as read:  # aligned, as a disk demands
        buffer[:] = os.urandom(size)
        with file(path, BOTH | os.O_DIRECT) as one:
            assert os.pwritev(one, [buffer], 0) == size
            assert os.preadv(one, [read], 0) == size
            assert read[:] == buffer[:]
        with file(path, os.O_RDONLY | os.O_DIRECT) as one:
            read[:] = bytes(size)
            assert os.preadv(one, [read], 0) == size
            assert read[:] == buffer[:]
        assert path.read_bytes() == buffer[:]


def test_advice_is_taken(path: Path) -> None:
    path.write_bytes(b"content")
    with file(path, os.O_RDONLY) as one:
        for advice in (os.POSIX_FADV_SEQUENTIAL, os.POSIX_FADV_WILLNEED, os.POSIX_FADV_DONTNEED, os.POSIX_FADV_RANDOM):
            os.posix_fadvise(one, 0, 0, advice)
        assert os.read(one, 10) == b"content"
        assert not os.isatty(one)


# --- many ---------------------------------------------------------------------------------------

CROWD = """
import os, sys
folder, me, others = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.close(os.open(f"{folder}/ready{me}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
won = 0
for turn in range(4):
    try:
        one = os.open(f"{folder}/first{turn}", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        pass
    else:
        won += 1
        os.close(one)
    path = f"{folder}/own{me}"
    with open(path, "w") as file:
        file.write(me * 100 + str(turn))
    assert open(path).read() == me * 100 + str(turn)
    assert f"own{me}" in os.listdir(folder)
    os.rename(path, path + "new")
    assert open(path + "new").read() == me * 100 + str(turn)
    os.unlink(path + "new")
    assert not os.path.exists(path)
    with open(f"{folder}/all", "a") as file:
        file.write(me.rjust(5) + "\\n")
print(won)
"""


def test_many_processes_use_one_folder_at_once(place: Place) -> None:
    count = 64
    command = [sys.executable, "-I", "-S", "-c", CROWD, str(place.root)]
    crowd = [
        subprocess.Popen([*command, str(index), str(count)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for index in range(count)
    ]
    said = [one.communicate(timeout=120) for one in crowd]
    assert [error for _output, error in said if error] == []
    assert sum(int(output) for output, _error in said) == 4, "each name is made by one"
    assert sorted(os.listdir(place.root)) == sorted(
        ["all", *(f"first{turn}" for turn in range(4)), *(f"ready{index}" for index in range(count))]
    )
    assert sorted((place.root / "all").read_text().split()) == sorted([str(index) for index in range(count)] * 4)
