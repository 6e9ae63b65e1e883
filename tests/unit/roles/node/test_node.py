# SPDX-License-Identifier: Apache-2.0
"""The pure parts of the node's tool; what it does to a host is tested on a real one (tests/cluster)."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from paddleflow_node import __main__ as tool
from paddleflow_node import cgroups, leftovers, mounts, network, pki, services
from paddleflow_node.host import Config, Host, NodeError, Service

from tests.support.node_config import RAW


@pytest.mark.parametrize("folder", ["/", "/var", "var/lib/pf", "/var/lib/../.."])
def test_a_folder_that_would_take_the_system_with_it_is_refused(folder: str, tmp_path: Path) -> None:
    path = tmp_path / "node.json"
    path.write_text(json.dumps({**RAW, "data_dir": folder}))
    with pytest.raises(NodeError, match="cannot be a cluster's folder"):
        tool.load(str(path))


MOUNTINFO = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 254:0 /d /var/lib/pf/kubelet rw shared:7 - ext4 /dev/vda rw
31 30 0:40 / /var/lib/pf/kubelet/pods/a\\040b rw shared:8 master:2 - tmpfs tmpfs rw
32 22 0:41 / /var/lib/pfx rw - tmpfs tmpfs rw
"""


def test_mounts_are_read_as_the_kernel_writes_them() -> None:
    parsed = mounts.parse(MOUNTINFO)
    assert parsed[0] == mounts.Mount("/", shared=False)
    assert parsed[2] == mounts.Mount("/var/lib/pf/kubelet/pods/a b", shared=True)


def test_mounts_go_the_last_first_and_never_those_of_a_neighbour() -> None:
    found = mounts.below(mounts.parse(MOUNTINFO), [Path("/var/lib/pf")])
    assert found == ["/var/lib/pf/kubelet/pods/a b", "/var/lib/pf/kubelet"]


def test_mounts_below_a_folder_behind_a_link_are_found(tmp_path: Path) -> None:
    (tmp_path / "disk/pf").mkdir(parents=True)
    (tmp_path / "lib").symlink_to(tmp_path / "disk")
    mounted = [mounts.Mount(f"{tmp_path}/disk/pf/kubelet/pods/a", shared=True)]
    assert mounts.below(mounted, [tmp_path / "lib/pf"]) == [mounted[0].path]


def test_hierarchies_of_cgroup_v1_and_v2(tmp_path: Path) -> None:
    for name in ("cpu", "memory", "unified"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cgroup.procs").touch()
    (tmp_path / "not-a-cgroup").mkdir()
    assert [path.name for path in cgroups.hierarchies(tmp_path)] == ["cpu", "memory"]
    assert [path.name for path in cgroups.hierarchies(tmp_path, tracking_only=True)] == ["cpu", "memory", "unified"]
    (tmp_path / "cgroup.controllers").touch()
    assert cgroups.hierarchies(tmp_path) == [tmp_path]


def test_a_digest_changes_with_the_command_the_binary_and_the_watched_files(config: Config, tmp_path: Path) -> None:
    watched = tmp_path / "watched"
    service = Service("a", ["/bin/a"], watch=[str(watched)])
    digests = {services.digest(config, service)}
    watched.write_text("one")
    digests.add(services.digest(config, service))
    watched.write_text("two")
    digests.add(services.digest(config, service))
    digests.add(services.digest(config, replace(service, argv=["/bin/a", "-v"])))
    digests.add(services.digest(replace(config, binary="/other"), service))
    digests.add(services.digest(replace(config, supervisor="systemd"), service))  # whose definition of it is another
    assert len(digests) == 6
    assert services.digest(config, service) in digests


def test_a_run_script_quotes_and_enters_the_namespace(config: Config) -> None:
    script = services.runit_script(config, config.services[0], "")
    assert "exec nsenter --net=/run/netns/pf -- /bin/etcd '--name=a b'\n" in script
    assert "export PADDLEFLOW_SERVICE=pf-etcd\n" in script
    assert "unset http_proxy" in script


def test_a_unit_restarts_joins_the_namespace_and_escapes_what_systemd_reads(config: Config) -> None:
    etcd, containerd = (services.systemd_unit(config, service, "") for service in config.services)
    assert 'ExecStart="/bin/etcd" "--name=a b"\n' in etcd
    assert "NetworkNamespacePath=/run/netns/pf\n" in etcd
    assert "Restart=always\n" in etcd
    assert "StartLimitIntervalSec=0\n" in etcd.partition("[Service]")[0], "it would give up after five failures"
    assert "PrivateMounts=no\n" in etcd, "containerd has to see what the kubelet mounts"
    assert "KillMode=mixed\n" in etcd
    assert "KillMode=process\n" in containerd  # containers outlive a restart of containerd
    assert services.systemd_quote('a%b$c"d') == '"a%%b$$c\\"d"'


def test_what_was_stopped_does_not_come_back_with_a_boot(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """etcd runs, containerd failed by itself; the node's unit brings namespace and mounts."""
    active, enabled = {"pf-etcd.service"}, {"pf-etcd.service", "pf-containerd.service", "pf-node.service"}
    for unit in enabled:
        (tmp_path / unit).touch()

    def systemctl(command: Sequence[str]) -> str:
        *_words, unit = command
        if command[1] == "show":
            return "active\n" if unit in active else "failed\n"
        assert command[1] in ("stop", "disable"), command
        active.discard(unit)
        if command[1] == "disable":
            enabled.remove(unit)
        return ""

    monkeypatch.setattr(services, "UNITS", tmp_path)
    monkeypatch.setattr(Host, "run", staticmethod(systemctl))
    monkeypatch.setattr(Host, "succeeds", staticmethod(lambda command: command[-1] in enabled))
    systemd = replace(config, supervisor="systemd")
    services.stop(systemd, Host(), services.OF_PODS)
    assert "pf-node.service" in enabled, "only the first half of a stop"
    services.stop(systemd, Host())
    assert (active, enabled) == (set(), set())
    again = Host()
    services.stop(systemd, again)
    assert again.changes == []


ANALYZE = shutil.which("systemd-analyze")


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")
def test_systemd_finds_nothing_wrong_with_the_units(config: Config, tmp_path: Path) -> None:
    words = ["/bin/true", "--name=a b", "100%", "$HOME"]
    program = replace(config.services[0], argv=words, environment={"A": "b c"})
    texts = {
        "pf-node.service": services.node_unit(config),
        "pf-etcd.service": services.systemd_unit(config, program, ""),
        "pf-containerd.service": services.systemd_unit(config, replace(program, keeps_children=True), ""),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert verify(tmp_path, *texts) == ""
    (tmp_path / "pf-node.service").write_text(texts["pf-node.service"].replace("Type=", "Typ="))
    assert "Typ" in verify(tmp_path, "pf-node.service"), "it would not have told"


def verify(folder: Path, *units: str) -> str:
    """Of the units alone: others that the machine has may have their own faults."""
    command = [str(ANALYZE), "verify", "--man=no", "--generators=no", *(str(folder / unit) for unit in units)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "\n".join(line for line in (done.stdout + done.stderr).splitlines() if "pf-" in line)


def test_the_environment_of_a_dead_process_is_empty() -> None:
    assert services.process_environment(2**22 + 1) == {}


def test_check_mode_notes_and_does_nothing(tmp_path: Path) -> None:
    host = Host(check=True)
    assert not host.change("a file", ["touch", str(tmp_path / "file")])
    assert host.changes == ["a file"]
    assert not (tmp_path / "file").exists()


def test_a_missing_command_is_named_with_its_remedy() -> None:
    with pytest.raises(NodeError, match=r"no-such-command is not installed: install its package"):
        Host.run(["no-such-command"])


def test_a_failing_command_says_what_it_said() -> None:
    with pytest.raises(NodeError, match=r"exit code 3: because"):
        Host.run(["sh", "-c", "echo because >&2; exit 3"])


def turned(value: object) -> object:
    """The same document with the keys of every mapping in reverse order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(item) for item in value] if isinstance(value, list) else value


def test_the_order_of_keys_in_the_configuration_restarts_nothing_and_renews_nothing(tmp_path: Path) -> None:
    kubeadm = tmp_path / "kubeadm.yaml"
    kubeadm.write_text("kind: ClusterConfiguration\n")
    raw = json.loads(json.dumps(RAW))
    raw["pki"].update(kubeadm_config=str(kubeadm), users={"kube-proxy": "a", "coredns": "b"})
    raw["services"][0]["environment"] = {"B": "1", "A": "2"}
    one, other = Config.load(json.dumps(raw)), Config.load(json.dumps(turned(raw)))
    assert pki.stamp(one) == pki.stamp(other)
    assert [services.digest(one, item) for item in one.services] == [
        services.digest(other, item) for item in other.services
    ]


def test_certificates_that_end_within_the_given_days_are_made_anew(config: Config, tmp_path: Path) -> None:
    kubeadm = tmp_path / "kubeadm.yaml"
    kubeadm.write_text("kind: ClusterConfiguration\n")
    made = replace(config, pki=replace(config.pki, kubeadm_config=str(kubeadm)))
    folder = pki.folder(made)
    folder.mkdir(parents=True)
    key, certificate = folder / "apiserver.key", folder / "apiserver.crt"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", "/CN=api", "-days", "60", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    reasons = {}
    for days in (30, 90):
        asked = replace(made, pki=replace(made.pki, renew_days=days))
        (folder / pki.STAMP).write_text(pki.stamp(asked))
        reasons[days] = pki.reason_to_make(asked)
    assert reasons == {30: "", 90: "certificates, for they expire within 90 days"}


def test_a_cgroup_tree_that_a_killed_run_left_half_made_gets_what_is_missing(tmp_path: Path) -> None:
    hierarchy, tree = tmp_path / "cpuset", tmp_path / "cpuset/pf"
    tree.mkdir(parents=True)
    for folder, text in ((hierarchy, "0-1\n"), (tree, "\n")):
        for mask in ("cpuset.cpus", "cpuset.mems"):
            (folder / mask).write_text(text)
    assert cgroups.missing_settings(hierarchy, tree) == [
        (tree / "cpuset.cpus", "0-1\n"),
        (tree / "cpuset.mems", "0-1\n"),
    ]
    for file, text in cgroups.missing_settings(hierarchy, tree):
        file.write_text(text)
    assert cgroups.missing_settings(hierarchy, tree) == []


def test_controllers_are_passed_on_where_they_are_not_yet(tmp_path: Path) -> None:
    tree = tmp_path / "pf"
    tree.mkdir()
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory pids\n")
    (tree / "cgroup.subtree_control").write_text("memory\n")
    assert cgroups.missing_settings(tmp_path, tree) == [(tree / "cgroup.subtree_control", "+cpu +pids")]


def test_a_dash_does_not_put_one_clusters_slice_below_anothers(config: Config) -> None:
    assert cgroups.slice_name(replace(config, instance="a-b")) == "a_b.slice"
    assert "Slice=a_b.slice\n" in services.systemd_unit(replace(config, instance="a-b"), config.services[0], "")


def test_preparing_a_boot_does_not_wait_for_the_run_that_starts_the_services(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "node.json"
    path.write_text(json.dumps(RAW))
    called: list[str] = []
    monkeypatch.setattr(tool, "LOCKS", tmp_path)
    monkeypatch.setattr(tool, "prepare", lambda _config, _host: called.append("prepare"))
    monkeypatch.setattr("sys.argv", ["paddleflow_node", "prepare", "--config", str(path)])
    with (tmp_path / "pf.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert tool.main() == 0
    assert called == ["prepare"]


def test_two_runs_take_turns_and_leave_no_lock_behind(tmp_path: Path) -> None:
    path, order = tmp_path / "pf.lock", []

    def second() -> None:
        with tool.turn(path):
            order.append("second")

    thread = threading.Thread(target=second)
    with tool.turn(path):
        assert path.stat().st_mode & 0o777 == 0o600
        thread.start()
        thread.join(0.2)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]
    assert not path.exists()


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    precious, path = tmp_path / "passwd", tmp_path / "pf.lock"
    precious.write_text("root")
    path.symlink_to(precious)
    with pytest.raises(OSError, match="symbolic links"), tool.turn(path):
        pass
    assert precious.read_text() == "root"


def test_the_marker_goes_last_and_an_earlier_removal_is_made_good(config: Config) -> None:
    for folder in (config.data_dir, tool.trash(config)):
        (folder / "deep/er").mkdir(parents=True)
        (folder / tool.MARKER).write_text("{}")
        (folder / "deep/link").symlink_to("/")
    tool.remove(tool.trash(config))
    assert not tool.trash(config).exists()
    tool.remove(tool.trash(config))  # twice is once
    assert config.data_dir.exists()


def test_pods_end_after_what_would_start_them_anew_and_before_what_waits_for_them(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, ended = {service.name for service in config.services}, []

    class Keeper:
        def supervised(self, service: Service) -> bool:
            return service.name in running

        def enabled(self) -> list[str]:
            return []

        def stop(self, service: Service) -> None:
            running.remove(service.name)
            ended.append(service.name)

    monkeypatch.setattr(services, "supervisor", lambda _config: Keeper())
    monkeypatch.setattr(cgroups, "end_pods", lambda _config, _host: ended.append("pods"))
    for part in (cgroups, mounts, network, leftovers):
        monkeypatch.setattr(part, "down", lambda _config, _host: None)
    tool.stop(config, Host())
    assert ended == ["containerd", "pods", "etcd"]


def test_builds_that_nothing_runs_from_are_removed(config: Config, tmp_path: Path) -> None:
    for name in ("kube-1", "kube-2", "paddleflow_node"):
        (tmp_path / name).touch()
    current = replace(config, binary=str(tmp_path / "kube-2"))
    look = Host(check=True)
    tool.remove_old_builds(current, look)
    assert look.changes == [f"no {tmp_path / 'kube-1'}"]
    tool.remove_old_builds(current, Host())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kube-2", "paddleflow_node"]


def test_notes_of_the_network_are_taken_away_and_those_of_neighbours_stay(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "results"
    results.mkdir()
    monkeypatch.setattr(leftovers, "CNI_RESULTS", results)

    def note(network: str, number: int, run_dir: Path) -> Path:
        path = results / f"{network}-{number:064x}-{'lo' if 'loopback' in network else 'eth0'}"
        interface = {"name": "lo", "sandbox": f"{run_dir}/containerd/io.containerd.grpc.v1.cri/netns/cni-1"}
        path.write_text(json.dumps({"result": {"interfaces": [interface]}}))
        return path

    neighbour = config.run_dir.with_name(config.run_dir.name + "-two")
    own = [note("pf", 1, config.run_dir), note("cni-loopback", 1, config.run_dir)]
    note("pf-two", 2, neighbour)
    note("cni-loopback", 2, neighbour)
    note("cni-loopback", 3, Path("/var/run/netns"))
    cut = results / f"pf-{4:064x}-eth0"
    cut.write_text("")  # by a power failure
    (results / "gone").symlink_to(results / "meanwhile")
    assert leftovers.cni_results(config) == sorted([*own, cut])


def test_of_the_logs_only_those_of_this_cluster_are_taken_away(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tmp_path / "containers"
    logs.mkdir()
    monkeypatch.setattr(leftovers, "CONTAINER_LOGS", logs)
    (logs / "own.log").symlink_to(config.data_dir / "pods/0.log")
    (logs / "other.log").symlink_to(tmp_path / "other/0.log")
    (logs / "gone.log").symlink_to(tmp_path / "gone/0.log")

    readlink = os.readlink

    def vanished(path: Path) -> str:
        if path.name == "gone.log":
            path.unlink()  # by its cluster, after it was listed
        return readlink(path)

    monkeypatch.setattr("os.readlink", vanished)
    assert leftovers.container_logs(config) == [logs / "own.log"]
