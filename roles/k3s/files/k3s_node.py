# SPDX-License-Identifier: Apache-2.0
"""What a node held before K3s, what K3s leaves behind, and the runit supervisor of its service.

Runs on the node with the standard library alone (Python 3.8 and newer) and speaks JSON. K3s' processes are found by the
address of its containerd and by the overlay below its data folder, its network namespaces by those processes, never by
a name: another cluster, or another containerd, on the same host stays untouched.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import ipaddress
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

INTERFACES = ("cni0", "flannel.1", "flannel-v6.1", "flannel-wg", "flannel-wg-v6", "kube-ipvs0")
RULE_TOOLS = ("iptables", "ip6tables", "iptables-legacy", "ip6tables-legacy")
OWN_CHAIN = re.compile(r"KUBE-|CNI-|FLANNEL-|flannel", re.IGNORECASE)
# Whoever keeps its kubelet here runs it in the default cgroup too; a kubelet elsewhere says nothing about that one.
KUBELET_DIR = "/var/lib/kubelet"
CGROUP_ROOT = Path("/sys/fs/cgroup")
LOOPBACK_RESULT = re.compile(r"cni-loopback-[0-9a-f]{64}-lo")
GONE_SECONDS = 30
RECORD = "paddleflow-node.json"


# ---- pure -----------------------------------------------------------------------------------------------------------


def unescape(path: str) -> str:
    """A path of /proc/*/mountinfo, where blanks are written in octal."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), path)


def mount_points(mountinfo: str, roots: list[str]) -> list[str]:
    """Mount points at or below one of the roots, the deepest first."""
    found = [unescape(line.split(" ")[4]) for line in mountinfo.splitlines() if line]
    return sorted((point for point in found if any(is_below(point, root) for root in roots)), reverse=True)


def is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def root_overlay(mountinfo: str, data_dir: str) -> bool:
    """Whether the process with this mountinfo has its root file system below data_dir (a container of ours)."""
    for line in mountinfo.splitlines():
        fields = line.split(" ")
        if len(fields) > 6 and fields[4] == "/":
            options = unescape(line.partition(" - ")[2])
            return any(
                is_below(value.split(":")[0], data_dir)
                for value in re.findall(r"(?:upperdir|lowerdir)=([^,]*)", options)
            )
    return False


def is_shim(argv: list[str], address: str) -> bool:
    """A containerd shim that reports to the containerd at this address."""
    if not argv or not os.path.basename(argv[0]).startswith("containerd-shim"):
        return False
    return any(name in ("-address", "--address") and value == address for name, value in zip(argv, argv[1:]))


def foreign_rules(saved: str) -> str:
    """iptables-save output without the chains and rules of Kubernetes, CNI plugins and flannel."""
    return "".join(
        line for line in saved.splitlines(keepends=True) if line.startswith("#") or not OWN_CHAIN.search(line)
    )


def own_rules(saved: str) -> list[str]:
    return [line for line in saved.splitlines() if not line.startswith("#") and OWN_CHAIN.search(line)]


def routes_within(routes: list[dict[str, Any]], cidrs: str) -> list[str]:
    """Destinations of routes that lie inside the cluster's pod range (flannel's host-gw writes them on the host's own card)."""
    ranges = [ipaddress.ip_network(cidr.strip(), strict=False) for cidr in cidrs.split(",") if cidr.strip()]
    found = []
    for route in routes:
        try:
            network = ipaddress.ip_network(route.get("dst", ""), strict=False)
        except ValueError:
            continue
        if any(network.version == own.version and network.subnet_of(own) for own in ranges):  # type: ignore[arg-type]
            found.append(str(route["dst"]))
    return found


def may_lower_oom(status: str) -> bool:
    """CAP_SYS_RESOURCE, without which no process may make itself a less likely victim of the OOM killer."""
    effective = re.search(r"^CapEff:\s*([0-9a-f]+)", status, re.MULTILINE)
    return effective is not None and bool(int(effective.group(1), 16) >> 24 & 1)


def descendants(parents: dict[int, int], roots: set[int]) -> set[int]:
    """The roots and every process below them; parents maps a process to its parent."""
    found = set(roots)
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        grown = bool(more)
        found |= more
    return found


# ---- the node -------------------------------------------------------------------------------------------------------


def read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def run(argv: list[str], stdin: str | None = None, timeout: int = 60) -> tuple[int, str, str]:
    try:
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired) as exc:
        return 127, "", str(exc)
    return done.returncode, done.stdout, done.stderr


def processes() -> dict[int, int]:
    table = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            line = read(f"/proc/{entry}/stat")
            if line:
                table[int(entry)] = int(line.rpartition(")")[2].split()[1])
    return table


def argv_of(pid: int) -> list[str]:
    return [part for part in read(f"/proc/{pid}/cmdline").split("\0") if part]


def own_processes(plan: dict[str, Any]) -> list[int]:
    """Shims of K3s' containerd with all below them, and containers whose shim is gone."""
    parents = processes()
    roots = {pid for pid in parents if is_shim(argv_of(pid), plan["address"])}
    roots |= {pid for pid in parents if root_overlay(read(f"/proc/{pid}/mountinfo"), plan["data_dir"])}
    own = {os.getpid(), *ancestors(os.getpid(), parents)}
    return sorted(descendants(parents, roots) - own)


def ancestors(pid: int, parents: dict[int, int]) -> list[int]:
    found = []
    while pid in parents and parents[pid] not in (0, pid):
        pid = parents[pid]
        found.append(pid)
    return found


def own_namespaces(plan: dict[str, Any], pids: list[int]) -> list[str]:
    """Named network namespaces (cni-*) that a process of ours lives in, or that the CNI results of a folder we made name."""
    names: set[str] = set()
    inodes = {inode_of(f"/proc/{pid}/ns/net") for pid in pids} - {inode_of("/proc/self/ns/net"), None}
    for path in Path("/run/netns").glob("cni-*") if Path("/run/netns").is_dir() else ():
        if inode_of(str(path)) in inodes:
            names.add(str(path))
    for folder in removable_dirs(plan):
        for result in Path(folder).glob("results/*"):
            for path in re.findall(r'"netns":\s*"(?:/var)?(/run/netns/cni-[0-9a-f-]+)"', read(str(result))):
                if Path(path).exists():
                    names.add(path)
    return sorted(names)


def inode_of(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def removable_dirs(plan: dict[str, Any]) -> list[str]:
    """The folders that were absent or empty before K3s came; no record, no claim."""
    record = plan["record"]
    if not record:
        return []
    return [path for path in plan["fixed_dirs"] if path not in record.get("dirs_before", [])]


def own_logs(plan: dict[str, Any]) -> list[str]:
    """Logs of the pods that the kubelet's folder still names by their UID, and the links to them; others log there too."""
    uids = {path.name for folder in removable_dirs(plan) for path in Path(folder).glob("pods/*")}
    pods, links = (Path(path) for path in plan["log_dirs"])
    logs = [str(path) for path in pods.glob("*") if path.name.rpartition("_")[2] in uids]
    pointing = [path for path in links.glob("*") if path.is_symlink()]
    return [*logs, *(str(path) for path in pointing if any(is_below(str(path.readlink()), log) for log in logs))]


def in_use(folder: str) -> bool:
    """Whether somebody needs what the folder holds. The CNI library's note of a pod's loopback is often left behind; nobody
    reads it once the network namespace of the pod is gone."""
    entries = Path(folder).rglob("*")
    return any(not (entry.is_dir() and any(entry.iterdir())) and not dead_loopback(entry) for entry in entries)


def dead_loopback(path: Path) -> bool:
    if not (path.parent.name == "results" and LOOPBACK_RESULT.fullmatch(path.name)):
        return False
    namespaces = re.findall(r'"sandbox":\s*"([^"]+)"', read(str(path)))
    return bool(namespaces) and not any(os.path.exists(namespace) for namespace in namespaces)


def survey(plan: dict[str, Any]) -> dict[str, Any]:
    dirs = plan["fixed_dirs"]
    everything = [plan["data_dir"], plan["config_dir"], *dirs, *plan["log_dirs"]]
    return {
        "dirs_before": [path for path in dirs if os.path.isdir(path) and in_use(path)],
        # Folders that stay when they are emptied: somebody else made them, or mounted a disk there.
        "dirs_kept": [path for path in everything if os.path.isdir(path)],
        "mounts_before": mount_points(read("/proc/self/mountinfo"), everything),
        "config_before": sorted(os.listdir(plan["config_dir"])) if os.path.isdir(plan["config_dir"]) else [],
        "interfaces_before": own_interfaces([]),
        "routes_before": own_routes(plan),
        "rules_before": any(own_rules(saved) for _tool, saved in saved_rules()),
        "kubepods_before": bool(kubepods()),
    }


def saved_rules() -> list[tuple[str, str]]:
    found = []
    for tool in RULE_TOOLS:
        if shutil.which(f"{tool}-save"):
            code, out, _err = run([f"{tool}-save"])
            if code == 0 and out:
                found.append((tool, out))
    return found


def kubepods() -> list[str]:
    roots = [CGROUP_ROOT, *(path for path in CGROUP_ROOT.iterdir() if path.is_dir())] if CGROUP_ROOT.is_dir() else []
    return sorted(
        str(root / name) for root in roots for name in ("kubepods", "kubepods.slice") if (root / name).is_dir()
    )


def look(plan: dict[str, Any]) -> dict[str, Any]:
    """What the role decides by, in one answer: this host, what is installed, what is written and what runs."""
    record, marker = read(plan["record"]), read(plan["marker"])
    version = run([plan["binary"], "--version"])[1] if os.path.isfile(plan["binary"]) else ""
    found = re.search(r"v\d+\.\d+\.\d+\S*", version)
    return {
        "uid": os.getuid(),
        "architecture": os.uname().machine,
        "systemd": os.path.isdir("/run/systemd/system"),
        "runit": shutil.which("runsvdir") is not None,
        "may_lower_oom": may_lower_oom(read("/proc/self/status")),
        "cgroup_v1": not os.path.exists(CGROUP_ROOT / "cgroup.controllers"),
        "record": json.loads(record) if record else {},
        "marker": content(marker),
        "foreign": [] if record else [path for path in plan["foreign"] if os.path.exists(path)],
        "version": found.group(0) if found else "",
        "sha256": {path: checksum(path) for path in plan["files"]},
        "stamp": read(plan["stamp"]).strip(),
        "socket": is_socket(plan["socket"]),
        "supervisor": supervisor_pid(plan["services"], plan["pid_file"]) is not None,
        "runit_service": run(["sv", "status", plan["service"]])[1].startswith("run:"),
        "systemd_service": run(["systemctl", "is-active", plan["unit"]])[0] == 0,
    }


def content(marker: str) -> dict[str, Any]:
    """Of a damaged marker nothing is known; it is written anew."""
    try:
        found = json.loads(marker)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def checksum(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            digest = hashlib.sha256()
            for part in iter(lambda: stream.read(1 << 20), b""):
                digest.update(part)
    except OSError:
        return ""
    return digest.hexdigest()


def is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def own_interfaces(before: list[str]) -> list[str]:
    # Not from /sys, which shows the network namespace that it was mounted in.
    present = [name for _index, name in socket.if_nameindex()]
    return [name for name in INTERFACES if name in present and name not in before]


def own_routes(plan: dict[str, Any]) -> list[str]:
    found = []
    for family in ("-4", "-6"):
        code, out, _err = run(["ip", "-j", family, "route", "show"])
        if code == 0 and out.strip():
            found += routes_within(json.loads(out), plan["cluster_cidr"])
    return found


def leftovers(plan: dict[str, Any]) -> dict[str, list[Any]]:
    """Everything of ours that is here; without a record nothing is ours. With keep_data only what runs and what that made."""
    record = plan["record"]
    if not record:
        return {}
    pids = own_processes(plan)
    dirs = [plan["data_dir"], *removable_dirs(plan), plan["config_dir"]]
    before = record.get("mounts_before", [])
    running: dict[str, list[Any]] = {
        "processes": pids,
        "namespaces": own_namespaces(plan, pids),
        "mounts": [point for point in mount_points(read("/proc/self/mountinfo"), dirs) if point not in before],
        "interfaces": own_interfaces(record.get("interfaces_before", [])),
        "routes": [route for route in own_routes(plan) if route not in record.get("routes_before", [])],
        "rules": [] if record.get("rules_before") else [tool for tool, saved in saved_rules() if own_rules(saved)],
        "cgroups": kubepods() if KUBELET_DIR in dirs and not record.get("kubepods_before") else [],
    }
    if plan["keep_data"]:
        return running
    links = [path for path, target in plan["links"].items() if os.path.islink(path) and os.readlink(path) == target]
    return {
        **running,
        "files": [path for path in plan["files"] if os.path.lexists(path)] + links,
        "logs": own_logs(plan),
        "dirs": [path for path in dirs if os.path.isdir(path) and (path not in kept(record) or newer(path, plan))],
    }


def kept(record: dict[str, Any]) -> list[str]:
    return [*record.get("dirs_kept", []), *record.get("mounts_before", [])]


def newer(path: str, plan: dict[str, Any]) -> list[Path]:
    """What a folder holds that came after the survey; the record, by which a removal is resumed, is the last of it."""
    before = plan["record"].get("config_before", []) if path == plan["config_dir"] else []
    found = (entry for entry in Path(path).iterdir() if entry.name not in before)
    return sorted(found, key=lambda entry: entry.name == RECORD)


def kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(alive(pid) for pid in pids))


def alive(pid: int) -> bool:
    """Running; a zombie that waits for its parent holds nothing."""
    line = read(f"/proc/{pid}/stat")
    return bool(line) and line.rpartition(")")[2].split()[0] not in ("Z", "X")


def unmount(points: list[str]) -> None:
    for point in points:
        if run(["umount", point])[0] != 0:
            run(["umount", "-l", point])


def remove_rules(tools: list[str]) -> None:
    for tool in tools:
        code, saved, _err = run([f"{tool}-save"])
        if code == 0:
            run([f"{tool}-restore"], foreign_rules(saved))
    code, out, _err = run(["ipset", "list", "-name"])
    for name in out.split() if code == 0 else ():
        if name.startswith(("KUBE-", "inet6:KUBE-")):
            run(["ipset", "destroy", name])


def remove_cgroups(paths: list[str]) -> None:
    for top in paths:
        for folder, _dirs, _files in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def remove_dir(path: str, plan: dict[str, Any]) -> None:
    """Delete a folder, or what came into one that stays, unless it is too near the root or a mount is still in it."""
    keep = path in kept(plan["record"])
    if len(Path(os.path.normpath(path)).parts) < 3:
        raise SystemExit(
            f"refused to delete {path}: it is a top folder of the system; set the k3s_*_dir variables right"
        )
    held = [point for point in mount_points(read("/proc/self/mountinfo"), [path]) if not keep or point != path]
    if held:
        raise SystemExit(f"refused to delete {path}: {held[0]} is still mounted; unmount it and run again")
    for entry in newer(path, plan):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    if not keep:
        os.rmdir(path)
        remove_parents(path)


def remove_parents(path: str) -> None:
    """/etc/rancher/k3s and the like, once nothing is in them any more."""
    for parent in Path(path).parents:
        if parent.name not in ("k3s", "rancher") or not parent.is_dir() or any(parent.iterdir()):
            return
        parent.rmdir()


def remove(plan: dict[str, Any]) -> dict[str, list[Any]]:
    found = leftovers(plan)
    if not found:
        return found
    data = Path(plan["data_dir"]) / "data"
    tools = [str(path) for path in (*data.glob("*/bin"), *data.glob("*/bin/aux"))]
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin", *tools])
    kill(found["processes"])
    unmount(found["mounts"])
    for path in found["namespaces"]:
        run(["umount", "-l", path])
        if os.path.exists(path):
            os.unlink(path)
    for name in found["interfaces"]:
        run(["ip", "link", "delete", name])
    for route in found["routes"]:
        run(["ip", "-6" if ":" in route else "-4", "route", "delete", route])
    remove_rules(found["rules"])
    remove_cgroups(found["cgroups"])
    if not plan["keep_data"]:
        remove_data(plan, found)
    return found


def remove_data(plan: dict[str, Any], found: dict[str, list[Any]]) -> None:
    for path in found["files"]:
        os.unlink(path)
        remove_parents(path)
    for path in found["logs"]:
        if os.path.islink(path):
            os.unlink(path)
        else:
            shutil.rmtree(path)
    for path in plan["log_dirs"]:
        if path not in kept(plan["record"]):
            with contextlib.suppress(OSError):
                os.rmdir(path)
    # The record lies in the config folder, which comes last: an interrupted removal can be resumed.
    for path in found["dirs"]:
        remove_dir(path, plan)


# ---- runit ----------------------------------------------------------------------------------------------------------


def supervisor_pid(services: str, pid_file: str) -> int | None:
    text = read(pid_file).strip()
    if text.isdigit() and argv_of(int(text))[-2:] == ["-P", services]:
        return int(text)
    return None


def start_supervisor(services: str, pid_file: str) -> bool:
    if supervisor_pid(services, pid_file):
        return False
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    null = subprocess.DEVNULL
    child = subprocess.Popen(  # pylint: disable=consider-using-with
        ["runsvdir", "-P", services],
        env=environment,
        stdin=null,
        stdout=null,
        stderr=null,
        start_new_session=True,
        cwd="/",
    )
    Path(pid_file).write_text(f"{child.pid}\n", encoding="ascii")
    return True


def stop_supervisor(services: str, pid_file: str, patience: int) -> bool:
    """Stop runsvdir, so that nothing comes back, then each service and its runsv; what does not stop in time is killed."""
    pid = supervisor_pid(services, pid_file)
    if pid:
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not alive(pid))
    changed = bool(pid)
    for folder in (str(path) for path in Path(services).glob("*")):
        if not supervised(folder):
            continue
        changed = True
        run(["sv", "-w", str(patience), "force-stop", folder], timeout=patience + 30)
        for part in (folder, f"{folder}/log"):
            run(["sv", "exit", part])
            wait_until(lambda part=part: not supervised(part))  # type: ignore[misc]
    if os.path.exists(pid_file):
        os.unlink(pid_file)
    return changed


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + GONE_SECONDS
    while not done() and time.monotonic() < deadline:
        time.sleep(0.1)


def supervised(folder: str) -> bool:
    return run(["sv", "status", folder])[0] == 0


def member(plan: dict[str, str]) -> dict[str, bool]:
    """Whether this server made the cluster, and whether it has data."""
    return {"initial": os.path.exists(plan["marker"]), "member": os.path.exists(plan["token"])}


VERBS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "look": look,
    "member": member,
    "survey": survey,
    "list": leftovers,
    "remove": remove,
    "start": lambda plan: {"changed": start_supervisor(plan["services"], plan["pid_file"])},
    "stop": lambda plan: {"changed": stop_supervisor(plan["services"], plan["pid_file"], int(plan["patience"]))},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=list(VERBS))
    parser.add_argument("plan", help="JSON")
    arguments = parser.parse_args()
    json.dump(VERBS[arguments.verb](json.loads(arguments.plan)), sys.stdout)


if __name__ == "__main__":
    main()
