# SPDX-License-Identifier: Apache-2.0
"""The module `files`."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from tests.support import modules


def run(dest: Path, contents: dict[str, str], check: bool = False, **options: Any) -> dict[str, Any]:
    return modules.start("files", {"dest": str(dest), "contents": contents, **options}, check=check)


def test_files_are_placed_once(tmp_path: Path) -> None:
    contents = {"a.conf": "one\n", "deep/er/b.conf": "two — ü\n"}
    first = run(tmp_path / "new", contents, mode="0640", directory_mode="0750")
    assert (first["changed"], sorted(first["written"])) == (True, ["a.conf", "deep/er/b.conf"])
    assert (tmp_path / "new/deep/er/b.conf").read_text(encoding="utf-8") == "two — ü\n"
    assert stat.S_IMODE((tmp_path / "new/a.conf").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "new/deep").stat().st_mode) == 0o750
    second = run(tmp_path / "new", contents, mode="0640", directory_mode="0750")
    assert (second["changed"], second["written"], second["diff"]) == (False, [], [])


def test_only_what_differs_is_written(tmp_path: Path) -> None:
    run(tmp_path, {"a": "1", "b": "2"})
    kept = (tmp_path / "a").stat().st_ino
    assert run(tmp_path, {"a": "1", "b": "3"})["written"] == ["b"]
    assert (tmp_path / "a").stat().st_ino == kept


def test_another_mode_is_a_change(tmp_path: Path) -> None:
    run(tmp_path, {"a": "1"}, mode="0644")
    assert run(tmp_path, {"a": "1"}, mode="0600")["written"] == ["a"]
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_check_mode_tells_and_leaves(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("stays\n")
    answer = run(tmp_path, {"a": "1\n"}, check=True, purge=True)
    assert (answer["changed"], answer["written"], answer["removed"]) == (True, ["a"], ["old"])
    assert [(entry["before"], entry["after"]) for entry in answer["diff"]] == [("", "1\n"), ("stays\n", "")]
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_purge_takes_what_is_not_named_and_nothing_beyond(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("stays")
    (tmp_path / "in/deep").mkdir(parents=True)
    (tmp_path / "in/deep/old").write_text("goes")
    (tmp_path / "in/link").symlink_to(outside)
    assert run(tmp_path / "in", {"a": "1"}, purge=True)["removed"] == ["deep/old", "link"]
    assert outside.read_text() == "stays"
    assert run(tmp_path / "in", {"a": "1"}, purge=True)["changed"] is False


def test_a_link_is_replaced_by_the_file_and_its_target_is_left(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("1")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a").symlink_to(target)
    assert run(tmp_path / "in", {"a": "2"})["written"] == ["a"]
    assert (target.read_text(), (tmp_path / "in/a").is_symlink()) == ("1", False)


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../up", "."])
def test_a_path_outside_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    answer = run(tmp_path / "in", {path: "1", "good": "2"})
    assert answer["failed"]
    assert path in answer["msg"]
    assert list(tmp_path.iterdir()) == []


def test_a_mode_that_is_none_is_refused(tmp_path: Path) -> None:
    assert "octal" in run(tmp_path, {"a": "1"}, mode="rw-r--r--")["msg"]


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    answer = run(tmp_path, {"a": "1"})
    assert answer["failed"]
    assert str(tmp_path / "a") in answer["msg"]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
