# SPDX-License-Identifier: Apache-2.0
"""The role fuse_agent on this machine, as a user runs it from the built collection: real mounts, a real bucket, a real runit.

Where systemd is the first process its unit does what runit does here; tests/unit/roles/fuse_agent reads the unit.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from paddleflow_fuse.sources.s3.options import Options

from tests.support import agent_role
from tests.support.agent_client import content
from tests.support.agent_mounts import Client, until
from tests.support.agent_role import Machine
from tests.support.minio import KEYS, Minio, minio
from tests.support.ports import held_port
from tests.support.prometheus import read
from tests.support.relay import Relay

pytestmark = pytest.mark.extended  # plays that install and upgrade take minutes

SECRETS = {"accessKey": KEYS.key, "secretKey": KEYS.secret}
SIZE = 100_000
NOBODY = ("127.0.0.1", 1)  # listens there
BRING = "paddleflow.core.fuse_agent : Bring what is there to what is declared (up)"
WOULD = "paddleflow.core.fuse_agent : Say what would be mounted"


@pytest.fixture(scope="session")
def collections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return agent_role.installed(tmp_path_factory.mktemp("collection"))


@pytest.fixture(scope="session")
def shared(collections: Path) -> Iterator[Machine]:
    """With an agent; each test declares file systems of its own."""
    with agent_role.machine(collections) as one:
        one.play().ok()
        yield one


@pytest.fixture
def fresh(collections: Path) -> Iterator[Machine]:
    with agent_role.machine(collections) as one:
        yield one


@pytest.fixture
def machine(shared: Machine) -> Iterator[Machine]:
    shared.declared = []
    yield shared
    if shared.declared:
        names = [{"name": one["name"], "state": "absent"} for one in shared.declared]
        shared.play(fuse_agent_mounts=names, fuse_agent_force=True).ok()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    for place in range(4):
        (folder / f"file{place}").write_bytes(content(f"file{place}", SIZE))
    return folder


def bucket_of(machine: Machine, name: str, bucket: Options, endpoint: str, **more: Any) -> dict[str, Any]:
    properties = {"endpoint": endpoint, "region": "us-east-1", "s3ForcePathStyle": True}
    return machine.mount(name, f"s3://{bucket.bucket}", properties=properties, secrets=SECRETS, **more)


def planted(server: Minio, bucket: Options) -> None:
    for place in range(4):
        server.client.put_object(Bucket=bucket.bucket, Key=f"file{place}", Body=content(f"file{place}", SIZE))


def stored(server: Minio, bucket: Options, key: str) -> bytes:
    """Nothing of what is not there."""
    found = server.client.list_objects_v2(Bucket=bucket.bucket, Prefix=key)
    return bytes(server.client.get_object(Bucket=bucket.bucket, Key=key)["Body"].read()) if found["KeyCount"] else b""


def told_by(exporter: str) -> set[str] | None:
    """The mounts that it knows; nothing of one that is not there."""
    try:
        with urllib.request.urlopen(f"http://{exporter}/metrics", timeout=10) as answer:
            found = read(answer.read().decode())
    except urllib.error.URLError:
        return None
    return {dict(labels)["mp"] for name, labels in found.values if name == "pfs_up"}


def address(server: Minio) -> tuple[str, int]:
    parts = urlsplit(server.url)
    assert parts.hostname
    assert parts.port
    return parts.hostname, parts.port


def test_from_a_bare_machine_to_a_bare_machine(fresh: Machine, source: Path, tmp_path: Path) -> None:
    """Nothing is unmounted while the store is away and somebody's data is nowhere else."""
    data = tmp_path / "minio"
    data.mkdir()
    before = fresh.files()
    with ExitStack() as stack:
        with minio(data) as server:
            bucket = server.bucket()
            planted(server, bucket)
            relay = Relay(address(server))
            stack.callback(relay.close)
            local = fresh.mount("local", f"local:/{source}")
            fresh.declared = [local, bucket_of(fresh, "corpus", bucket, f"http://127.0.0.1:{relay.port}")]
            exporter = f"127.0.0.1:{stack.enter_context(held_port())}"
            fresh.variables |= {"fuse_agent_exporter": True, "fuse_agent_exporter_listen": exporter}

            checked = fresh.play("--check", "--diff").ok()
            assert fresh.files() == before
            assert "would mount corpus on" in checked.output
            assert f"would start the exporter at {exporter}" in checked.output

            first = fresh.play("--diff", "-vvv").ok()
            # What is mounted on a bare machine is said by a task of its own, since nothing is there that could be asked.
            assert [WOULD if task == BRING else task for task in dict.fromkeys(first.changed_tasks())] == list(
                dict.fromkeys(checked.changed_tasks())
            )
            for play in (checked, first):
                assert KEYS.secret not in play.output
            for name in ("local", "corpus"):
                assert (fresh.point(name) / "file1").read_bytes() == content("file1", SIZE)
            secrets = fresh.folder / "etc/paddleflow/fuse/secrets"
            assert secrets.stat().st_mode & 0o777 == 0o700
            assert (secrets / "corpus.json").stat().st_mode & 0o777 == 0o600
            assert json.loads((secrets / "corpus.json").read_text()) == SECRETS
            shown = "".join(
                path.read_text()
                for path in (fresh.folder / "etc").rglob("*")
                if path.is_file() and secrets not in path.parents
            )
            assert KEYS.secret not in shown
            assert KEYS.secret not in fresh.log("corpus")
            assert "user_allow_other" in (fresh.folder / "etc/fuse.conf").read_text().splitlines()
            limits = Path(f"/proc/{fresh.status('local')['worker_pid']}/limits").read_text()
            assert str(agent_role.FILES) in next(
                line for line in limits.splitlines() if line.startswith("Max open files")
            )

            for arguments in ([], ["--check", "--diff"]):
                assert fresh.play(*arguments).ok().changed_tasks() == []
            assert len(fresh.mounted()) == 2
            assert told_by(exporter) == {str(fresh.point(name)) for name in ("local", "corpus")}
            writer = stack.enter_context((fresh.point("corpus") / "new").open("wb", buffering=0))

        # The store is gone.
        relay.cut()
        writer.write(b"nobody else has it")
        for arguments in (["--check"], []):
            refused = fresh.play(*arguments, fuse_agent_state="absent", fuse_agent_patience=3)
            assert refused.code == 2
            assert "holds 1 file that its store does not take and that nobody else has: new." in refused.output
            assert len(fresh.mounted()) == 2

        with minio(data) as server:
            relay.target = address(server)
            busy = fresh.play(fuse_agent_state="absent")
            assert busy.code == 2
            assert f"{fresh.point('corpus')} stays mounted, since it is used by {os.getpid()} " in busy.output
            writer.close()
            assert fresh.play(fuse_agent_state="absent").ok().changed_tasks() != []
            assert stored(server, bucket, "new") == b"nobody else has it"
    assert fresh.mounted() == []
    assert fresh.processes() == []
    assert fresh.files() == before
    assert fresh.play(fuse_agent_state="absent").ok().changed_tasks() == []


def test_an_exporter_is_moved_and_taken_away_and_mount_knows_the_type(machine: Machine, source: Path) -> None:
    machine.declared = [machine.mount("still", f"local:/{source}")]
    with held_port() as one, held_port() as other:
        first, second = (f"127.0.0.1:{port}" for port in (one, other))
        for address in (first, second):
            wanted = {"fuse_agent_exporter": True, "fuse_agent_exporter_listen": address}
            checked = machine.play("--check", **wanted).ok()
            assert checked.changed_tasks() == machine.play(**wanted).ok().changed_tasks()
            assert told_by(address) == {str(machine.point("still"))}
        assert told_by(first) is None
        assert "would stop the exporter" in machine.play("--check").ok().output
        machine.play().ok()
        assert told_by(second) is None
    assert "give an address with its port" in machine.play(**{**wanted, "fuse_agent_exporter_listen": "8993"}).output

    helper, point = machine.folder / "sbin/mount.paddleflow", machine.folder / "by-hand"
    point.mkdir()
    options = f"rw,data-cache-path={machine.folder}/cache/by-hand,free-space-ratio=0.1"
    subprocess.run([helper, f"local:/{source}", point, "-o", options], check=True)
    assert (point / "file1").read_bytes() == content("file1", SIZE)
    machine.command("umount", str(point)).check_returncode()
    assert "the worker serves" in (machine.folder / "log/fuse/mount.log").read_text()
    point.rmdir()

    without = {"fuse_agent_mount_helper": False}
    assert machine.play("--check", **without).ok().changed_tasks() == machine.play(**without).ok().changed_tasks()
    assert not helper.exists()
    helper.write_text("another's")
    refused = machine.play()
    assert refused.code == 2
    assert f"{helper} on localhost is not the link of this role" in refused.output
    assert machine.play(**without).ok().changed_tasks() == []
    assert helper.read_text() == "another's"
    helper.unlink()


def test_pyfuse3_is_compiled_where_it_is_asked_for(fresh: Machine, source: Path) -> None:
    before = fresh.files()
    fresh.declared = [fresh.mount("still", f"local:/{source}", {"session": "pyfuse3"})]
    fresh.variables |= {"fuse_agent_pyfuse3": True}
    checked = fresh.play("--check").ok()
    first = fresh.play().ok()
    assert [WOULD if task == BRING else task for task in first.changed_tasks()] == checked.changed_tasks()
    assert fresh.status("still")["mount"]["session"] == "pyfuse3"
    assert (fresh.point("still") / "file1").read_bytes() == content("file1", SIZE)
    assert fresh.play().ok().changed_tasks() == []
    fresh.play(fuse_agent_state="absent").ok()
    assert fresh.files() == before


def test_only_what_was_changed_is_mounted_anew(machine: Machine, source: Path, server: Minio, bucket: Options) -> None:
    planted(server, bucket)
    still, corpus = machine.mount("still", f"local:/{source}"), bucket_of(machine, "corpus", bucket, server.url)
    other = {
        **machine.mount("other", f"local:/{source}"),
        "options": {**still["options"], "data-cache-path": str(machine.folder / "cache/2")},
    }
    machine.declared = [still, other, corpus]
    machine.play().ok()
    before = {name: machine.mount_and_agent(name) for name in ("still", "other", "corpus")}
    assert (machine.point("corpus") / "file0").read_bytes() == content("file0", SIZE)

    # Other keys, which are wrong: the run says so, and all goes on as it is.
    other["options"]["attr-timeout"] = 7
    still["options"]["deadline"] = 100  # which changes under a mount, and nothing else does
    corpus["secrets"] = {**SECRETS, "secretKey": "rotated-too-far"}
    kept = machine.folder / "etc/paddleflow/fuse/secrets/corpus.json"
    for arguments in (["--check"], ["-vvv"]):
        refused = machine.play(*arguments)
        assert refused.code == 2
        for part in (f"corpus on {machine.point('corpus')}: s3://", "refuses the secrets", "Correct secrets of corpus"):
            assert part in refused.output
        assert "rotated-too-far" not in refused.output
        assert json.loads(kept.read_text()) == SECRETS
    assert {name: machine.mount_and_agent(name) for name in before} == before
    assert (machine.point("corpus") / "file1").read_bytes() == content("file1", SIZE)
    corpus["secrets"] = SECRETS
    served = machine.status("still")["worker_pid"]
    checked = machine.play("--check").ok()
    done = machine.play().ok()
    assert checked.changed_tasks() == done.changed_tasks()
    assert machine.mount_and_agent("still") == before["still"]
    assert machine.status("still")["worker_pid"] != served
    assert machine.mount_and_agent("corpus") == before["corpus"]
    assert machine.mount_and_agent("other") != before["other"]
    assert len(list((machine.folder / "cache/2").glob("*/*"))) == 1, "the cache of other options stays"
    other["state"] = "unmounted"
    machine.play().ok()
    assert machine.mount_and_agent("corpus") == before["corpus"]
    assert (machine.point("corpus") / "file1").read_bytes() == content("file1", SIZE)
    assert str(machine.point("other")) not in machine.mounted()

    machine.play(fuse_agent_mounts=[{"name": "other", "state": "absent"}]).ok()
    assert not machine.point("other").exists()
    assert not (machine.folder / "cache/2").exists()
    assert machine.mount_and_agent("still") == before["still"]


def test_another_release_is_taken_into_use_under_readers(machine: Machine, source: Path, tmp_path: Path) -> None:
    machine.declared = [machine.mount("still", f"local:/{source}")]
    machine.play().ok()
    before, mount_id = machine.status("still"), machine.mount_and_agent("still")
    reader = Client("read", *(str(machine.point("still") / f"file{place}") for place in range(4)))
    try:
        reader.line()
        wheel = {"fuse_agent_wheel": str(agent_role.other_wheel(tmp_path))}
        assert f"would move {machine.point('still')}" in machine.play("--check", **wheel).ok().output
        machine.play(**wheel).ok()
        said = reader.last()
    finally:
        reader.close()
    assert said["errors"] == []
    assert said["reads"] > 0
    after = machine.status("still")
    assert machine.mount_and_agent("still") == mount_id
    assert after["pid"] == before["pid"]
    assert after["worker_pid"] != before["worker_pid"]
    assert {after["program"], after["worker"]["program"]} == {str((machine.folder / "opt/fuse/current").resolve())}
    assert after["program"] != before["program"]
    assert len(list((machine.folder / "opt/fuse/releases").iterdir())) == 1
    assert machine.play(**wheel).ok().changed_tasks() == []


def test_what_cannot_be_mounted_says_why_and_holds_up_no_other(machine: Machine, source: Path, tmp_path: Path) -> None:
    later = tmp_path / "later"
    machine.declared = [machine.mount("later", f"local:/{later}"), machine.mount("still", f"local:/{source}")]
    failed = machine.play()
    assert failed.code == 2
    assert f"later is not mounted on {machine.point('later')}" in failed.output
    (fatal,) = (line for line in machine.says(failed).splitlines() if line.startswith("fatal:"))
    assert fatal.count(str(later)) == 1  # Ansible itself says it above that too
    until(lambda: not machine.point("later").exists(), "what was made for it to go")
    assert machine.mounted() == [str(machine.point("still"))]
    # It is tried again, and so it comes when its place does.
    later.mkdir()
    until(lambda: machine.serving("later"), "what was tried again")
    assert machine.play().ok().changed_tasks() == []

    # Who serves it is killed, and it comes back.
    before = machine.serving("still")
    os.kill(before, signal.SIGKILL)
    until(lambda: machine.serving("still") not in (0, before), "another supervisor")
    assert (machine.point("still") / "file1").read_bytes() == content("file1", SIZE)

    # Somebody who knows nothing of the role unmounts it, and it stays so until the role is run.
    machine.command("umount", str(machine.point("still"))).check_returncode()
    assert str(machine.point("still")) not in machine.mounted()
    machine.play().ok()
    assert str(machine.point("still")) in machine.mounted()


def test_force_takes_it_from_who_uses_it_and_keeps_what_is_nowhere_else(
    machine: Machine, server: Minio, bucket: Options, tmp_path: Path
) -> None:
    relay = Relay(address(server))
    try:
        corpus = bucket_of(machine, "corpus", bucket, f"http://127.0.0.1:{relay.port}")
        corpus["options"]["grace"] = 1
        machine.declared = [corpus]
        machine.play().ok()
        writer = (machine.point("corpus") / "new").open("wb", buffering=0)
        relay.target = NOBODY
        relay.cut()
        writer.write(b"nobody else has it")
        gone = machine.play(fuse_agent_mounts=[{"name": "corpus", "state": "absent"}], fuse_agent_force=True).ok()
        with pytest.raises(OSError, match="endpoint"):
            writer.close()
        assert "1 file that nobody else has: new." in gone.output
        assert machine.mounted() == []
        (staged,) = (machine.folder / "cache/corpus").glob("*/*/staging/1")
        assert staged.read_bytes() == b"nobody else has it"

        # Mounted again it is stored. Its keys are somebody else's business now.
        relay.target = address(server)
        keys = tmp_path / "keys.json"
        keys.touch(mode=0o644)
        keys.write_text(json.dumps(corpus.pop("secrets")))
        corpus["secrets_file"] = str(keys)
        assert f"others may read them: {keys}" in machine.play().output
        keys.chmod(0o600)
        machine.play().ok()
        until(lambda: stored(server, bucket, "new") == b"nobody else has it", "what was kept to be stored")
        assert not (machine.folder / "etc/paddleflow/fuse/secrets/corpus.json").exists()
    finally:
        relay.close()


def test_all_that_is_wrong_is_told_before_anything_is_changed(machine: Machine) -> None:
    before = machine.files()
    wrong = {
        "name": "first",
        "url": "s3://bucket",
        "mount_point": "relative",
        "options": {"blok-size": 1},
        "secrets": {"secretKey": "hush-hush"},
    }
    done = machine.play(
        "-vvv", fuse_agent_mounts=[wrong, {"name": "second", "url": "ftp://x"}, {"name": "Third", "state": "absent"}]
    )
    assert done.code == 2
    for part in ("first: mount_point is 'relative'", "second: mount_point is missing", "Third: name is 'Third'"):
        assert part in done.output
    assert "hush-hush" not in done.output
    assert machine.files() == before
    done = machine.play(fuse_agent_image="registry.example.org/paddleflow:1")
    assert done.code == 2
    assert "this role installs the agent from its wheel" in done.output
    assert machine.files() == before


def test_parameters_of_the_kernel_are_set_and_set_back(machine: Machine) -> None:
    path = Path("/sys/module/fuse/parameters/max_user_bgreq")
    before = path.read_text().strip()
    wanted = str(int(before) + 1)
    try:
        machine.play(fuse_agent_parameters={"max_user_bgreq": int(wanted)}).ok()
        assert path.read_text().strip() == wanted
        assert (
            (machine.folder / "etc/modprobe.d/paddleflow-fuse.conf")
            .read_text()
            .endswith(f"options fuse max_user_bgreq={wanted}\n")
        )
        assert f"fuse.max_user_bgreq to {before}" in machine.play("--check").ok().output
        machine.play().ok()
        assert path.read_text().strip() == before
        assert not (machine.folder / "etc/modprobe.d/paddleflow-fuse.conf").exists()
    finally:
        path.write_text(before)
