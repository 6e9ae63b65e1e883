# SPDX-License-Identifier: Apache-2.0
"""What the playbooks install, reset and verify say where there is nothing to do for them, or not theirs to do."""

from __future__ import annotations

import json
import os
import subprocess
import typing as t
from pathlib import Path

import pytest

from tests.support import checkout_play

pytestmark = checkout_play.NEEDS_ANSIBLE


class Run(t.NamedTuple):
    rc: int
    text: str


@pytest.fixture
def play(tmp_path: Path) -> t.Callable[..., Run]:
    def run(playbook: str, *arguments: str, changes: str = "0", **variables: str) -> Run:
        folders = {"kubernetes_data_dir": str(tmp_path / "data"), "kubernetes_run_dir": str(tmp_path / "run")}
        extra = json.dumps({"ansible_connection": "local", **folders, **variables})
        done = checkout_play.run(
            tmp_path, f"- import_playbook: paddleflow.core.{playbook}", "-i", "localhost,", "-e", extra, *arguments
        )
        text = " ".join((done.stdout + done.stderr).split())
        assert f"changed={changes}" in text or "PLAY RECAP" not in text, text
        return Run(done.returncode, text)

    return run


@pytest.mark.parametrize(
    ("variable", "state"), [("cluster_state", "stopped"), ("kubernetes_state", "stopped"), ("k3s_state", "absent")]
)
def test_install_is_no_way_to_stop(play: t.Callable[..., Run], variable: str, state: str) -> None:
    done = play("install", **{variable: state})
    assert done.rc == 2, done.text
    assert f"{variable} is {state}, but this playbook installs" in done.text
    assert "run paddleflow.core.reset with cluster_state stopped or absent (make stop, make down)" in done.text


def test_reset_is_no_way_to_install(play: t.Callable[..., Run]) -> None:
    done = play("reset", cluster_state="present")
    assert done.rc == 2, done.text
    assert "cluster_state is present, but this playbook knows stopped and absent" in done.text


@pytest.mark.parametrize(("provider", "state"), [("auto", "absent"), ("embedded", "stopped"), ("existing", "absent")])
def test_reset_says_that_there_is_nothing_to_take_away(play: t.Callable[..., Run], provider: str, state: str) -> None:
    done = play("reset", cluster_provider=provider, cluster_state=state)
    assert done.rc == 0, done.text
    assert "Nothing to do: no earlier run made a cluster on localhost (there is no " in done.text
    assert "The provider is" not in done.text, "a sentence about what would be installed"


def test_reset_does_not_guess_what_an_empty_marker_said(play: t.Callable[..., Run], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/install.json").touch()
    done = play("reset")
    assert done.rc == 2, done.text
    assert "because the file is damaged (it is empty)" in done.text
    assert "Nothing was changed." in done.text
    assert (tmp_path / "data").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root mounts")
@pytest.mark.parametrize("place", ["", ".removed"], ids=["before it was configured", "while it was removed"])
def test_a_disk_on_which_a_killed_run_left_something_is_emptied_and_stays_mounted(
    play: t.Callable[..., Run], tmp_path: Path, place: str
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "of-the-test", data], check=True)
    try:
        left = data / place
        (left / "lib").mkdir(parents=True)
        (left / "install.json").write_text('{"provider": "embedded", "instance": "paddleflow"}\n')
        done = play("reset", cluster_provider="embedded", changes="1")
        assert done.rc == 0, done.text
        assert "was taken away from localhost" in done.text
        assert data.is_mount()
        assert list(data.iterdir()) == []
    finally:
        subprocess.run(["umount", data], check=True)


def test_verify_says_that_there_is_no_cluster(play: t.Callable[..., Run]) -> None:
    done = play("verify", cluster_provider="embedded")
    assert done.rc == 2, done.text
    assert "No earlier run made a cluster on localhost (there is no " in done.text


def test_a_provider_that_there_is_not_is_refused_by_the_name_that_users_type(play: t.Callable[..., Run]) -> None:
    done = play("install", cluster_provider="k8s")
    assert done.rc == 2, done.text
    assert "cluster_provider is 'k8s', but it must be one of existing, k3s, embedded and auto." in done.text
