# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""From the facts of ``roles/preflight/files/probe.py`` to findings; nothing here looks at a machine.

There are two sets of facts: of the node that will run the cluster, and of the control node that downloads and
compiles. They may be one machine, and then what both need of one file system is added up.
"""

from __future__ import annotations

import json
import re
import typing as t
from posixpath import normpath

from .finding import Finding
from .preflight_host import kernel_findings, network_findings
from .preflight_settings import GIB, Facts, Settings
from .proxy import CLUSTER_NAMES, LOCAL, proxy_findings
from .registry import registry_findings

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

EARLIEST_YEAR_SECONDS = 1735689600  # 2025-01-01: no clock that is right shows less
# A unix socket's path holds 107 bytes; these are the longest that the cluster puts below its directories.
SOCKET_PATH_BYTES = 107
LONGEST_SOCKETS = {"run": "containerd.sock.ttrpc", "data": "kubelet/plugins_registry/fs.paddleflow.org-reg.sock"}
INTERFACE_NAME_BYTES = 15
NOT_FOR_OVERLAY = ("overlay", "nfs", "nfs4", "cifs", "smb3", "vfat", "exfat", "ntfs", "9p", "ecryptfs", "squashfs")
KNOWN_FOR_OVERLAY = ("ext4", "xfs", "btrfs", "tmpfs", "zfs", "f2fs", "bcachefs", "ext3")


def facts_of(result: Mapping[str, t.Any] | None) -> dict[str, t.Any] | None:
    """The probe's facts from the result of the task that ran it; its complaint when there are none."""
    if result is None or result.get("skipped"):
        return None
    # With a terminal in between (ssh -tt) other lines may stand around the object.
    text = str(result.get("stdout") or "")
    try:
        facts = json.loads(text[text.index("{") : text.rindex("}") + 1])
        return facts if isinstance(facts, dict) else {"unreadable": "it printed no object"}
    except ValueError:
        said = [line.strip() for line in str(result.get("stderr") or text).splitlines() if line.strip()]
        return {"unreadable": (said[-1] if said else f"exit code {result.get('rc')}").rstrip(".")}


def evaluate(
    node: Facts | None, control: Facts | None, settings: Settings, registry: Sequence[Mapping[str, t.Any]] = ()
) -> list[Finding]:
    """All findings for one host, most basic first.

    :param node: facts of the machine that will run the cluster; none when nothing is installed on it
    :param control: facts of the control node; none when another host of the play answers for it
    :param registry: what the registry answered the control node; nothing when it was not asked
    """
    found: list[Finding] = [*settings_findings(settings), *registry_findings(settings.registry, registry)]
    if control is not None:
        found += python_findings(control, settings.python_control, "control node", settings)
        found += environment_findings(control, "the control node", settings)
        found += tool_findings(control, settings)
    if node is not None:
        found += python_findings(node, settings.python_node, "node", settings)
        if "uid" not in node:  # a Python too old to say anything else
            return found
        found += root_findings(node, settings)
        found += clock_findings(node, settings)
        found += distribution_findings(node, settings)
        found += name_findings(node, settings)
        found += directory_findings(node)
        found += marker_findings(node, settings)
        found += owner_findings(node, settings)
        found += architecture_findings(node, settings)
        found += kernel_findings(node, settings)
        found += network_findings(node, settings)
        if control is None or node.get("machine") != control.get("machine"):
            found += environment_findings(node, f"the node {settings.host}", settings)
    found += space_findings(node, control, settings)
    found += memory_findings(node, control, settings)
    for facts, where in ((control, "the control node"), (node, f"the node {settings.host}")):
        for name, problem in sorted(((facts or {}).get("problems") or {}).items()):
            found.append(Finding("warning", "probe", f"The fact {name} of {where}", f"could not be read ({problem})"))
    return list(dict.fromkeys(found))


def settings_findings(settings: Settings) -> Iterator[Finding]:
    """What is wrong with the variables themselves."""
    if settings.provider == "existing" and settings.images and not settings.registry:
        needed = (
            "nothing is put on the nodes of a cluster that is there already, so they pull the images of the platform"
        )
        remedy = "set it to a registry that this machine can push to and the nodes can pull from (host/prefix)"
        yield Finding("error", "registry", "The variable images_registry", "is empty", needed, remedy)
    if settings.provider != "embedded":
        return
    host = re.sub(r":\d+$", "", settings.registry.partition("/")[0])
    if settings.registry and not settings.outbound and host not in settings.own_addresses.values():
        yield Finding(
            "error",
            "registry",
            f"The registry of images_registry ({settings.registry})",
            "cannot be reached by this cluster",
            "nothing leaves it, so that no pod would start any more",
            "set kubernetes_outbound to true as well, or leave images_registry empty: the images are then imported",
        )
    if settings.nodes > 1:
        yield Finding(
            "error",
            "nodes",
            "The play",
            f"has {settings.nodes} hosts",
            "the provider embedded makes a cluster of its own on each, and the platform would be on the first alone",
            "set cluster_provider to k3s for one cluster of all of them, or run it with one host",
        )
    name = settings.instance
    if not re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?", name) or len(name) > INTERFACE_NAME_BYTES:
        yield Finding(
            "error",
            "instance",
            f"The instance name {name!r}",
            f"has {len(name)} characters" if len(name) > INTERFACE_NAME_BYTES else "has other characters",
            f"it also names a network interface, which takes at most {INTERFACE_NAME_BYTES} of a-z, 0-9 and -",
            "set kubernetes_instance to a shorter or plainer name",
        )
    for place, directory in (("run", settings.run_dir), ("data", settings.data_dir)):
        length = len(f"{directory}/{LONGEST_SOCKETS[place]}".encode())
        if directory and length > SOCKET_PATH_BYTES:
            yield Finding(
                "error",
                "socket_path",
                f"The directory {directory}",
                f"makes socket paths of {length} bytes",
                f"the kernel takes at most {SOCKET_PATH_BYTES}",
                f"set kubernetes_{place}_dir to a path that is at least {length - SOCKET_PATH_BYTES} bytes shorter",
            )


def python_findings(facts: Facts, least: tuple[int, ...], where: str, settings: Settings) -> Iterator[Finding]:
    python = facts.get("python") or {}
    wanted = ".".join(map(str, least))
    remedy = (
        f"run Ansible from a virtual environment of Python {wanted} or newer"
        if where == "control node"
        else f"install Python {wanted} or newer there and set ansible_python_interpreter to it"
    )
    place = f"the {where}" if where == "control node" else f"the {where} {settings.host}"
    if facts.get("unreadable"):
        text = f"could not run the probe ({facts['unreadable']})"
        yield Finding("error", "python", f"The Python of {place}", text, f"Python {wanted} or newer is needed", remedy)
    elif tuple(python.get("version") or (0,)) < least:
        version = ".".join(map(str, python.get("version") or ()))
        subject = f"The Python of {place} ({python.get('executable')})"
        yield Finding("error", "python", subject, f"is {version}", f"{wanted} or newer is needed", remedy)


def tool_findings(facts: Facts, settings: Settings) -> Iterator[Finding]:
    managers = facts.get("package_managers")
    if settings.images_built and managers is not None and "apt-get" not in managers:
        yield Finding(
            "error",
            "images",
            "The control node",
            "has no apt-get",
            "the platform's images are built there of Debian packages",
            "run Ansible on Debian or its kin, or set images_registry to a registry that has them and images_push to false",
        )


def root_findings(facts: Facts, settings: Settings) -> Iterator[Finding]:
    if facts["uid"] != 0:
        yield Finding(
            "error",
            "root",
            f"The user on {settings.host}",
            f"has user id {facts['uid']}",
            "root is needed to make namespaces, mounts and services",
            "run as root, or with become: true (option --become)",
        )
        return
    capabilities = facts.get("capabilities") or {}
    for name, purpose in (("sys_admin", "mounts and namespaces"), ("net_admin", "network interfaces")):
        if not capabilities.get(name, True):
            yield Finding(
                "error",
                "capability",
                f"Root on {settings.host}",
                f"lacks CAP_{name.upper()}",
                f"the cluster makes {purpose}",
                "run on a machine of its own, or in a privileged container",
            )
    if not capabilities.get("sys_resource", True):
        text = "lacks CAP_SYS_RESOURCE, so that containers keep the out-of-memory score of containerd"
        yield Finding("note", "capability", f"Root on {settings.host}", text)


def clock_findings(facts: Facts, settings: Settings) -> Iterator[Finding]:
    subject, remedy = f"The clock of {settings.host}", "set it, and let chrony or systemd-timesyncd keep it"
    if facts["time"] < EARLIEST_YEAR_SECONDS:
        yield Finding("error", "clock", subject, "is before the year 2025", "certificates are judged by it", remedy)
        return
    if facts.get("sent") is None:
        return
    # The way to the node takes a moment too, which is why small differences say nothing.
    skew = facts["time"] - facts["sent"]
    if abs(skew) > settings.clock_skew_max:
        text = f"is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the control node's"
        yield Finding("error", "clock", subject, text, f"at most {settings.clock_skew_max:.0f} s are allowed", remedy)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.split("-")[0].split("+")[0])[:3])


def distribution_findings(facts: Facts, settings: Settings) -> Iterator[Finding]:
    if facts.get("system") != "Linux":
        text = f"runs {facts.get('system')}"
        yield Finding("error", "distribution", settings.host, text, "a cluster node needs Linux", "choose another host")
        return
    if settings.provider != "embedded" or not facts.get("os"):
        return
    release, supported = facts["os"], settings.distributions
    name, wanted = release["name"] or release["id"] or "unknown", supported.get(release["id"])
    listed = ", ".join(f"{known} {version}" for known, version in sorted(supported.items()))
    subject, remedy = f"The distribution of {settings.host}", "use such a host, or cluster_provider k3s or existing"
    if wanted is None:
        cousins = [known for known in release.get("like") or [] if known in supported]
        severity: t.Literal["error", "warning"] = "warning" if cousins else "error"
        needed = f"containerd and runc are installed from {listed} or newer"
        yield Finding(severity, "distribution", subject, f"is {name}", needed, remedy)
    elif _version(release["version"]) and _version(release["version"]) < _version(str(wanted)):
        needed = f"{release['id']} {wanted} or newer is needed for a containerd that this Kubernetes can use"
        yield Finding("error", "distribution", subject, f"is {name}", needed, remedy)
    managers = list(settings.package_managers)
    if managers and not set(managers) & set(facts.get("package_managers") or ()):
        yield Finding(
            "error",
            "package_manager",
            f"The host {settings.host}",
            f"has none of {', '.join(managers)}",
            "containerd, runc and the CNI plugins are installed with it",
            "install it, or use cluster_provider k3s or existing",
        )


def name_findings(facts: Facts, settings: Settings) -> Iterator[Finding]:
    name = (settings.node_name or facts["hostname"]).lower()
    labels = name.split(".")
    if not all(re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", label) for label in labels) or len(name) > 63:
        yield Finding(
            "error",
            "hostname",
            f"The host name {name!r}",
            "cannot name a Kubernetes node",
            "at most 63 of a-z, 0-9, - and . are allowed, with a letter or digit at both ends of each part",
            "set another with: hostnamectl set-hostname <name>",
        )


def directory_findings(facts: Facts) -> Iterator[Finding]:
    """What the file system of the data directory can hold, apart from how much, and that no path leads through a link."""
    for name, what in (("data", "data"), ("run", "run-time")):
        place = (facts.get("paths") or {}).get(name)
        if place and place["real"] != normpath(place["path"]):
            yield Finding(
                "error", "link", f"The {what} directory {place['path']}", f"is in truth {place['real']}",
                "a removal has to know what is mounted below it", f"set kubernetes_{name}_dir to {place['real']}",
            )  # fmt: skip
    place = (facts.get("paths") or {}).get("data")
    if not place:
        return
    subject = f"The data directory {place['path']}"
    on = f"is on {place['mount']} ({place['fstype']})"
    remedy = "set kubernetes_data_dir to a directory on ext4, XFS or btrfs"
    if not place["is_directory"]:
        text = f"cannot be made because {place['existing']} is no directory"
        yield Finding("error", "data_dir", subject, text, "it has to be one", "set kubernetes_data_dir to another path")
    for option, why in (("ro", "is mounted read-only"), ("noexec", "is mounted with noexec")):
        if option in place["options"]:
            needed = "programs and volumes are kept and run there"
            fix = f"mount -o remount,{'rw' if option == 'ro' else 'exec'} {place['mount']}, or {remedy}"
            yield Finding("error", "mount_options", subject, f"is on {place['mount']}, which {why}", needed, fix)
    needed = "container root file systems need one that can hold overlay's upper directories"
    if place["fstype"] in NOT_FOR_OVERLAY or str(place["fstype"]).startswith("fuse"):
        yield Finding("error", "overlay_upper", subject, on, needed, remedy)
    elif place["fstype"] not in KNOWN_FOR_OVERLAY:
        yield Finding("warning", "overlay_upper", subject, on, needed, remedy)
    elif place["fstype"] == "xfs" and place["names_have_types"] is False:
        text = f"is on {place['mount']} (xfs made with ftype=0)"
        yield Finding("error", "overlay_upper", subject, text, needed, remedy)


def marker_findings(facts: Facts, settings: Settings) -> Iterator[Finding]:
    """What an earlier installation left: half-finished is resumed, anything that would be overwritten is refused."""
    marker = facts.get("marker")
    if not marker:
        return
    subject = f"The installation in {settings.data_dir}"
    reset = "run playbooks/reset.yml with"
    if marker.get("problem"):
        text = f"cannot be told from {settings.data_dir}/install.json ({marker['problem']})"
        fix = f"remove what is there with {reset.replace('run ', '')} kubernetes_instance={settings.instance}"
        fix += f" and cluster_provider={settings.provider}"
        yield Finding("error", "marker", subject, text, "it must not be overwritten unread", fix)
        return
    provider, version, state = (str(marker.get(key) or "") for key in ("provider", "kubernetes", "state"))
    if provider and provider != settings.provider:
        fix = f"{reset} cluster_provider={provider} first, or choose another kubernetes_instance"
        yield Finding(
            "error", "marker", subject, f"was made by provider {provider}", f"{settings.provider} is asked for", fix
        )
    if _version(version) > _version(settings.version) and settings.version:
        fix = "use the release of paddleflow.core that made it, or a newer one"
        text = f"holds Kubernetes {version}"
        yield Finding(
            "error", "marker", subject, text, f"this release brings {settings.version} and etcd does not go back", fix
        )
    if state == "installing":
        yield Finding("note", "marker", subject, "was not finished by an earlier run and is resumed")


def owner_findings(facts: Facts, settings: Settings) -> Iterator[Finding]:
    """Namespace, sockets and units go by the instance: a second one of that name would take them over."""
    other = facts.get("runs_from")
    if settings.provider == "embedded" and other and other != settings.data_dir:
        yield Finding(
            "error",
            "instance",
            f"The instance {settings.instance} of {settings.host}",
            f"runs from {other}",
            f"{settings.data_dir} would be another cluster of the same name",
            f"leave kubernetes_data_dir at {other}, stop that cluster first, or choose another kubernetes_instance",
        )


def architecture_findings(facts: Facts, settings: Settings) -> Iterator[Finding]:
    """What is compiled and built on the control node runs there, and on its like."""
    own, other = settings.built_for, str(facts.get("architecture") or "")
    if own and other and own != other:
        text, needed = f"is {other}", f"programs and images are built on the control node, which is {own}"
        remedy = "run Ansible on a machine like the node"
        if settings.provider == "k3s":
            remedy += ", or set images_registry to a registry that has images for it and images_push to false"
        yield Finding("error", "architecture", f"The processor of {settings.host}", text, needed, remedy)


def _gib(number: float) -> str:
    return f"{number / GIB:.1f} GiB"


def space_findings(node: Facts | None, control: Facts | None, settings: Settings) -> Iterator[Finding]:
    """Space and inodes; what two directories need of one file system of one machine is added up."""
    needs: list[tuple[str, str, Mapping[str, t.Any], float, int]] = []
    data, cache = settings.data_needs(node), settings.cache_needs()
    for title, variable, facts, key, (size, inodes) in (
        ("data", "kubernetes_data_dir", node, "data", data),
        ("cache", "artifacts_cache_dir", control, "cache", cache),
    ):
        place = ((facts or {}).get("paths") or {}).get(key)
        if place and (size or inodes):
            needs.append((title, variable, {**place, "machine": (facts or {}).get("machine")}, size, inodes))
    groups: dict[tuple[t.Any, t.Any], list[tuple[str, str, Mapping[str, t.Any], float, int]]] = {}
    for need in needs:
        groups.setdefault((need[2]["machine"], need[2]["device"]), []).append(need)
    for group in groups.values():
        place = group[0][2]
        subject = "The file system " + str(place["mount"])
        holds = " and ".join(f"the {title} directory {where['path']}" for title, _name, where, _size, _inodes in group)
        names = " or ".join(name for _title, name, *_rest in group)
        remedy = f"free some there, or set {names} to a directory on a larger one"
        size, inodes = sum(need[3] for need in group), sum(need[4] for need in group)
        if place["free"] < size * GIB:
            text = f"has {_gib(place['free'])} free"
            yield Finding(
                "error", "space", subject, text, f"{holds} need{'s' if len(group) == 1 else ''} {size:.1f} GiB", remedy
            )
        if place["inodes"] and place["inodes_free"] < inodes:
            text = f"has {place['inodes_free']} inodes free"
            yield Finding(
                "error", "inodes", subject, text, f"{holds} need{'s' if len(group) == 1 else ''} {inodes}", remedy
            )


def memory_findings(node: Facts | None, control: Facts | None, settings: Settings) -> Iterator[Finding]:
    for facts, where, size, purpose in (
        (node, settings.host, settings.memory_cluster_gib, "to run the cluster"),
        (
            control,
            "the control node",
            settings.memory_build_gib if settings.compile else 0.0,
            "to compile Kubernetes or Volcano",
        ),
    ):
        memory = (facts or {}).get("memory")
        if not memory or not size:
            continue
        limit = memory.get("limit")
        total = min(memory["total"], limit) if limit else memory["total"]
        if total < size * GIB:
            subject = f"The memory of {where}"
            text = f"is {_gib(total)}{' (limit of its control group)' if total == limit else ''}"
            yield Finding(
                "error", "memory", subject, text, f"{size:.1f} GiB are needed {purpose}", "use a larger machine"
            )


def environment_findings(facts: Facts, where: str, settings: Settings) -> list[Finding]:
    if not facts.get("proxies"):
        return []
    # Of a cluster that is there already only the API server is asked from here, and a proxy in the way shows itself then.
    existing = settings.provider == "existing"
    targets = [] if existing else [*LOCAL, *settings.own_addresses.values()]
    targets += [*settings.node_addresses, *settings.api_hosts]
    targets += [] if existing else [settings.pod_cidr, settings.service_cidr, *CLUSTER_NAMES]
    return proxy_findings(facts["proxies"], [target for target in targets if target], where)
