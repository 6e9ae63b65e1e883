# SPDX-License-Identifier: Apache-2.0
"""What systemd is told, by a stand-in that writes down what it is called with: it is not the first process where tests run."""

from __future__ import annotations

from pathlib import Path

import pytest
from paddleflow_fuse.declared.agents import TroubleError
from paddleflow_fuse.declared.services import EXPORTER, Runit, Systemd, once

STAND_IN = """#!/bin/sh
echo "$@" >> {calls}
case "$1 $*" in
  *broken*) echo "Unit broken not found."; exit 5 ;;
  is-enabled*idle*) exit 1 ;;
  *MainPID*corpus*) echo 4711 ;;
  *MainPID*) echo 0 ;;
  show*waits*) printf 'ActiveState=activating\\nSubState=auto-restart\\n' ;;
  show*) printf 'ActiveState=active\\nSubState=running\\n' ;;
esac
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "calls"
    program = tmp_path / "systemctl"
    program.write_text(STAND_IN.format(calls=path))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return path


def test_it_is_started_and_enabled_and_failures_before_count_no_more(calls: Path) -> None:
    Systemd().start("corpus")
    unit = "paddleflow-fuse@corpus.service"
    assert calls.read_text().splitlines() == [f"reset-failed {unit}", f"enable {unit}", f"restart --no-block {unit}"]


def test_it_is_stopped_and_stays_so(calls: Path) -> None:
    Systemd().stop("corpus", 5)
    Systemd().reload()
    assert calls.read_text().splitlines() == ["disable --now paddleflow-fuse@corpus.service", "daemon-reload"]


def test_how_it_is(calls: Path) -> None:
    assert Systemd().is_up("corpus")
    assert not Systemd().is_up("idle")
    assert Systemd().has_failed("waits")
    assert not Systemd().has_failed("corpus")
    assert (Systemd().process("corpus"), Systemd().process("idle")) == (4711, 0)
    assert calls.exists()


def test_the_exporter_has_a_unit_of_its_own(calls: Path) -> None:
    Systemd().enable(EXPORTER)
    assert calls.read_text() == "enable paddleflow-fuse-exporter.service\n"


def test_what_runit_does_not_watch_does_not_run(tmp_path: Path) -> None:
    assert Runit(tmp_path, tmp_path).process(EXPORTER) == 0


@pytest.mark.usefixtures("calls")
def test_what_systemd_refuses_is_told_in_its_words() -> None:
    with pytest.raises(
        TroubleError, match=r"systemctl enable paddleflow-fuse@broken.service failed: Unit broken not found."
    ):
        Systemd().enable("broken")


def test_what_each_attempt_says_is_said_once() -> None:
    attempt = 'error it is not served why="403"'
    lines = [
        f"12:00:0{time}.1 {said}"
        for time, said in enumerate(
            [f"{attempt}", "info a worker begins pid=12", attempt, "info a worker begins pid=345", attempt]
        )
    ]
    assert sorted(once("\n".join(lines)).splitlines()) == [lines[3], lines[4]]
