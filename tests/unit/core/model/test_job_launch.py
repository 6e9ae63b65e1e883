# SPDX-License-Identifier: Apache-2.0
"""The lines of shell that a job's command runs in, in real shells; as process 1 where the test may make one."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.model.jobs import shell

SHELLS = [name for name in ("dash", "bash", "busybox") if shutil.which(name)]


def kubelet(words: Sequence[str]) -> list[str]:
    """What the kubelet hands to the container: two dollars are one, a reference to an unknown variable is itself."""
    return [word.replace("$$", "$") for word in words]


def command(name: str, text: str, retries: int = 0, seconds: int = 5) -> list[str]:
    first, *rest = kubelet(shell.launch(text, retries, seconds))
    assert first == "sh"
    return [name, "sh", *rest] if name == "busybox" else [name, *rest]


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize(
    ("text", "retries", "code", "starts"),
    [
        ("echo start", 0, 0, 1),
        ("echo start; exit 3", 0, 3, 1),
        ("echo start; exit 3", 1, 3, 2),  # the limit counts failures of the command
        ("echo start; [ -e again ] && exit 0; touch again; exit 7", 9, 0, 2),
        ("echo start; kill -TERM $$", 0, 1, 1),  # not stopped by anybody else: a failure
    ],
)
def test_it_ends_as_its_command_does(
    name: str, text: str, retries: int, code: int, starts: int, tmp_path: Path
) -> None:
    done = subprocess.run(command(name, text, retries), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("start\n")) == (code, starts), done.stderr
    assert done.stderr.count("started again") == starts - 1


STOPPED = [
    ("echo up; sleep 100", 0.0, "up\n"),
    ("sh -c 'echo up; sleep 100'; echo not reached", 0.0, "up\n"),
    ("trap 'sleep 0.3; echo saved; exit 0' TERM; echo up; sleep 100 & wait", 0.3, "up\nsaved\n"),  # it may say goodbye
    ("trap '' TERM; echo up; while :; do sleep 0.1; done", 1.0, "up\n"),  # it does not listen
]
CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc"]


def test_a_pod_that_is_told_to_stop_ends_neither_well_nor_badly() -> None:
    """Side by side, since each takes its time."""
    cases: list[tuple[str, str, float, str, list[str]]] = [(name, *case, []) for name in SHELLS for case in STOPPED]
    if os.geteuid() == 0:  # nobody else may make a first process
        cases += [(name, *case, CONTAINER) for name in SHELLS for case in STOPPED]
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        assert list(pool.map(lambda case: stopped(*case), cases)) == [""] * len(cases)


def stopped(name: str, text: str, least: float, output: str, container: list[str]) -> str:
    """What is wrong with the end of a command that is stopped once it runs."""
    words = [*container, *command(name, text, 5, 1)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        read = process.stdout.readline()
        time.sleep(0.2)  # the command runs, but the shell may not wait for it yet
        target = process.pid
        if container:
            target = int(Path(f"/proc/{target}/task/{target}/children").read_text().split()[0])
        began = time.monotonic()
        try:
            os.kill(target, signal.SIGTERM)
            code = process.wait(30)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        took = time.monotonic() - began
        read += process.stdout.read()
    good = code == shell.STOPPED and read == output and took >= least
    return "" if good else f"{name} {container} {text}: {code} after {took:.1f} s, {read!r}"


@pytest.mark.parametrize(
    ("declared", "plain"),
    [
        ("python train.py", "python train.py"),
        ("sh -c 'python train.py'", "python train.py"),
        ('bash -c "cd x && ./run"', "cd x && ./run"),
        ("/bin/sh -c ls -l", "ls -l"),
        ("bash -c 'a' && b", "'a' && b"),
        ("sh -c \"it's", "\"it's"),
        ("shred -c x", "shred -c x"),
        ("", ""),
    ],
)
def test_a_shell_in_front_of_a_command_is_taken_away(declared: str, plain: str) -> None:
    assert shell.plain(declared) == plain


def test_the_command_runs_in_its_directory_with_its_arguments() -> None:
    composed = shell.compose("/home/a b", "export X=1\n", "bash -c 'run \"$X\"'", ["--name", "it's $5"])
    assert composed == """cd '/home/a b'; export X=1\nrun "$X" --name 'it'"'"'s $5'"""
    assert shell.compose("", "", "run", ()) == "run"


@given(st.text(st.sampled_from("$(){}a 'X"), max_size=30))
def test_the_kubelet_changes_nothing_of_a_text(text: str) -> None:
    """By its own algorithm, with no variable known."""
    found, rest = "", shell.literal(text)
    while rest:
        if rest.startswith("$$"):
            found, rest = found + "$", rest[2:]
        elif rest.startswith("$(") and ")" in rest:
            end = rest.index(")") + 1
            found, rest = found + rest[:end], rest[end:]
        else:
            found, rest = found + rest[0], rest[1:]
    assert found == text
