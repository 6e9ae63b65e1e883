# SPDX-License-Identifier: Apache-2.0
"""The unit, the scripts and the options of the role fuse_agent. What they do is tried by tests/agent/test_role.py."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from paddleflow_core.plan.node_mounts import FIELDS, STATES, plan

from tests.support import checkout_play, guides
from tools import tree

ROLE = tree.ROOT / "roles/fuse_agent"
SPECIFICATION = yaml.safe_load((ROLE / "meta/argument_specs.yml").read_text(encoding="utf-8"))
UNIT = "paddleflow-fuse@.service"
EXPORTER = "paddleflow-fuse-exporter.service"
needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
# What gives a service mounts of its own, by systemd.exec(5): what it mounts would be seen by nobody else.
OWN_MOUNTS = (
    "ProtectSystem", "ProtectHome", "PrivateTmp", "PrivateDevices", "PrivateUsers", "ProtectKernelTunables", "ProtectKernelModules",
    "ProtectKernelLogs", "ProtectControlGroups", "ProtectProc", "ProcSubset", "ReadWritePaths", "ReadOnlyPaths", "InaccessiblePaths",
    "ExecPaths", "NoExecPaths", "BindPaths", "BindReadOnlyPaths", "TemporaryFileSystem", "RootDirectory", "RootImage", "DynamicUser",
    "StateDirectory", "MountFlags", "MountAPIVFS", "PrivateNetwork", "PrivateIPC",
)  # fmt: skip


def rendered(name: str, **changed: Any) -> str:
    jinja = Environment(
        loader=FileSystemLoader(ROLE / "templates"), undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True,
        autoescape=False,
    )  # fmt: skip
    jinja.filters["quote"] = shlex.quote
    known = {
        "fuse_agent_argv": ["/opt/paddleflow/fuse/current/bin/python", "-P", "-m"],
        "fuse_agent_config_dir": "/etc/paddleflow/fuse",
        "fuse_agent_run_dir": "/run/paddleflow/fuse",
        "fuse_agent_log_dir": "/var/log/paddleflow/fuse",
        "fuse_agent_command": "/usr/local/bin/paddleflow-fuse",
        "fuse_agent_exporter_argv": ["/opt/paddleflow/fuse/releases/a/bin/python", "-P", "exporter"],
        "fuse_agent_stop_seconds": 90,
        "fuse_agent_nofile": 1048576,
        "fuse_agent_look": {"systemd_version": 252},
        "fuse_agent_parameters_wanted": {"max_user_bgreq": "4096", "enable_uring": "Y"},
    }
    return jinja.get_template(name if name.endswith(".j2") else f"{name}.j2").render({**known, **changed})


def settings(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))


def test_the_unit_serves_a_mount_that_everybody_sees() -> None:
    found = settings(rendered(UNIT))
    assert {
        name: found[name]
        for name in ("Type", "NotifyAccess", "Restart", "KillMode", "OOMPolicy", "TimeoutStopSec", "LimitCORE")
    } == {
        "Type": "notify",
        "NotifyAccess": "main",
        "Restart": "on-failure",
        "KillMode": "mixed",
        "OOMPolicy": "continue",
        "TimeoutStopSec": "90",
        "LimitCORE": "0",
    }
    assert found["ExecStart"] == (
        "/opt/paddleflow/fuse/current/bin/python -P -m paddleflow_fuse.cli.__main__ --run /run/paddleflow/fuse run /etc/paddleflow/fuse/mounts/%i.json"
    )
    assert int(found["FileDescriptorStoreMax"]) >= 8
    assert found["PrivateMounts"] == "no"
    assert [name for name in OWN_MOUNTS if name in found] == []
    assert set(found["CapabilityBoundingSet"].split()) == {
        "CAP_SYS_ADMIN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_CHOWN", "CAP_FOWNER", "CAP_FSETID", "CAP_MKNOD", "CAP_SYS_PTRACE",
    }  # fmt: skip


def test_what_only_newer_systemd_knows_is_said_to_that_alone() -> None:
    assert "FileDescriptorStorePreserve" not in rendered(UNIT)
    newer = settings(rendered(UNIT, fuse_agent_look={"systemd_version": 254}))
    assert newer["FileDescriptorStorePreserve"] == "restart"


def test_the_exporter_is_root_with_nothing_that_root_may() -> None:
    """The agents' sockets are for their user alone."""
    found = settings(rendered(EXPORTER))
    assert found["ExecStart"] == "/opt/paddleflow/fuse/releases/a/bin/python -P exporter"
    assert (found["CapabilityBoundingSet"], found["NoNewPrivileges"], found["ProtectSystem"]) == ("", "yes", "strict")
    assert "User" not in found


@needs_systemd
def test_systemd_finds_the_exporter_well_guarded(tmp_path: Path) -> None:
    """Of ten, where less is better; what is left is that it is root and speaks with the network."""
    (tmp_path / EXPORTER).write_text(rendered(EXPORTER))
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=25", str(tmp_path / EXPORTER)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@needs_systemd
@pytest.mark.parametrize(("unit", "instance"), [(UNIT, "paddleflow-fuse@corpus.service"), (EXPORTER, EXPORTER)])
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path, unit: str, instance: str) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = rendered(unit, fuse_agent_argv=[str(program), "-P", "-m"], fuse_agent_exporter_argv=[str(program)])
    (tmp_path / unit).write_text(text)
    named = tmp_path / instance
    if instance != unit:
        named.symlink_to(unit)
        declared = {"name": "corpus", "url": "local://srv/a b", "mount_point": "/mnt/corpus"}
        ((place, needs),) = plan([declared], "/etc/paddleflow/fuse")["units"].items()
        beside = tmp_path / Path(place).relative_to("systemd/system")
        beside.parent.mkdir()
        beside.write_text(needs)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(named)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert [line for line in done.stderr.splitlines() if "paddleflow" in line] == []
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name",
    [
        "runit-run.j2",
        "runit-finish.j2",
        "runit-log-run.j2",
        "runit-exporter-run.j2",
        "paddleflow-fuse.j2",
        "mount.paddleflow.j2",
    ],
)
def test_scripts_are_scripts(name: str) -> None:
    text = rendered(name)
    assert text.startswith("#!/bin/sh\n# Written by paddleflow.core.fuse_agent.")
    subprocess.run(["sh", "-n"], input=text, text=True, check=True)


def test_parameters_hold_for_a_module_and_for_a_kernel_that_has_it_built_in() -> None:
    assert rendered("options.j2").splitlines()[1:] == ["options fuse enable_uring=Y max_user_bgreq=4096"]
    assert rendered("boot.j2").splitlines()[1:] == [
        "w- /sys/module/fuse/parameters/enable_uring - - - - Y",
        "w- /sys/module/fuse/parameters/max_user_bgreq - - - - 4096",
    ]
    assert rendered("load.j2").splitlines()[1:] == ["fuse"]


def test_the_model_and_the_specification_know_the_same_of_a_file_system() -> None:
    options = SPECIFICATION["argument_specs"]["main"]["options"]["fuse_agent_mounts"]["options"]
    assert set(options) == set(FIELDS)
    assert options["state"]["choices"] == STATES


def test_what_the_guide_declares_can_be_mounted() -> None:
    (inventory,) = [block for block in guides.blocks("docs/guides/fuse-agent.md") if "# inventory.yml" in block.text]
    declared = yaml.safe_load(inventory.text)["fuse_nodes"]["vars"]["fuse_agent_mounts"]
    found = plan(declared, "/etc/paddleflow/fuse")
    assert found["problems"] == []
    assert [one["name"] for one in found["mounts"]] == ["corpus", "results"]


def test_a_diff_leaves_out_the_checksums_of_packages() -> None:
    tasks = yaml.safe_load((ROLE / "tasks/install.yml").read_text(encoding="utf-8"))
    (brings,) = [task for task in tasks if "fuse_agent_lock_files" in str(task.get("loop", ""))]
    assert brings["diff"] is False


VALIDATE = """
- hosts: node
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: paddleflow.core.fuse_agent
        tasks_from: validate
      vars: {fuse_agent_mounts: [], fuse_agent_wheel: "{{ inventory_dir }}/agent.whl"}
    - ansible.builtin.assert:
        that: fuse_agent_wheel_found.stat.exists
"""


@checkout_play.NEEDS_ANSIBLE
def test_the_wheel_is_found_whatever_python_an_inventory_names_for_localhost(tmp_path: Path) -> None:
    (tmp_path / "agent.whl").touch()
    inventory = tmp_path / "hosts"
    inventory.write_text(
        "localhost ansible_connection=local ansible_python_interpreter=/missing/python3\n"
        "node ansible_python_interpreter='{{ ansible_playbook_python }}'\n"
    )
    done = checkout_play.run(tmp_path, VALIDATE, "-i", str(inventory))
    assert done.returncode == 0, done.stdout + done.stderr


LOCAL = """
- hosts: fuse_nodes
  gather_facts: false
  tasks:
    - ansible.builtin.setup: {gather_subset: ["!all", "!min", python]}
    - ansible.builtin.assert:
        that: ansible_facts.python.executable == ansible_playbook_python
"""


@checkout_play.NEEDS_ANSIBLE
def test_this_machine_is_reached_as_the_guide_says(tmp_path: Path) -> None:
    (shown,) = [block for block in guides.blocks("docs/guides/fuse-agent.md") if "# this-machine.yml" in block.text]
    inventory = tmp_path / "this-machine.yml"
    inventory.write_text(shown.text)
    done = checkout_play.run(tmp_path, LOCAL, "-i", str(inventory), ANSIBLE_PYTHON_INTERPRETER="/missing/python3")
    assert done.returncode == 0, done.stdout + done.stderr


def look(tmp_path: Path, *secrets: Path) -> dict[str, Any]:
    plan = {
        "config": str(tmp_path / "etc"), "base": str(tmp_path / "opt"), "python": sys.executable, "fuse_conf": str(tmp_path / "fuse.conf"),
        "secrets_files": [str(path) for path in secrets], "there": [str(tmp_path / "etc"), str(tmp_path / "nothing")],
        "helper": [str(tmp_path / "mount.paddleflow"), "/usr/local/bin/mount.paddleflow"],
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(ROLE / "files/fuse_look.py"), json.dumps(plan)], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_bare_machine_has_nothing(tmp_path: Path) -> None:
    found = look(tmp_path, tmp_path / "keys.json")
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    for name in ("mounts", "secrets", "releases", "unfinished", "there"):
        assert found[name] == [], name
    assert (found["current"], found["fuse_conf"], found["helper"]) == ("", False, "")
    assert found["foreign"] == [str(tmp_path / "keys.json")]


def test_what_an_earlier_run_left_is_seen(tmp_path: Path) -> None:
    for path in ("etc/mounts/corpus.json", "etc/secrets/corpus.json", "opt/releases/a/complete", "opt/releases/b/bin"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch(mode=0o600)
    (tmp_path / "opt/current").symlink_to("releases/a")
    found = look(tmp_path, tmp_path / "etc/secrets/corpus.json")
    assert (found["mounts"], found["secrets"]) == (["corpus"], ["corpus"])
    assert (found["releases"], found["unfinished"], found["current"]) == (["a"], ["b"], "a")
    assert found["there"] == [str(tmp_path / "etc")]
    (tmp_path / "etc/secrets/corpus.json").chmod(0o640)
    assert look(tmp_path, tmp_path / "etc/secrets/corpus.json")["foreign"] == [
        str(tmp_path / "etc/secrets/corpus.json")
    ]


def test_what_mount_calls_may_be_anothers(tmp_path: Path) -> None:
    path = tmp_path / "mount.paddleflow"
    for target, whose in (("/usr/local/bin/mount.paddleflow", "ours"), ("/usr/bin/mount.other", "foreign")):
        path.symlink_to(target)
        assert look(tmp_path)["helper"] == whose
        path.unlink()
    path.touch()
    assert look(tmp_path)["helper"] == "foreign"
