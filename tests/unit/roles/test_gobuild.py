# SPDX-License-Identifier: Apache-2.0
"""The build driver, run with a stand-in `go` that writes what it was asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import gobuild
import pytest

GO = """\
#!/bin/sh
case "$1" in
  version) echo "go version ${FAKE_GO:-go1.26.8} linux/amd64" ;;
  list) case "$*" in *Stale*) echo a/b; echo main ;; *-m*) echo "$FAKE_MODULE" ;; esac ;;
  build)
    echo a/b >&2; echo main >&2
    test -z "$FAKE_FAIL" || { echo "$FAKE_FAIL" >&2; exit 1; }
    test -z "$FAKE_WAIT" || { echo started > "$FAKE_WAIT"; exec sleep 60; }
    echo "$GOTMPDIR" > "$FAKE_COUNT.scratch"; test -d "$GOTMPDIR" || exit 1
    while [ "$1" != -o ]; do shift; done
    echo built >> "$FAKE_COUNT"; echo program > "$2" ;;
esac
"""


class Driver:
    def __init__(self, folder: Path) -> None:
        self.source, self.cache, self.count = folder / "source", folder / "cache", folder / "count"
        self.source.mkdir()
        (self.source / "go.mod").write_text("module x\n\ngo 1.24.0\n")
        (self.source / "main.go").write_text("package main\n")
        module = folder / "module"
        (module / "crds").mkdir(parents=True)
        (module / "crds" / "a.yaml").write_text("a: 1\n")
        data = [{"module": "m", "from": "crds", "to": "data"}]
        (self.source / "build.json").write_text(json.dumps({"packages": {"x": "."}, "ldflags": "-s", "data": data}))
        go = folder / "bin" / "go"
        go.parent.mkdir()
        go.write_text(GO)
        go.chmod(0o755)
        path = f"{go.parent}:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "FAKE_COUNT": str(self.count), "FAKE_MODULE": str(module)}
        self.progress = folder / "progress"

    def command(self, verb: str) -> list[str]:
        options = [
            "--name",
            "x",
            "--source",
            str(self.source),
            "--cache",
            str(self.cache),
            "--progress",
            str(self.progress),
        ]
        return [sys.executable, gobuild.__file__, verb, *options]

    def run(self, verb: str = "build", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(verb), env={**self.environment, **environment}, capture_output=True, text=True, check=False
        )

    def result(self, verb: str = "build", **environment: str) -> dict[str, object]:
        done = self.run(verb, **environment)
        assert done.returncode == 0, done.stderr
        result: dict[str, object] = json.loads(done.stdout)
        return result

    def builds(self) -> int:
        return len(self.count.read_text().split()) if self.count.exists() else 0


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path)


def test_the_same_content_is_compiled_once(driver: Driver) -> None:
    first, second = driver.result(), driver.result()
    assert (first["built"], second["built"]) == (True, False)
    assert first["dir"] == second["dir"]
    assert (Path(str(first["dir"])) / "x").read_text() == "program\n"
    assert (Path(str(first["dir"])) / "data" / "a.yaml").exists()
    assert driver.builds() == 1


def test_the_compilers_scratch_lies_beside_the_results_and_goes(driver: Driver) -> None:
    driver.result()
    scratch = Path(driver.count.with_name("count.scratch").read_text().strip())
    assert scratch.parent == driver.cache / "builds"
    assert not scratch.exists()


def test_a_plan_builds_nothing(driver: Driver) -> None:
    assert driver.result("plan")["cached"] is False
    assert driver.builds() == 0
    driver.result()
    assert driver.result("plan")["cached"] is True


def test_a_changed_source_or_go_is_another_content_but_a_changed_test_is_not(driver: Driver) -> None:
    keys = {driver.result("plan")["key"]}
    (driver.source / "main_test.go").write_text("package main\n")
    assert driver.result("plan")["key"] in keys
    (driver.source / "main.go").write_text("package main // changed\n")
    keys.add(driver.result("plan")["key"])
    keys.add(driver.result("plan", FAKE_GO="go1.27.0")["key"])
    assert len(keys) == 3


def test_two_at_once_build_once(driver: Driver) -> None:
    runs = [
        subprocess.Popen(
            driver.command("build"), env=driver.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _run in range(4)
    ]
    said = [run.communicate() for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0, 0], said
    answers = [json.loads(output) for output, _errors in said]
    assert sorted(answer["built"] for answer in answers) == [False, False, False, True]
    assert driver.builds() == 1


def test_what_a_killed_build_left_is_neither_taken_nor_kept(driver: Driver, tmp_path: Path) -> None:
    marker = tmp_path / "started"
    killed = subprocess.Popen(
        driver.command("build"), env={**driver.environment, "FAKE_WAIT": str(marker)}, start_new_session=True
    )
    deadline = time.monotonic() + 30
    while not marker.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(killed.pid, 9)
    killed.wait()
    assert list((driver.cache / "builds").glob(".x-*"))
    assert driver.result()["built"] is True
    assert not list((driver.cache / "builds").glob(".x-*"))


def test_a_damaged_result_is_built_again(driver: Driver) -> None:
    (Path(str(driver.result()["dir"])) / "x").write_text("cut")
    assert driver.result()["built"] is True


def test_the_result_before_is_kept_and_older_ones_go(driver: Driver) -> None:
    folders = []
    for number in range(3):
        (driver.source / "main.go").write_text(f"package main // {number}\n")
        folders.append(Path(str(driver.result()["dir"])))
        os.utime(folders[-1], (number, number))
    assert [folder.exists() for folder in folders] == [False, True, True]


@pytest.mark.parametrize(
    ("output", "remedy"),
    [
        ("write /x: no space left on device", "The disk is full"),
        ("dial tcp: lookup proxy: no such host", "set GOPROXY, or artifacts_go_proxy"),
        ("x: checksum mismatch", "differs from go.sum"),
        ("compile: signal: killed", "give the machine at least 4 GiB"),
        ("main.go:1: syntax error", "The lines above are the compiler's own"),
    ],
)
def test_a_failure_says_what_to_do(driver: Driver, output: str, remedy: str) -> None:
    done = driver.run(FAKE_FAIL=output)
    assert done.returncode != 0
    assert output in done.stderr
    assert remedy in done.stderr
    assert "Traceback" not in done.stderr


def test_progress_counts_packages(driver: Driver) -> None:
    driver.result()
    assert driver.progress.read_text() == "2/2 packages compiled (main)\n"


def test_versions_are_read_from_what_go_prints() -> None:
    assert gobuild.parse_go_version("go version go1.26.8 linux/amd64") == (1, 26, 8)
    assert gobuild.required_go("module x\n\ngo 1.24.0\n") == (1, 24, 0)
    assert gobuild.parse_go_version("") == ()


def test_go_keeps_everything_of_its_own_in_the_cache_and_counts_nothing(tmp_path: Path) -> None:
    environment = gobuild.go_environment(tmp_path, "")
    for name in ("GOCACHE", "GOMODCACHE", "GOPATH"):
        assert Path(environment[name]).is_relative_to(tmp_path), name
    assert environment["XDG_CONFIG_HOME"] == "/dev/null"
