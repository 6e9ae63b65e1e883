# SPDX-License-Identifier: Apache-2.0
"""Folders of a cluster on which somebody has mounted a disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from paddleflow_node import __main__ as tool
from paddleflow_node import cgroups, leftovers, mounts, network, services
from paddleflow_node.host import Config, Host

DISKS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 254:16 / {data} rw,relatime - ext4 /dev/vdb rw
24 22 0:44 / {run} rw,relatime - tmpfs tmpfs rw
"""


@pytest.fixture
def disks(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Somebody's disks are mounted for the cluster's data and its sockets; nothing of it runs."""
    mountinfo = tmp_path / "mountinfo"
    mountinfo.write_text(DISKS.format(data=config.data_dir, run=config.run_dir))
    monkeypatch.setattr(mounts, "MOUNTINFO", mountinfo)
    for part in (cgroups, network, leftovers):
        monkeypatch.setattr(part, "down", lambda _config, _host: None)
    monkeypatch.setattr(services, "stop", lambda *_given: None)
    monkeypatch.setattr(cgroups, "end_pods", lambda _config, _host: None)
    for folder in ("lost+found", "etcd/member", "kubelet", "lib"):
        (config.data_dir / folder).mkdir(parents=True)
    (config.run_dir / "sockets").mkdir(parents=True)
    for file in (tool.MARKER, "node.json", "etcd/member/wal"):
        (config.data_dir / file).write_text("{}")
    return config


def test_a_disk_that_is_mounted_for_the_data_is_never_unmounted(disks: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Host, "run", staticmethod(lambda command: pytest.fail(f"ran {command}")))
    tool.stop(disks, Host())
    assert (disks.data_dir / "etcd/member/wal").exists()
    assert list(disks.run_dir.iterdir()) == []


def test_a_disk_that_is_mounted_for_the_data_is_emptied_and_stays(disks: Config) -> None:
    look = Host(check=True)
    tool.down(disks, look)
    assert f"nothing in {disks.data_dir}" in look.changes
    assert (disks.data_dir / tool.MARKER).exists()
    tool.down(disks, Host())
    assert [path.name for path in disks.data_dir.iterdir()] == ["lost+found"]
    assert not tool.trash(disks).exists()
    again = Host()
    tool.down(disks, again)
    assert again.changes == []


def test_a_removal_from_a_disk_that_is_killed_leaves_no_state_to_go_on_with_and_can_be_repeated(
    disks: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename
    moved: list[str] = []

    def killed(path: Path, target: Path) -> Path:
        moved.append(path.name)
        if len(moved) == 3:
            raise KeyboardInterrupt
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            tool.down(disks, Host())
    assert moved[:2] == ["etcd", "node.json"]
    assert {path.name for path in disks.data_dir.iterdir()} >= {tool.MARKER, "lib"}
    tool.down(disks, Host())
    assert [path.name for path in disks.data_dir.iterdir()] == ["lost+found"]
