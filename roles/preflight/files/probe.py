# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: UP031, UP036, RUF005 -- older ways of writing are what old Pythons know
"""Print what preflight needs to know about this host as one JSON object.

It decides nothing: the sentences are made from these facts on the control node. It reads, and leaves the host
as it was: what has to be tried (interfaces, nftables, overlay) is tried in network and mount namespaces of a
child process and goes away with it; the most that stays is a kernel module that the kernel loaded by itself.

Written for Python 3.6 and newer with nothing beside the standard library, so that an old Python is a finding and
not a traceback. Every fact is gathered on its own: one that cannot be had is null, and the reason is in "problems".
"""

import argparse
import contextlib
import ctypes
import functools
import json
import os
import platform
import re
import shutil
import socket
import struct
import sys
import time

if sys.version_info < (3, 6):
    print(
        '{"python": {"version": [%d, %d, %d], "executable": "%s"}}' % (tuple(sys.version_info[:3]) + (sys.executable,))
    )
    sys.exit(0)

TYPE_CHECKING = False
if TYPE_CHECKING:  # only comments use it: Python 2 reads this file too, and has neither annotations nor this module
    import typing as t

    Facts = dict[str, t.Any]

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
CAPABILITIES = {"net_admin": 12, "sys_admin": 21, "sys_resource": 24}
PACKAGE_MANAGERS = ("apt-get", "dnf", "yum", "zypper", "apk", "pacman")
PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
TRIAL_SECONDS = 20


def read(path):  # type: (str) -> str
    with open(path, errors="replace") as stream:
        return stream.read()


# --- the machine ---------------------------------------------------------------------------------------------


def os_release():  # type: () -> Facts
    values = {}
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        if os.path.exists(path):
            for line in read(path).splitlines():
                name, separator, value = line.partition("=")
                if separator:
                    values[name.strip()] = value.strip().strip("\"'")
            break
    return {
        "id": values.get("ID", ""),
        "like": values.get("ID_LIKE", "").split(),
        "version": values.get("VERSION_ID", ""),
        "name": values.get("PRETTY_NAME", ""),
    }


def capabilities():  # type: () -> dict[str, bool]
    effective = int(re.findall(r"^CapEff:\s*(\w+)", read("/proc/self/status"), re.M)[0], 16)
    return {name: bool(effective >> bit & 1) for name, bit in CAPABILITIES.items()}


def memory():  # type: () -> Facts
    values = {name: int(kib) * 1024 for name, kib in re.findall(r"^(\w+):\s+(\d+) kB", read("/proc/meminfo"), re.M)}
    return {"total": values["MemTotal"], "available": values.get("MemAvailable"), "limit": memory_limit()}


def memory_limit():  # type: () -> int | None
    """The lowest memory limit of the control groups that hold this process, or null when there is none."""
    limits = []
    for line in read("/proc/self/cgroup").splitlines():
        _number, controllers, path = line.split(":", 2)
        if controllers == "":
            root, name = "/sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            root, name = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        while True:
            with contextlib.suppress(OSError, ValueError):
                limits.append(int(read(root + path.rstrip("/") + "/" + name)))
            if path in ("", "/"):
                break
            path = os.path.dirname(path)
    # cgroup v1 says "no limit" with a number near 2**63.
    limits = [limit for limit in limits if limit < 1 << 60]
    return min(limits) if limits else None


def mounts():  # type: () -> list[Facts]
    """The mount table, in order; of two mounts on one place the later hides the earlier."""
    table = []
    for line in read("/proc/self/mountinfo").splitlines():
        before, _separator, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")
        table.append(
            {
                "place": fields[4].encode().decode("unicode_escape"),
                "fstype": kind[0],
                "source": kind[1],
                "options": fields[5].split(","),
                "super_options": kind[2].split(",") if len(kind) > 2 else [],
            }
        )
    return table


def names_have_types(directory):  # type: (str) -> bool | None
    """Whether directory entries carry their type (overlay needs it, XFS with ftype=0 has none); null: cannot tell."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
    libc.opendir.argtypes, libc.readdir.argtypes, libc.closedir.argtypes = (
        [ctypes.c_char_p],
        [ctypes.c_void_p],
        [ctypes.c_void_p],
    )
    handle = libc.opendir(directory.encode())
    if not handle:
        return None
    try:
        for _attempt in range(64):
            entry = libc.readdir(handle)
            if not entry:
                return None
            # struct dirent with 64-bit offsets: inode (8), offset (8), record length (2), type (1), name.
            head = ctypes.string_at(entry, 22)
            if head[19:21] not in (b".\0", b"..") or (head[19:21] == b".." and head[21:22] != b"\0"):
                return head[18] != 0
        return None
    finally:
        libc.closedir(handle)


def path_facts(path, table):  # type: (str, list[Facts]) -> Facts
    """The file system that `path` is on, or will be on: the nearest directory that exists decides."""
    existing = os.path.realpath(path)
    while not os.path.exists(existing):
        existing = os.path.dirname(existing)
    found = None
    for mount in table:
        place = mount["place"].rstrip("/")
        holds = existing == mount["place"] or existing.startswith(place + "/")
        if holds and (found is None or len(mount["place"]) >= len(found["place"])):
            found = mount
    usage = os.statvfs(existing)
    return {
        "path": path,
        "real": os.path.realpath(path),
        "existing": existing,
        "is_directory": os.path.isdir(existing),
        "device": os.stat(existing).st_dev,
        "mount": found["place"] if found else None,
        "source": found["source"] if found else None,
        "fstype": found["fstype"] if found else None,
        "options": sorted(set(found["options"] + [o for o in found["super_options"] if o in ("ro", "noexec")]))
        if found
        else [],
        "free": usage.f_bavail * usage.f_frsize,
        "size": usage.f_blocks * usage.f_frsize,
        # File systems that make inodes as they need them (btrfs, some overlays) report none at all.
        "inodes": usage.f_files or None,
        "inodes_free": usage.f_favail if usage.f_files else None,
        "names_have_types": names_have_types(existing),
    }


def control_groups(table):  # type: (list[Facts]) -> Facts
    unified, controllers, read_only = False, set(), []
    for mount in table:
        if mount["fstype"] == "cgroup2" and mount["place"] == "/sys/fs/cgroup":
            unified = True
            controllers.update(read("/sys/fs/cgroup/cgroup.controllers").split())
            read_only += [mount["place"]] if "ro" in mount["options"] else []
        elif mount["fstype"] == "cgroup":
            controllers.update(
                option for option in mount["super_options"] if "=" not in option and option not in ("rw", "ro")
            )
            read_only += [mount["place"]] if "ro" in mount["options"] else []
    return {
        "version": 2 if unified else (1 if controllers else 0),
        "controllers": sorted(controllers),
        "read_only": read_only,
    }


def marker(path):  # type: (str) -> Facts | None
    if not os.path.exists(path):
        return None
    try:
        content = json.loads(read(path))
        return content if isinstance(content, dict) else {"problem": "it holds no JSON object"}
    except (OSError, ValueError) as error:
        return {"problem": str(error)}


def runs_from(path):  # type: (str) -> str | None
    """The data folder of the cluster that uses this run folder."""
    note = os.path.join(path, "data-dir")
    return read(note).strip() if os.path.exists(note) else None


def proxies():  # type: () -> dict[str, str]
    """The proxy variables in both spellings, passwords left out."""
    found = {}
    for name in PROXY_VARIABLES:
        for spelling in (name.upper(), name):
            if os.environ.get(spelling):
                found[spelling] = re.sub(r"//[^@/]*@", "//***@", os.environ[spelling])
    return found


# --- the network ---------------------------------------------------------------------------------------------


def attribute(kind, payload):  # type: (int, str | bytes) -> bytes
    if isinstance(payload, str):
        payload = payload.encode() + b"\0"
    length = 4 + len(payload)
    return struct.pack("=HH", length, kind) + payload + b"\0" * (-length % 4)


def message(kind, flags, sequence, payload):  # type: (int, int, int, bytes) -> bytes
    return struct.pack("=IHHII", 16 + len(payload), kind, flags, sequence, 0) + payload


def messages(data):  # type: (bytes) -> t.Iterator[tuple[int, int, bytes]]
    while len(data) >= 16:
        length, kind, _flags, sequence, _port = struct.unpack("=IHHII", data[:16])
        if length < 16:
            return
        yield kind, sequence, data[16:length]
        data = data[(length + 3) & ~3 :]


def netlink(family):  # type: (int) -> socket.socket
    connection = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, family)
    connection.settimeout(5)
    connection.bind((0, 0))
    return connection


def addresses():  # type: () -> list[Facts]
    """[{interface, address, prefix}] of IPv4, by netlink: the `ip` program need not be installed."""
    names = dict(socket.if_nameindex())
    found = []  # type: list[Facts]
    connection = netlink(0)
    try:
        connection.send(message(22, 0x301, 1, struct.pack("=BBBBI", socket.AF_INET, 0, 0, 0, 0)))
        while True:
            for kind, _sequence, body in messages(connection.recv(1 << 16)):
                if kind != 20:  # the end of the list, or an error
                    return found
                _family, prefix, _f, _scope, index = struct.unpack("=BBBBI", body[:8])
                body, values = body[8:], {}
                while len(body) >= 4:
                    length, name = struct.unpack("=HH", body[:4])
                    values[name] = body[4:length]
                    body = body[(max(length, 4) + 3) & ~3 :]
                raw = values.get(2) or values.get(1)
                if raw:
                    found.append(
                        {"interface": names.get(index, str(index)), "address": socket.inet_ntoa(raw), "prefix": prefix}
                    )
    finally:
        connection.close()


def routes():  # type: () -> list[Facts]
    """[{destination, interface}] of IPv4 in the main table."""
    found = []
    for line in read("/proc/net/route").splitlines()[1:]:
        fields = line.split()
        network, mask = (struct.pack("=I", int(fields[column], 16)) for column in (1, 7))
        prefix = bin(struct.unpack("=I", mask)[0]).count("1")
        found.append({"destination": "%s/%d" % (socket.inet_ntoa(network), prefix), "interface": fields[0]})
    return found


def listeners(ports):  # type: (set[int]) -> list[Facts]
    """[{port, protocol, process}] for the ports that were asked about and are taken."""
    taken = {}  # type: dict[tuple[int, str], set[str]]
    for protocol, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        path = "/proc/net/" + protocol
        if ports and os.path.exists(path):
            for line in read(path).splitlines()[1:]:
                fields = line.split()
                port = int(fields[1].rsplit(":", 1)[1], 16)
                if fields[3] == state and port in ports:
                    taken.setdefault((port, protocol[:3]), set()).add(fields[9])
    owners = socket_owners(set().union(*taken.values())) if taken else {}
    return [
        {"port": port, "protocol": protocol, "process": next((owners[i] for i in sorted(inodes) if i in owners), None)}
        for (port, protocol), inodes in sorted(taken.items())
    ]


def socket_owners(inodes):  # type: (t.Iterable[str]) -> dict[str, str]
    owners = {}
    wanted = {"socket:[%s]" % inode: inode for inode in inodes}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        # Processes end while they are looked at.
        with contextlib.suppress(OSError):
            for descriptor in os.listdir("/proc/%s/fd" % pid):
                inode = wanted.get(os.readlink("/proc/%s/fd/%s" % (pid, descriptor)))
                if inode:
                    owners[inode] = "%s (process %s)" % (read("/proc/%s/comm" % pid).strip(), pid)
    return owners


# --- what the kernel can do, by trying ------------------------------------------------------------------------


class RefusedError(Exception):
    pass


def checked(result, what):  # type: (int, str) -> None
    if result != 0:
        raise RefusedError("%s: %s" % (what, os.strerror(ctypes.get_errno())))


def mount(libc, source, target, kind, flags, data):  # type: (ctypes.CDLL, bytes, bytes, bytes | None, int, bytes | None) -> None
    checked(
        libc.mount(source, target, kind, ctypes.c_ulong(flags), data), "mount " + (kind or b"--make-rprivate").decode()
    )


def acknowledged(connection, data, expected, what):  # type: (socket.socket, bytes, t.Iterable[int], str) -> None
    """Send messages and wait until every one that asked for it was acknowledged."""
    connection.send(data)
    waiting = set(expected)
    while waiting:
        for kind, sequence, body in messages(connection.recv(1 << 16)):
            if kind == 2:  # NLMSG_ERROR, which is an acknowledgement when the code is 0
                code = struct.unpack("=i", body[:4])[0]
                if code:
                    raise RefusedError("%s: %s" % (what, os.strerror(-code)))
                waiting.discard(sequence)


def try_link(kind, data=b""):  # type: (str, bytes) -> None
    information = attribute(1, kind) + (attribute(2, data) if data else b"")
    body = struct.pack("=BxHiII", 0, 0, 0, 0, 0) + attribute(3, "pf-probe") + attribute(18, information)
    connection = netlink(0)
    try:
        # create, exclusive, with acknowledgement
        acknowledged(connection, message(16, 0x605, 1, body), [1], "a %s interface cannot be made" % kind)
        connection.send(message(17, 0x005, 2, struct.pack("=BxHiII", 0, 0, 0, 0, 0) + attribute(3, "pf-probe")))
        connection.recv(1 << 16)
    finally:
        connection.close()


def nft_expression(name, values):  # type: (str, t.Iterable[tuple[int, int]]) -> bytes
    data = b"".join(attribute(kind, struct.pack(">I", value)) for kind, value in values)
    return attribute(0x8001, attribute(1, name) + attribute(0x8002, data))


# Each with the attributes that the kernel asks for: masquerading; spreading over endpoints; "is it a local address".
NFT_EXPRESSIONS = {
    "masq": nft_expression("masq", ()),
    "numgen": nft_expression("numgen", ((1, 1), (2, 2), (3, 1))),
    "fib": nft_expression("fib", ((1, 1), (2, 3), (3, 2))),
}


def try_nftables(expression=None):  # type: (str | None) -> None
    """A nat chain as kube-proxy makes it, with a rule that holds the expression, when one is named."""
    generation, batch = struct.pack(">BBH", 2, 0, 0), struct.pack(">BBH", 0, 0, 10)
    table = "pf-probe-" + (expression or "chain")
    hook = attribute(1, struct.pack(">I", 4)) + attribute(2, struct.pack(">i", 100))
    chain = attribute(1, table) + attribute(3, "nat") + attribute(0x8004, hook) + attribute(7, "nat")
    parts = [(0, attribute(1, table)), (3, chain)]
    if expression:
        parts.append((6, attribute(1, table) + attribute(2, "nat") + attribute(0x8004, NFT_EXPRESSIONS[expression])))
    data = message(0x10, 1, 1, batch)
    for number, (kind, body) in enumerate(parts):
        # request, acknowledge, create, append
        data += message(10 << 8 | kind, 0xC05, 2 + number, generation + body)
    data += message(0x11, 1, 2 + len(parts), batch)
    connection = netlink(12)
    try:
        what = "nftables' %s expression" % expression if expression else "a nat chain of nftables"
        acknowledged(connection, data, range(2, 2 + len(parts)), what + " cannot be made")
    finally:
        connection.close()


def try_overlay(libc):  # type: (ctypes.CDLL) -> None
    mount(libc, b"pf-probe", b"/tmp", b"tmpfs", 0, b"size=1m")
    for name in ("lower", "upper", "work", "merged"):
        os.mkdir("/tmp/" + name)
    mount(
        libc, b"pf-probe", b"/tmp/merged", b"overlay", 0, b"lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work"
    )


def trials(report):  # type: (t.Callable[[str, str | None], object]) -> None
    """Run in a child process: its namespaces, and all that was made in them, end with it."""
    libc = ctypes.CDLL(None, use_errno=True)

    def attempt(name, action):  # type: (str, t.Callable[[], None]) -> None
        try:
            action()
            report(name, None)
        except (OSError, RefusedError) as error:
            report(name, str(error))

    def mount_namespace():  # type: () -> None
        checked(libc.unshare(CLONE_NEWNS), "unshare")
        mount(libc, b"none", b"/", None, MS_REC | MS_PRIVATE, None)
        attempt("overlay", lambda: try_overlay(libc))

    def network_namespace():  # type: () -> None
        checked(libc.unshare(CLONE_NEWNET), "unshare")
        attempt("veth", lambda: try_link("veth"))
        attempt("bridge", lambda: try_link("bridge"))
        attempt(
            "vxlan",
            lambda: try_link("vxlan", attribute(1, struct.pack("=I", 1)) + attribute(15, struct.pack(">H", 8472))),
        )
        attempt("nftables", try_nftables)
        for name in sorted(NFT_EXPRESSIONS):
            attempt("nftables_" + name, functools.partial(try_nftables, name))

    attempt("netns", network_namespace)
    attempt("mountns", mount_namespace)


def features():  # type: () -> dict[str, str | None]
    """{feature: null when it works, else why not}; what could not even be tried is not in it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            # A kernel that hangs in one trial must not hang the whole preflight.
            import signal

            signal.alarm(TRIAL_SECONDS)
            os.close(reader)
            trials(lambda name, problem: os.write(writer, (json.dumps([name, problem]) + "\n").encode()))
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as stream:
        found = dict(json.loads(line) for line in stream)
    os.waitpid(child, 0)
    filesystems = read("/proc/filesystems").split()
    if not os.path.exists("/dev/fuse"):
        found["fuse"] = "there is no /dev/fuse"
    else:
        found["fuse"] = None if "fuse" in filesystems else "the kernel does not list fuse in /proc/filesystems"
    return found


# --- all of it ------------------------------------------------------------------------------------------------


def main():  # type: () -> None
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="the directory that will hold the cluster")
    parser.add_argument("--marker", help="the file that an earlier run left there")
    parser.add_argument("--cache", help="the directory for downloads and build results")
    parser.add_argument("--run", help="the directory for sockets")
    parser.add_argument("--ports", default="", help="ports that have to be free, with commas")
    parser.add_argument("--sent", type=float, help="the control node's clock when it started this, in seconds")
    parser.add_argument("--without-trials", action="store_true", help="do not try what the kernel can do")
    arguments = parser.parse_args()

    problems = {}

    def gather(name, function, *values):  # type: (str, t.Callable[..., t.Any], *t.Any) -> t.Any
        try:
            return function(*values)
        except Exception as error:  # noqa: BLE001  one fact that cannot be had must not hide the others
            problems[name] = "%s: %s" % (type(error).__name__, error)
            return None

    table = gather("mounts", mounts) or []
    ports = {int(port) for port in arguments.ports.split(",") if port}
    wanted = (("data", arguments.data), ("cache", arguments.cache), ("run", arguments.run))
    facts = {
        "time": time.time(),
        "sent": arguments.sent,
        "python": {"version": list(sys.version_info[:3]), "executable": sys.executable},
        "uid": os.geteuid(),
        "capabilities": gather("capabilities", capabilities),
        "hostname": socket.gethostname(),
        "machine": gather("machine", lambda: read("/proc/sys/kernel/random/boot_id").strip()),
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "os": gather("os", os_release),
        "package_managers": [name for name in PACKAGE_MANAGERS if shutil.which(name)],
        "cpus": os.cpu_count(),
        "memory": gather("memory", memory),
        "paths": {name: gather(name, path_facts, path, table) for name, path in wanted if path},
        "marker": gather("marker", marker, arguments.marker) if arguments.marker else None,
        "runs_from": gather("runs_from", runs_from, arguments.run) if arguments.run else None,
        "cgroup": gather("cgroup", control_groups, table),
        "addresses": gather("addresses", addresses),
        "routes": gather("routes", routes),
        "listeners": gather("listeners", listeners, ports),
        "proxies": proxies(),
        "features": None if arguments.without_trials else gather("features", features),
        "problems": problems,
    }
    json.dump(facts, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
