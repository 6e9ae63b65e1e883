# SPDX-License-Identifier: Apache-2.0
"""A source in a helper: it answers as it does here, and goes on when the helper is killed."""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from paddleflow_fuse.sources import far
from paddleflow_fuse.sources.base import Abilities, ChangedError, Kind, Source, quiet
from paddleflow_fuse.sources.far import FarSource
from paddleflow_fuse.sources.helper import Made
from paddleflow_fuse.sources.local import LocalSource
from paddleflow_fuse.sources.make import Wanted
from paddleflow_fuse.sources.rates import Rate, Rates

from tests.support.source_suite import XattrSuite, content, failing, names, store


def make(root: Path) -> FarSource:
    return FarSource(Wanted("local://here", {}, str(root)), quiet)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[FarSource]:
    (tmp_path / "root").mkdir()
    made = make(tmp_path / "root")
    yield made
    made.close()


def helper(source: FarSource) -> subprocess.Popen[bytes]:
    assert source.process is not None
    return source.process


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
class TestFar(XattrSuite):
    pass


def test_what_another_version_is_told_by_comes_whole(source: FarSource) -> None:
    before = store(source, b"a", b"one")
    store(source, b"a", b"another")
    with pytest.raises(ChangedError) as changed:
        source.read(b"a", before.version, 0, 3)
    assert (changed.value.errno, changed.value.filename) == (errno.ESTALE, b"a")


def test_large_pieces_come_whole(source: FarSource) -> None:
    data = os.urandom(20 << 20)
    store(source, b"a", data)
    assert content(source, b"a") == data


def test_many_ask_at_once(source: FarSource) -> None:
    for index in range(20):
        store(source, b"%d" % index, b"%d" % index * 1000)

    def ask(index: int) -> bool:
        name = b"%d" % (index % 20)
        return content(source, name) == name * 1000 and len(names(source)) == 20

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, range(200)))


def test_a_question_is_asked_again_when_the_helper_was_killed(source: FarSource) -> None:
    store(source, b"a", b"0123")
    killed = helper(source)
    killed.kill()
    killed.wait()
    assert content(source, b"a") == b"0123"
    assert helper(source).pid != killed.pid


def test_a_change_that_was_lost_with_the_helper_is_told_as_such(source: FarSource) -> None:
    store(source, b"a", b"")
    killed = helper(source)
    killed.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, killed.pid, os.WSTOPPED)
    failed = threading.Event()

    def rename() -> None:
        with failing(errno.EIO):
            source.rename(b"a", b"b")
        failed.set()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(rename)
        killed.kill()
        done.result(30)
    assert failed.is_set()
    assert names(source) == [b"a"]


def test_a_listing_that_breaks_off_in_the_middle_is_none(tmp_path: Path, source: FarSource) -> None:
    for index in range(20_000):  # more than can be on its way
        (tmp_path / "root" / f"{index}").touch()
    pages = source.list(b"")
    next(pages)
    killed = helper(source)
    killed.kill()
    killed.wait()
    with pytest.raises(OSError) as refused:  # noqa: PT011 (told by its errno)
        list(pages)
    assert refused.value.errno == errno.EIO
    assert len(names(source)) == 20_000


def test_a_listing_that_nobody_reads_to_its_end_costs_nobody_else_a_channel(source: FarSource) -> None:
    for index in range(2500):
        store(source, b"%d" % index)
    for _time in range(3):
        next(source.list(b""))
    assert len(names(source)) == 2500


def test_helpers_that_end_again_and_again_are_left_alone(source: FarSource) -> None:
    for _time in range(5):
        killed = helper(source)
        killed.kill()
        killed.wait()
        source.find(b"")
    helper(source).kill()
    helper(source).wait()
    with failing(errno.EIO):
        source.find(b"")


def test_a_helper_that_is_stuck_is_ended_and_another_begins(source: FarSource, monkeypatch: pytest.MonkeyPatch) -> None:
    source.find(b"")
    stuck = helper(source)
    stuck.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, stuck.pid, os.WSTOPPED)
    for name in ("_LONGEST", "_LIVES"):
        monkeypatch.setattr(far, name, 0.1)
    with pytest.raises(OSError, match="did not answer within"):
        list(source.list(b""))
    assert stuck.wait(30) == -signal.SIGKILL
    monkeypatch.undo()
    assert names(source) == []
    assert helper(source).pid != stuck.pid


def test_a_helper_that_only_takes_long_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Rates(read=[Rate(str(tmp_path / "rate"), 4096)])
    source = FarSource(Wanted("local://here", {}, str(tmp_path), rates=slow), quiet)
    store(source, b"a", b"x" * 4096)
    before = helper(source).pid
    source.read(b"a", b"", 0, 4096)
    monkeypatch.setattr(far, "_LONGEST", 0.1)
    with pytest.raises(OSError, match="did not answer within"):
        source.read(b"a", b"", 0, 4096)
    monkeypatch.undo()
    source.find(b"")
    assert helper(source).pid == before
    source.close()


STUCK = """
from pathlib import Path
from paddleflow_fuse.sources import helper, local
from paddleflow_fuse.sources.base import StuckError
mark = Path({mark!r})
def find(self, path, really=local.LocalSource.find):
    if not mark.exists():
        mark.touch()
        raise StuckError("all wait")
    return really(self, path)
local.LocalSource.find = find
helper.main()
"""


def test_a_source_that_only_another_process_can_go_on_with_gets_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = STUCK.format(mark=str(tmp_path / "mark"))
    monkeypatch.setattr(far, "_HELPER", (sys.executable, "-P", "-c", script))
    source = make(tmp_path)
    assert source.find(b"").kind is Kind.FOLDER
    assert (tmp_path / "mark").exists()
    source.close()


def test_what_a_source_is_made_of_may_be_away_for_a_while(tmp_path: Path) -> None:
    now, tries = [0.0], list[float]()

    def make() -> Source:
        tries.append(now[0])
        if now[0] < 7:
            raise PermissionError(errno.EACCES, "Vault is away")
        return LocalSource(str(tmp_path))

    made = Made(make, Abilities(keeps=True), lambda: now[0])
    assert made.abilities.keeps, "known before it is made"
    made.begin()
    for moment in (1.0, 6.0, 10.0):
        now[0] = moment
        with failing(errno.EACCES):
            made.find(b"")
    now[0] = 12.0
    assert made.find(b"").kind is Kind.FOLDER
    assert tries == [0, 6, 12]
    made.close()


def test_a_source_that_cannot_be_made_is_told_when_it_is_asked(tmp_path: Path) -> None:
    with failing(errno.ENOENT):
        make(tmp_path / "missing")


def test_a_helper_ends_with_whoever_it_is_for(tmp_path: Path) -> None:
    program = (
        "import sys, os\n"
        "from tests.unit.fuse_agent.sources.test_far import helper, make\n"
        "from pathlib import Path\n"
        "made = make(Path(sys.argv[1]))\n"
        "print(helper(made).pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )
    pid = int(done.stdout)
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], 30)[0], "it is there still"
    finally:
        os.close(descriptor)
