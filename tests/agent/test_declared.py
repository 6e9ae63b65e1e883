# SPDX-License-Identifier: Apache-2.0
"""What is mounted where something is declared, and is no agent's that can be asked. tests/agent/test_role.py has the role do the rest."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from paddleflow_fuse.declared.agents import TroubleError
from paddleflow_fuse.declared.decide import Wanted
from paddleflow_fuse.declared.machine import Machine, Places
from paddleflow_fuse.declared.services import Runit

from tests.support.agent_command import Command

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
