# SPDX-License-Identifier: Apache-2.0
"""The images on a real node: present by their names, and what the product's pods need works in them."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
import zipfile
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

import pytest
from paddleflow_core.plan.node_images import LABEL

from tests.cluster.conftest import INSTANCE, LOGS, VARIABLES, Platform
from tests.support import plays
from tests.support.binaries import ROOT

# What each extra is for, by the names that the code imports.
EXTRAS = {
    "sources": ["boto3", "obstore"],
    "fuse": ["trio"],
    "pyfuse3": ["pyfuse3"],
    "csi": ["grpc"],
    "controllers": ["kopf"],
    "cli": ["jinja2"],
    "hdfs": ["hdfs_native"],
    "sftp": ["asyncssh"],
    "vault": ["hvac"],
    "kubernetes": ["kubernetes"],
    "openshift": ["openshift"],
}


def names(platform: Platform) -> dict[str, str]:
    """Image names on the node by the last part of their name."""
    (node,) = platform.get("nodes")["items"]
    full = [name for image in node["status"]["images"] for name in image["names"]]
    ours = [name for name in full if name.startswith("localhost/paddleflow/") and "@" not in name]
    return {name.rpartition("/")[2].partition(":")[0]: name for name in ours}


def run(platform: Platform, name: str, command: list[str]) -> str:
    """The output of a pod that ran a command in the image paddleflow and succeeded."""
    container = {
        "name": "main",
        "image": names(platform)["paddleflow"],
        "imagePullPolicy": "Never",
        "command": command,
        "securityContext": {"runAsNonRoot": True, "allowPrivilegeEscalation": False},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"restartPolicy": "Never", "automountServiceAccountToken": False, "containers": [container]},
    }
    platform.kubectl("create", "--filename=-", stdin=json.dumps(pod))
    try:
        ended = (
            "wait",
            f"pod/{name}",
            "--for=jsonpath={.status.containerStatuses[0].state.terminated}",
            "--timeout=120s",
        )
        platform.kubectl(*ended)
        log = platform.kubectl("logs", name)
        (main,) = platform.get("pod", name)["status"]["containerStatuses"]
        assert main["state"]["terminated"]["exitCode"] == 0, log
        return log
    finally:
        platform.kubectl("delete", "pod", name, "--wait=true", "--grace-period=1")


def wheel_metadata() -> Message:
    (wheel,) = (ROOT / "build/collection/stage/roles/artifacts/files").glob("paddleflow-*.whl")
    with zipfile.ZipFile(wheel) as file:
        (entry,) = [entry for entry in file.namelist() if entry.endswith(".dist-info/METADATA")]
        return HeaderParser().parsestr(file.read(entry).decode())


def test_the_node_has_each_image_by_its_full_name(platform: Platform) -> None:
    assert set(names(platform)) >= {"pause", "paddleflow", "volcano"}


def test_every_extra_of_the_wheel_is_known_here() -> None:
    assert set(wheel_metadata().get_all("Provides-Extra") or []) - {"all"} == set(EXTRAS)


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_python_imports_what_an_extra_brings(platform: Platform, extra: str) -> None:
    code = f"import {', '.join(EXTRAS[extra])}, paddleflow_core; print('imported')"
    assert run(platform, f"extra-{extra}", ["python3", "-W", "error::ImportWarning", "-c", code]).strip() == "imported"


def test_it_has_what_scripts_need_and_nothing_of_its_making(platform: Platform) -> None:
    script = (
        "id -u; fusermount3 --version >/dev/null && test -s /etc/ssl/certs/ca-certificates.crt && ls / >/dev/null && echo tools; "
        "for tool in pip pip3 gcc apt-get perl; do command -v $tool; done; "
        "find / -xdev -name pip -o -xdev -name '.cache' -o -xdev -path '/var/lib/apt/lists/*' 2>/dev/null; "
        "find / -xdev -perm -4000 -type f 2>/dev/null; true"
    )
    assert run(platform, "image-content", ["sh", "-c", script]).splitlines() == [
        "65532",
        "tools",
        "/usr/bin/fusermount3",
    ]


def test_the_packages_are_those_of_the_lock(platform: Platform) -> None:
    code = (
        "import importlib.metadata as m, json;"
        "print(json.dumps({d.metadata['Name'].lower().replace('_', '-'): d.version for d in m.distributions()}))"
    )
    found: dict[str, str] = json.loads(run(platform, "image-packages", ["python3", "-c", code]))
    lock = [
        line.split()[0] for line in Path(ROOT, "locks/image.txt").read_text().splitlines() if "==" in line.split("#")[0]
    ]
    expected = dict(line.split("==") for line in lock)
    assert found.pop("paddleflow") == wheel_metadata()["Version"]
    assert {name.replace(".", "-"): version for name, version in found.items()} == expected


LOAD = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Find the node
      ansible.builtin.include_role:
        name: paddleflow.core.kubernetes
        tasks_from: client

    - name: Bring it this release's images
      ansible.builtin.include_role:
        name: paddleflow.core.images
        tasks_from: load
"""


def archive(folder: Path, ref: str) -> Path:
    """An image of one empty layer."""
    layer, packed = io.BytesIO(), folder / "old.tar"
    tarfile.open(fileobj=layer, mode="w").close()
    digest = hashlib.sha256(layer.getvalue()).hexdigest()
    config = {
        "architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }  # fmt: skip
    files = {
        "layer.tar": layer.getvalue(),
        "config.json": json.dumps(config).encode(),
        "manifest.json": json.dumps([{"Config": "config.json", "RepoTags": [ref], "Layers": ["layer.tar"]}]).encode(),
    }
    with tarfile.open(packed, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed


def test_an_image_goes_with_the_second_release_after_it_when_nothing_runs_it(
    platform: Platform, tmp_path: Path
) -> None:
    old, theirs = "localhost/paddleflow/volcano:of-an-earlier-release", "localhost/somebody/else:1"
    ctr = ["ctr", "--address", f"/run/{INSTANCE}/containerd.sock", "--namespace", "k8s.io", "images"]

    def listed() -> set[str]:
        return set(subprocess.run([*ctr, "list", "--quiet"], check=True, capture_output=True, text=True).stdout.split())

    before = listed()
    subprocess.run([*ctr, "import", archive(tmp_path, old)], check=True, capture_output=True)
    subprocess.run([*ctr, "tag", names(platform)["pause"], theirs], check=True, capture_output=True)
    try:
        assert listed() >= {old, theirs}
        (tmp_path / "load.yml").write_text(LOAD)
        play = plays.run(
            str(tmp_path / "load.yml"), VARIABLES, log=LOGS / "cluster-images.log", **plays.IN_PROCESS
        ).ok()
        assert play.changed_tasks() == []
        assert listed() >= {old, theirs}
        subprocess.run([*ctr, "label", old, f"{LABEL}=another-release"], check=True, capture_output=True)
        play = plays.run(
            str(tmp_path / "load.yml"), VARIABLES, log=LOGS / "cluster-images.log", **plays.IN_PROCESS
        ).ok()
        assert play.changed_tasks() == ["paddleflow.core.images : Remove images of earlier releases that nothing runs"]
        assert listed() - {theirs} == before
        assert theirs in listed()
    finally:
        subprocess.run([*ctr, "remove", "--sync", theirs], check=True, capture_output=True)


CLUSTER = """
- hosts: localhost
  gather_facts: false
  roles:
    - role: paddleflow.core.kubernetes
"""


def test_the_image_that_holds_a_pod_together_is_there_before_containerd_asks_for_it(
    platform: Platform, tmp_path: Path
) -> None:
    pause = names(platform)["pause"]
    ctr = ["ctr", "--address", f"/run/{INSTANCE}/containerd.sock", "--namespace", "k8s.io", "images"]
    subprocess.run([*ctr, "remove", "--sync", pause], check=True, capture_output=True)
    (tmp_path / "cluster.yml").write_text(CLUSTER)
    play = plays.run(
        str(tmp_path / "cluster.yml"), VARIABLES, log=LOGS / "cluster-sandbox.log", **plays.IN_PROCESS
    ).ok()
    assert play.changed_tasks() == ["paddleflow.core.images : Import the image pause"]
    listed = subprocess.run([*ctr, "list", f"name=={pause}"], check=True, capture_output=True, text=True).stdout
    assert "io.cri-containerd.pinned=pinned" in listed
