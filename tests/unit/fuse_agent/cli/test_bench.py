# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from paddleflow_fuse.cli.__main__ import main
from paddleflow_fuse.cli.bench import BANDS, Band

SMALL = ("--block-size", "4Ki", "--big-file-size", "100Ki", "--small-file-size", "1Ki", "--small-file-count", "5")


def test_what_is_measured_is_told_by_its_bands_and_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", str(tmp_path), *SMALL, "-p", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["block"], told["big"], told["small"], told["files"], told["threads"]) == (4096, 102400, 1024, 5, 2)
    assert [(one["test"], one["unit"]) for one in told["results"]] == [(band.test, band.unit) for band in BANDS]
    for one, band in zip(told["results"], BANDS, strict=True):
        assert one["value"] > 0
        assert one["mark"] == band.mark(one["value"])
    assert list(tmp_path.iterdir()) == []


def test_people_read_a_line_for_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", str(tmp_path), *SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:12].strip() for line in lines] == [band.test for band in BANDS]
    assert all(line.split()[-1] in ("good", "ok", "bad") for line in lines)


@pytest.mark.parametrize(("value", "mark"), [(99.9, "bad"), (100, "ok"), (199.9, "ok"), (200, "good")])
def test_a_mark_is_by_the_bounds(value: float, mark: str) -> None:
    assert Band("big read", "MiB/s", 100, 200).mark(value) == mark


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left_by_one_that_is_interrupted(tmp_path: Path, number: signal.Signals) -> None:
    """While it measures: by then a line was told."""
    words = [sys.executable, "-m", "paddleflow_fuse.cli.__main__", "bench", str(tmp_path), *SMALL]
    words[words.index("5")] = "10000000"
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("big write")
        process.send_signal(number)
        _out, error = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert f"interrupted by {number.name}" in error
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_nobody_can_write_to_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "/proc", *SMALL]) == 1
    assert "/proc/paddleflow-bench-" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--block-size", "0"], ["--big-file-size", "much"], ["-p", "0"]])
def test_sizes_that_cannot_be_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["bench", os.curdir, *words])
