# SPDX-License-Identifier: Apache-2.0
"""The probe of roles/preflight runs for real on this host, under every Python that is here, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

PROBE = Path(__file__).parents[3] / "roles/preflight/files/probe.py"
KEYS = {"time", "sent", "python", "uid", "capabilities", "hostname", "machine", "system", "kernel", "architecture"}
KEYS |= {"os", "package_managers", "cpus", "memory", "paths", "marker", "cgroup", "addresses", "routes", "listeners"}
KEYS |= {"runs_from", "proxies", "features", "problems"}
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces are made by root only")


def _pythons() -> list[str]:
    """This Python and others of the machine that really start (a version manager's stand-ins may not)."""
    found = [sys.executable]
    for name in ("python3.6", "python3.9", "python3.13"):
        path = shutil.which(name)
        if path and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            found.append(path)
    return found


def probe(*arguments: str, python: str = sys.executable, env: dict[str, str] | None = None) -> dict[str, t.Any]:
    environment = {"PATH": os.environ["PATH"], **(env or {})}
    run = subprocess.run([python, PROBE, *arguments], capture_output=True, text=True, check=True, env=environment)
    assert run.stderr == ""
    facts = json.loads(run.stdout)
    assert isinstance(facts, dict)
    return facts


@pytest.mark.parametrize("python", _pythons())
def test_the_facts_have_their_shape(python: str, tmp_path: Path) -> None:
    arguments = ["--data", str(tmp_path / "data"), "--cache", "/", "--run", "/run/x", "--sent", "17.5"]
    facts = probe(*arguments, python=python)
    assert set(facts) == KEYS
    assert facts["problems"] == {}
    assert facts["sent"] == 17.5
    assert facts["hostname"] == socket.gethostname()
    assert facts["uid"] == os.geteuid()
    assert facts["memory"]["total"] > 0
    assert facts["cgroup"]["version"] in (0, 1, 2)
    assert {"interface": "lo", "address": "127.0.0.1", "prefix": 8} in facts["addresses"]
    place = facts["paths"]["data"]
    assert place["existing"] == str(tmp_path)
    assert place["real"] == str(tmp_path / "data")
    assert place["device"] == tmp_path.stat().st_dev
    assert place["free"] > 0
    assert place["fstype"]
    assert not (tmp_path / "data").exists()


@AS_ROOT
def test_what_the_kernel_can_do_is_tried_and_nothing_of_it_stays() -> None:
    def state() -> tuple[object, str]:
        return socket.if_nameindex(), Path("/proc/self/mountinfo").read_text()

    before = state()
    features = probe()["features"]
    assert state() == before
    assert {"netns", "mountns", "fuse"} <= set(features)
    if features["netns"] is None:
        tried = {"veth", "bridge", "vxlan", "nftables", "nftables_masq", "nftables_numgen", "nftables_fib"}
        assert tried <= set(features)


def test_a_marker_is_given_as_it_is_and_a_broken_one_as_a_problem(tmp_path: Path) -> None:
    marker = tmp_path / "install.json"
    assert probe("--without-trials", "--marker", str(marker))["marker"] is None
    marker.write_text('{"provider": "k3s", "state": "ready"}')
    facts = probe("--without-trials", "--marker", str(marker))
    assert facts["marker"] == {"provider": "k3s", "state": "ready"}
    assert facts["features"] is None
    marker.write_text("{")
    assert "problem" in probe("--without-trials", "--marker", str(marker))["marker"]


def test_a_run_folder_says_of_which_cluster_it_is(tmp_path: Path) -> None:
    assert probe("--without-trials", "--run", str(tmp_path))["runs_from"] is None
    (tmp_path / "data-dir").write_text("/var/lib/paddleflow")
    assert probe("--without-trials", "--run", str(tmp_path))["runs_from"] == "/var/lib/paddleflow"


def test_a_port_in_use_is_found_with_its_program() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        tcp, udp = server.getsockname()[1], other.getsockname()[1]
        found = {item["protocol"]: item for item in probe("--without-trials", "--ports", f"{tcp},{udp}")["listeners"]}
    assert found["tcp"]["port"] == tcp
    assert found["udp"]["port"] == udp
    assert f"(process {os.getpid()})" in found["tcp"]["process"]
    assert probe("--without-trials", "--ports", str(tcp))["listeners"] == []


def test_proxies_are_shown_without_passwords() -> None:
    env = {"https_proxy": "http://ann:s3cret@proxy:3128", "NO_PROXY": "localhost"}
    assert probe("--without-trials", env=env)["proxies"] == {
        "https_proxy": "http://***@proxy:3128",
        "NO_PROXY": "localhost",
    }
