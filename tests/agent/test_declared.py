# SPDX-License-Identifier: Apache-2.0
"""What is mounted where something is declared, and is no agent's that can be asked. tests/agent/test_role.py has the role do the rest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from paddleflow_core.model.mount import digest
from paddleflow_fuse.declared.agents import TroubleError
from paddleflow_fuse.declared.decide import Wanted
from paddleflow_fuse.declared.machine import Machine, Places
from paddleflow_fuse.declared.services import Runit
from paddleflow_fuse.sources.s3.options import Options

from tests.support.agent_command import Command, command
from tests.support.granted import until
from tests.support.minio import KEYS

PATIENCE = 30.0


def machine(folder: Path) -> Machine:
    """Without anything but that its agents are asked elsewhere."""
    places = Places(folder / "etc", folder / "releases", folder / "run", folder / "cache")
    return Machine(places, Runit(folder, folder / "log"), PATIENCE, check=False, force=False)


def test_what_somebody_serves_from_elsewhere_is_not_taken_from_him(
    agent: Command, source: Path, tmp_path: Path
) -> None:
    agent.mount(f"local:/{source}")
    wanted = Wanted("corpus", "unmounted", str(agent.point), "")
    with pytest.raises(TroubleError, match="somebody runs it from elsewhere, or it is stuck"):
        machine(tmp_path / "machine").bring(wanted, None)
    (agent.point / "file").write_bytes(b"content")
    assert (source / "file").read_bytes() == b"content"


def test_what_nobody_serves_any_more_is_taken_away(agent: Command, source: Path, tmp_path: Path) -> None:
    """Also where its worker is about to end."""
    agent.mount(f"local:/{source}")
    os.kill(agent.status()["pid"], signal.SIGKILL)
    one = machine(tmp_path / "machine")
    one.bring(Wanted("corpus", "unmounted", str(agent.point), ""), None)
    assert one.did == [f"unmounted corpus from {agent.point}"]
    assert not agent.point.is_mount()


def test_what_may_change_does_under_who_uses_it(agent: Command, source: Path, tmp_path: Path) -> None:
    class Up(Runit):
        def is_up(self, _name: str) -> bool:
            return True

    (source / "file").write_bytes(b"content")
    file = tmp_path / "machine/etc/mounts/corpus.json"
    file.parent.mkdir(parents=True)
    places = Places(file.parents[1], tmp_path / "machine/releases", agent.run, agent.cache)
    one = Machine(places, Up(tmp_path, tmp_path / "log"), PATIENCE, check=False, force=False)

    def declare(**given: str) -> Wanted:
        options = {"data-cache-path": str(agent.cache), "free-space-ratio": "0.1", "memory-cache-size": "32Mi", **given}
        document = {"url": f"local:/{source}", "point": str(agent.point), "options": options, "secrets": None}
        file.write_text(json.dumps(document))
        return Wanted("corpus", "mounted", str(agent.point), digest(document))

    wanted = declare()
    with agent.begin("run", str(file)) as begun:
        until("it is served", lambda: any(found.label == wanted.label and found.serves for found in one.agents()[0]))
        before = agent.status()
        with (agent.point / "file").open("rb", buffering=0) as held:
            wanted = declare(**{"memory-cache-size": "64Mi", "log-level": "DEBUG"})
            ((there,), _silent) = one.agents()
            one.bring(wanted, there)
            assert held.read() == b"content"
        assert one.did == [f"changed the options of corpus on {agent.point}"]
        after = agent.status()
        assert (after["pid"], after["mount"]["device"]) == (before["pid"], before["mount"]["device"])
        assert after["worker_pid"] != before["worker_pid"]
        assert [said["worker"]["memory"]["budget"] >> 20 for said in (before, after)] == [32, 64]
        ((there,), _silent) = one.agents()
        one.bring(wanted, there)
        assert len(one.did) == 1
        assert len(list(agent.cache.glob("*/*"))) == 1
        agent("umount", str(agent.point))
        assert begun.wait(PATIENCE) == 0


@pytest.mark.parametrize("point", ["made", "there before", "left by one that was killed"])
def test_what_cannot_be_mounted_leaves_no_folder_that_looks_like_it(
    agent: Command, source: Path, tmp_path: Path, point: str
) -> None:
    file = tmp_path / "corpus.json"
    options = {"data-cache-path": str(agent.cache), "free-space-ratio": "0.1"}
    there = point == "there before"
    if not there:
        agent.point.rmdir()
    file.write_text(json.dumps({"url": f"local:/{source}/later", "point": str(agent.point), "options": options}))
    assert "No such file or directory" in agent("run", str(file), code=1).stderr
    assert agent.point.exists() == there

    (source / "later").mkdir()
    if point == "left by one that was killed":
        agent.point.mkdir(mode=0)
    words = [sys.executable, "-m", "paddleflow_fuse.cli.__main__", "--run", str(agent.run), "run", str(file)]
    with subprocess.Popen(words) as begun:
        until("it is served", lambda: agent.point.is_mount() and agent.status()["serves"])
        (agent.point / "file").write_bytes(b"content")
        agent("umount", str(agent.point))
        assert begun.wait(PATIENCE) == 0
    assert (source / "later/file").read_bytes() == b"content"
    assert agent.point.exists() == there


def test_who_cannot_mount_says_of_a_folder_that_was_there_that_it_is_an_ordinary_one(tmp_path: Path) -> None:
    class Failing(Runit):
        def start(self, _name: str) -> None: ...

        def has_failed(self, _name: str) -> bool:
            return True

    (tmp_path / "there").mkdir()
    one = Machine(
        Places(tmp_path / "etc", tmp_path / "releases", tmp_path / "run", tmp_path / "cache"),
        Failing(tmp_path, tmp_path / "log"), PATIENCE, check=False, force=False,
    )  # fmt: skip
    (tmp_path / "etc/mounts").mkdir(parents=True)
    for name in ("there", "made"):
        declared = {
            "url": "local://srv/data",
            "point": str(tmp_path / name),
            "options": {"data-cache-path": str(tmp_path / "cache")},
        }
        (tmp_path / f"etc/mounts/{name}.json").write_text(json.dumps(declared))
        with pytest.raises(TroubleError) as failed:
            one.bring(Wanted(name, "mounted", str(tmp_path / name), ""), None)
        assert ("That folder was there before" in str(failed.value)) == (name == "there")
    assert (tmp_path / "there").is_dir()
    assert not (tmp_path / "made").exists()


def test_new_keys_are_tried_before_a_mount_has_them(agent: Command, bucket: Options, tmp_path: Path) -> None:
    folder = tmp_path / "machine"
    config, keys = folder / "etc/paddleflow/fuse", {"accessKey": KEYS.key, "secretKey": KEYS.secret}
    given = {"data-cache-path": str(agent.cache), "endpoint": bucket.endpoint, "s3ForcePathStyle": True}
    url, secrets, file = f"s3://{bucket.bucket}", config / "secrets/corpus.json", config / "mounts/corpus.json"
    for path, said in (
        (secrets, keys),
        (file, {"url": url, "point": str(agent.point), "options": given, "secrets": str(secrets)}),
    ):
        path.parent.mkdir(parents=True)
        path.touch(mode=0o600)
        path.write_text(json.dumps(said))

    def problems(**changed: object) -> list[str]:
        one = {"name": "corpus", "url": url, "mount_point": str(agent.point), "options": given, "secrets": keys}
        said = brought(agent, folder, "try", {}, declared=[{**one, **changed}])
        found: list[str] = said["problems"]
        assert json.loads(secrets.read_text()) == keys
        return found

    wrong = {**keys, "secretKey": "planted-wrong"}
    assert problems(secrets=wrong) == []  # nothing is mounted that it could spoil
    words = [sys.executable, "-m", "paddleflow_fuse.cli.__main__", "--run", str(agent.run), "run", str(file)]
    with subprocess.Popen(words) as begun:
        until("it is served", lambda: agent.point.is_mount() and agent.status()["serves"])
        assert problems() == problems(properties={"persistAttributes": True}) == []
        (refused,) = problems(secrets=wrong)
        assert refused.startswith(f"corpus on {agent.point}: {url} refuses the secrets that are declared now (")
        assert refused.endswith("Correct secrets of corpus in fuse_agent_mounts, and run again.")
        assert "planted-wrong" not in refused
        agent("umount", str(agent.point))
        assert begun.wait(PATIENCE) == 0


def test_what_goes_leaves_nothing_for_systemd(tmp_path: Path) -> None:
    declared = {name: {"url": "local://srv/data", "point": "/nowhere", "options": {}} for name in ("one", "two")}
    for name, content in declared.items():
        for path in (
            f"etc/paddleflow/fuse/mounts/{name}.json",
            f"etc/systemd/system/paddleflow-fuse@{name}.service.d/places.conf",
        ):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(json.dumps(content))
    places = Places(tmp_path / "etc/paddleflow/fuse", tmp_path / "releases", tmp_path / "run", tmp_path / "cache")
    one = Machine(places, Runit(tmp_path, tmp_path / "log"), PATIENCE, check=False, force=False)
    one.bring(Wanted("one", "absent", "", ""), None)
    assert [path.name for path in (tmp_path / "etc/systemd/system").iterdir()] == ["paddleflow-fuse@two.service.d"]


def brought(agent: Command, folder: Path, verb: str, points: dict[str, Path], **more: Any) -> dict[str, Any]:
    """What the role's program says of it."""
    mounts = [{"name": name, "state": "unmounted", "point": str(point), "digest": ""} for name, point in points.items()]
    plan = {
        "check": False, "force": False, "supervisor": "runit", "patience": 3, "parameters": {}, "release": "1", "exporter": [], "mounts": mounts,
        "base": str(folder / "base"), "log": str(folder / "log"), "config": str(folder / "etc/paddleflow/fuse"), "run": str(agent.run),
        "removes": [], "empties": [],
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-P", "-m", "paddleflow_fuse.declared", verb], input=json.dumps({**plan, **more}), capture_output=True,
        text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_who_is_silent_holds_up_no_other_and_is_named_with_what_to_do(
    agent: Command, source: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    with command(tmp_path / "other") as other:
        other.run = agent.run
        for one in (agent, other):
            one.mount(f"local:/{source}")
        points = {"silent": agent.point, "speaking": other.point}
        process = agent.status()["pid"]
        os.kill(process, signal.SIGSTOP)
        try:
            said = brought(agent, tmp_path / "machine", "up", points)
            taken = brought(agent, tmp_path / "machine", "down", points, check=True)
        finally:
            os.kill(process, signal.SIGCONT)
        assert said["did"] == [f"unmounted speaking from {other.point}"]
        for answer in (said, taken):
            (problem,) = (problem for problem in answer["problems"] if str(agent.point) in problem)
            assert f"The agent of {agent.point} does not answer" in problem
            assert f"kill -CONT {process}, and run again" in problem
        assert taken["did"] == []
        assert agent.point.is_mount()
        assert brought(agent, tmp_path / "machine", "up", points)["problems"] == []
        assert not agent.point.is_mount()
