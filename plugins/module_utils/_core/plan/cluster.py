# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Whether a cluster that somebody else made can hold the platform: answers of its API server to findings."""

from __future__ import annotations

import json
import re
import typing as t
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from .access import refused
from .finding import Finding
from .volcano_adoption import class_findings

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

# Kubernetes' words for processors, by those of the kernel.
_PROCESSORS = {"x86_64": "amd64", "aarch64": "arm64"}

# What is asked besides the access reviews. Columns by jsonpath and not whole objects: five thousand nodes are 100 MB.
_TAB, _NEWLINE = '{"\\t"}', '{"\\n"}'


def _columns(*paths: str) -> str:
    return "jsonpath={range .items[*]}" + _TAB.join("{" + path + "}" for path in paths) + _NEWLINE + "{end}"


_NODE = _columns(
    ".metadata.name",
    ".status.nodeInfo.operatingSystem",
    ".status.nodeInfo.containerRuntimeVersion",
    '.status.conditions[?(@.type=="Ready")].status',
    ".spec.unschedulable",
    ".status.nodeInfo.architecture",
)
_STORAGE = _columns(
    ".metadata.name",
    r".metadata.annotations.storageclass\.kubernetes\.io/is-default-class",
)
_WORKLOAD = _columns(
    ".kind",
    ".metadata.namespace",
    ".metadata.name",
    r".metadata.labels.app\.kubernetes\.io/managed-by",
    ".spec.template.spec.containers[*].image",
    ".spec.template.spec.containers[*].command",
    ".spec.template.spec.containers[*].args",
)
QUESTIONS: dict[str, list[str]] = {
    "groups": ["get", "--raw", "/apis"],
    "admission": ["get", "--raw", "/apis/admissionregistration.k8s.io/v1"],
    "nodes": ["get", "nodes", "--output", _NODE],
    "storage": ["get", "storageclasses", "--output", _STORAGE],
    "workloads": ["get", "daemonsets,deployments,statefulsets", "--all-namespaces", "--output", _WORKLOAD],
    "classes": ["get", "priorityclasses", "--output", "json"],
}
READS = {
    "groups": "API groups",
    "nodes": "nodes",
    "storage": "storage classes",
    "workloads": "deployments",
    "classes": "priority classes",
}
# What kubectl, or Python before there is a kubectl, says, what it means, and the remedy. The first that matches counts.
_UNREACHABLE: tuple[tuple[str, str, str], ...] = (
    (
        # The words after the colon are all that is said when a proxy opens no tunnel.
        r"proxyconnect|proxy server|Tunnel connection failed|Proxy Authentication|(^|: )(Forbidden|Bad Gateway|Service Unavailable|Gateway Timeout)$",
        "the proxy does not lead there",
        "add its host to NO_PROXY, or correct proxy-url in the kubeconfig",
    ),
    (
        r"was refused|[Cc]onnection refused",
        "nothing listens there",
        "start the cluster, or correct the server's address",
    ),
    (
        r"no such host|server misbehaving|Name or service not known|name resolution",
        "its name is not known",
        "correct the server's name, or DNS",
    ),
    (r"[Nn]o route to host|[Nn]etwork is unreachable", "there is no route to it", "connect to its network (VPN?)"),
    (
        r"timeout|deadline exceeded|timed out",
        "it does not answer in time",
        "connect to its network (VPN?), or look at its firewall and load",
    ),
    (
        r"HTTP response to HTTPS client|(^|server: )EOF$|WRONG_VERSION_NUMBER|UNEXPECTED_EOF_WHILE_READING",
        "it does not speak TLS",
        "correct the server's address and port",
    ),
    (
        r"certificate signed by unknown authority|certificate is not trusted",
        "its certificate is by another authority than the kubeconfig's",
        "fetch the cluster's kubeconfig again",
    ),
    (
        r"certificate is valid for|not valid for any names|doesn't contain any IP SANs",
        "its certificate is for another name",
        "use a server address that its certificate names, or set tls-server-name",
    ),
    (
        r"has expired or is not yet valid",
        "its certificate is not valid at this time",
        "compare the clocks, then renew the API server's certificate",
    ),
    (
        r"Unauthorized|must be logged in|provide credentials",
        "it refuses the credentials",
        "log in again, or fetch the cluster's kubeconfig again",
    ),
    (
        r"executable .* (not found|failed)|exec plugin|getting credentials",
        "the program that gives the credentials does not work",
        "install it, or run its login",
    ),
    (r"forbidden|Forbidden", "it lets this user read nothing", "use another user or context"),
)


def unreachable(server: str, stderr: str, proxy: str = "") -> Finding:
    """What kubectl's complaint about a server means."""
    # At -v=8 its log is there too: lines that begin with a level and a date, or are indented. One of them has the cause of
    # a failed connection before it is put in other words: when a proxy refuses it, kubectl says that the server did.
    cause = re.search(r"\] Connection error: \w+ \S+: (.+)", stderr)
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and not re.match(r"[IWEF]\d{4} |\s", line)]
    lines = [cause.group(1)] if cause else lines
    said = lines[-1] if lines else "kubectl gave no reason"
    subject = f"The API server {server}"
    meaning, remedy = f"cannot be asked ({said})", "look at the server and the kubeconfig"
    for pattern, words, fix in _UNREACHABLE:
        telling = next((line for line in lines if re.search(pattern, line)), None)
        if telling:
            meaning, remedy = f"cannot be asked: {words} ({telling})", fix
            break
    if proxy:
        remedy += f"; the requests went through the proxy {re.sub(r'//[^@/]*@', '//***@', proxy)}"
    return Finding("error", "unreachable", subject, meaning, "the installation talks to it", remedy)


# That nobody is there. A server that refuses a handshake is: it may want a name or a certificate that kubectl knows.
_NOBODY = re.compile(
    "refused|not known|name resolution|[Nn]o address associated|route to host|unreachable|timed out|WRONG_VERSION|Tunnel|not asked"
)


def silence(result: Mapping[str, t.Any]) -> str:
    """Why a server gave no answer, from the result of the module `uri`; empty when it gave one, whatever it says."""
    if int(result.get("status") or -1) > 0:
        return ""
    said = str(result.get("msg") or "it was not asked").partition("]: ")
    why = re.sub(r"^(Request failed|Connection failure): |<\w+ error (.*)>", r"\2", said[2] or said[0])
    return why if _NOBODY.search(why) else ""


def objects_of(text: str) -> list[dict[str, t.Any]]:
    """JSON objects that stand one after the other, as `kubectl create -o json` prints them."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        value, at = decoder.raw_decode(text, at)
        found.append(value)
    return found


def server_date(stderr: str) -> datetime | None:
    """The Date header of the first response in kubectl's log at -v=8."""
    match = re.search(r"\bDate: (\w{3}, \d{1,2} \w{3} \d{4} [\d:]{8} GMT)", stderr)
    return parsedate_to_datetime(match.group(1)) if match else None


def minor(version: str) -> tuple[int, int]:
    """(1, 34) of ``v1.34.4+k3s1``; (0, 0) when it is no version.

    >>> minor("v1.34.4+k3s1")
    (1, 34)
    """
    match = re.match(r"v?(\d+)\.(\d+)", version)
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)


@dataclass(frozen=True)
class Answer:
    """What one call of kubectl gave."""

    rc: int = 0
    stdout: str = ""
    stderr: str = ""

    @classmethod
    def of(cls, result: Mapping[str, t.Any]) -> Answer:
        return cls(int(result.get("rc", 1)), str(result.get("stdout") or ""), str(result.get("stderr") or ""))

    @property
    def complaint(self) -> str:
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        return lines[-1] if lines else f"kubectl ended with {self.rc}"

    def rows(self) -> list[list[str]]:
        return [line.split("\t") for line in self.stdout.splitlines() if line]


@dataclass
class Cluster:
    """What later tasks want to know of the cluster, filled while it is judged."""

    server: str
    version: str = ""
    nodes: list[str] = field(default_factory=list)
    default_storage_class: str = ""
    # The Volcano of somebody else: its programs (kind namespace/name), and whether its CRDs are served.
    volcano_programs: list[str] = field(default_factory=list)
    volcano_version: str = ""
    volcano_served: bool = False


def judge(
    server: str,
    user: str,
    answers: Mapping[str, Mapping[str, t.Any]],
    *,
    now: datetime,
    supported: tuple[str, str],
    kubectl_version: str = "",
    adopt_volcano: bool = False,
    clock_skew_max: float = 60,
    priority_classes: Mapping[str, int] | None = None,
    built_for: str = "",
) -> tuple[Cluster, list[Finding]]:
    """All findings about a cluster that answers.

    :param answers: results of ``version`` (at -v=8), ``access`` and the QUESTIONS
    :param priority_classes: those that the role volcano will apply, with their values
    :param built_for: the processor that the images are for, in the kernel's words; empty when somebody else builds them
    """
    cluster = Cluster(server)
    given = {name: Answer.of(result) for name, result in answers.items()}
    found = list(_version_findings(cluster, given["version"], supported, kubectl_version))
    found += _clock_findings(cluster, given["version"], now, clock_skew_max)
    found += _access_findings(user, given["access"])
    found += _read_findings(server, given)
    found += _feature_findings(cluster, given["groups"], given["admission"])
    if not given["nodes"].rc:
        found += _node_findings(cluster, given["nodes"].rows())
        found += _processor_findings(cluster, given["nodes"].rows(), _PROCESSORS.get(built_for, built_for))
    if not given["storage"].rc:
        found += _storage_findings(cluster, given["storage"].rows())
    if not given["workloads"].rc:
        found += _volcano_findings(cluster, given["workloads"].rows(), adopt_volcano)
    if not given["classes"].rc:
        found += class_findings(objects_of(given["classes"].stdout)[0]["items"], priority_classes or {})
    return cluster, found


def _version_findings(cluster: Cluster, answer: Answer, supported: tuple[str, str], kubectl: str) -> Iterator[Finding]:
    subject = f"The API server {cluster.server}"
    try:
        cluster.version = str(json.loads(answer.stdout)["gitVersion"])
    except (ValueError, KeyError, TypeError):
        yield Finding(
            "error",
            "version",
            subject,
            "gave no Kubernetes version",
            "it has to be one",
            "correct the server's address",
        )
        return
    least, most = supported
    if not minor(least) <= minor(cluster.version) <= minor(most):
        old = minor(cluster.version) < minor(least)
        remedy = "upgrade the cluster" if old else "use a newer release of paddleflow.core"
        needed = f"{least} to {most} are supported" + (
            " (ValidatingAdmissionPolicy v1 came with 1.30)" if minor(cluster.version) < (1, 30) else ""
        )
        text = f"runs Kubernetes {cluster.version.lstrip('v')}"
        yield Finding("error", "version", subject, text, needed, f"{remedy}, or name another cluster")
    if kubectl and abs(minor(kubectl)[1] - minor(cluster.version)[1]) > 1:
        text = f"is of version {kubectl.lstrip('v')}"
        needed = f"the cluster runs {cluster.version.lstrip('v')} and kubectl may be one minor version away"
        yield Finding("warning", "kubectl", "The kubectl of PATH", text, needed, "install one that fits")


def _clock_findings(cluster: Cluster, answer: Answer, now: datetime, limit: float) -> Iterator[Finding]:
    date = server_date(answer.stderr)
    if date is None:
        return
    skew = (date - now).total_seconds()
    if abs(skew) > limit:
        text = f"is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the control node's"
        remedy = "set the clock that is wrong, and let chrony or systemd-timesyncd keep it"
        subject = f"The clock of the API server {cluster.server}"
        yield Finding("error", "clock", subject, text, f"at most {limit:.0f} s are allowed", remedy)


def _access_findings(user: str, answer: Answer) -> Iterator[Finding]:
    remedy = "bind it to the ClusterRole cluster-admin, or grant just these"
    try:
        answered = objects_of(answer.stdout)
    except ValueError:
        answered = []
    missing, granting = refused(answered)
    if missing:
        needed = "the installation does this"
        yield Finding("error", "access", f"The user {user}", f"may not {'; '.join(missing)}", needed, remedy)
    if granting:
        needed = "who may not has to hold each permission that Volcano's programs are given"
        text, remedy = (
            f"may not {'; '.join(granting)}",
            f"{remedy}; the API server refuses the roles when one is missing",
        )
        yield Finding("warning", "access", f"The user {user}", text, needed, remedy)
    if answer.rc or not answered:
        text = f"cannot be asked for its permissions ({answer.complaint})"
        needed = "the installation needs to know them"
        yield Finding("error", "access", f"The user {user}", text, needed, "grant create on selfsubjectaccessreviews")


def _read_findings(server: str, given: Mapping[str, Answer]) -> Iterator[Finding]:
    for name, what in READS.items():
        # What is forbidden is in the list of missing permissions already.
        if given[name].rc and "forbidden" not in given[name].complaint.lower():
            text = f"does not tell its {what} ({given[name].complaint})"
            needed = "they decide whether the platform can run"
            yield Finding("error", "read", f"The API server {server}", text, needed, "look at the server's log")


def _feature_findings(cluster: Cluster, groups: Answer, admission: Answer) -> Iterator[Finding]:
    subject = f"The API server {cluster.server}"
    try:
        served = {
            str(version["groupVersion"])
            for group in json.loads(groups.stdout)["groups"]
            for version in group["versions"]
        }
    except (ValueError, KeyError, TypeError):
        return
    if "apiextensions.k8s.io/v1" not in served:
        needed = "the platform's kinds are CRDs"
        yield Finding(
            "error", "crds", subject, "does not serve apiextensions.k8s.io/v1", needed, "use a cluster that serves it"
        )
    try:
        resources = {str(item["name"]) for item in json.loads(admission.stdout)["resources"]}
    except (ValueError, KeyError, TypeError):
        resources = set()
    if "validatingadmissionpolicies" not in resources:
        yield Finding(
            "error",
            "admission",
            subject,
            "does not serve ValidatingAdmissionPolicy of admissionregistration.k8s.io/v1",
            "grants are enforced by it",
            "upgrade to 1.30 or newer, or enable it in --runtime-config",
        )
    cluster.volcano_served = any(version.split("/")[0].endswith("volcano.sh") for version in served)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _node_findings(cluster: Cluster, rows: Sequence[Sequence[str]]) -> Iterator[Finding]:
    subject = f"The cluster of {cluster.server}"
    linux = [row for row in rows if len(row) >= 5 and row[1] == "linux"]
    cluster.nodes = [row[0] for row in linux if row[3] == "True" and row[4] != "true"]
    if not cluster.nodes:
        text = (
            "has no node"
            if not rows
            else f"has no Linux node that is Ready and schedulable among {_some([row[0] for row in rows])}"
        )
        yield Finding(
            "error", "nodes", subject, text, "the platform's pods run on such nodes", "add one, or make one Ready"
        )
    ill = [row[0] for row in linux if row[3] != "True"]
    if ill and cluster.nodes:
        text = f"has nodes that are not Ready ({_some(ill)})"
        yield Finding("warning", "nodes", subject, text, "nothing runs there", "look at: kubectl describe node")
    other = [f"{row[0]} with {row[2]}" for row in linux if not re.match(r"(containerd|cri-o)://", row[2])]
    if other:
        text = f"has nodes of another container runtime ({_some(other)})"
        yield Finding(
            "warning",
            "runtime",
            subject,
            text,
            "containerd and CRI-O are what this is tried with",
            "expect surprises there",
        )


def _processor_findings(cluster: Cluster, rows: Sequence[Sequence[str]], built_for: str) -> Iterator[Finding]:
    """Images are built on the control node, for its like."""
    usable = [row for row in rows if row[0] in cluster.nodes and "".join(row[5:])]
    other = [f"{row[0]} with {row[5]}" for row in usable if row[5] != built_for]
    if built_for and other:
        # An image has one tag: a pod of the platform may be placed on any of the nodes.
        yield Finding(
            "error" if len(other) == len(usable) else "warning",
            "architecture",
            f"The cluster of {cluster.server}",
            f"has nodes of another processor ({_some(other)})",
            f"the images are built on the control node, which is {built_for}",
            "run Ansible on a machine like the nodes, or set images_registry to a registry that has images for all of them"
            " and images_push to false",
        )


def _storage_findings(cluster: Cluster, rows: Sequence[Sequence[str]]) -> Iterator[Finding]:
    default = [row[0] for row in rows if len(row) > 1 and row[1] == "true"]
    cluster.default_storage_class = default[0] if default else ""
    if not default:
        has = f"has no default storage class (of {_some([row[0] for row in rows])})" if rows else "has no storage class"
        text = f"{has}, so that claims without a class stay pending"
        yield Finding("note", "storage", f"The cluster of {cluster.server}", text)


def _volcano_findings(cluster: Cluster, rows: Sequence[Sequence[str]], adopt: bool) -> Iterator[Finding]:
    """Programs of a Volcano that this collection did not install; its own carry the label managed-by: paddleflow."""
    for row in rows:
        kind, namespace, name, manager, images, *commands = [*row, *[""] * 7][:7]
        words = " ".join([images, *commands])
        program = re.search(r"\bvc-(scheduler|controller-manager|webhook-manager)\b", words)
        if manager == "paddleflow" or not program:
            continue
        # A scheduler of another name takes other pods and may stay.
        names = re.findall(r"--scheduler-name[=\s\",]+([\w.-]+)", words)
        if program.group(1) == "scheduler" and names and "volcano" not in names:
            continue
        cluster.volcano_programs.append(f"{kind} {namespace}/{name}")
        tag = re.search(r"vc-[a-z-]+:v?([\w.-]+)", images)
        cluster.volcano_version = cluster.volcano_version or (tag.group(1) if tag else "")
    if cluster.volcano_programs:
        subject = f"The cluster of {cluster.server}"
        version = f" {cluster.volcano_version}" if cluster.volcano_version else ""
        text = f"already has a Volcano{version} ({_some(cluster.volcano_programs)})"
        if adopt:
            yield Finding(
                "note",
                "volcano",
                subject,
                f"{text}, which volcano_adopt allows to be taken over",
            )
        else:
            needed = "two schedulers of one name must never run"
            remedy = "remove it, or set volcano_adopt to adopt (preview says first what that does)"
            yield Finding("error", "volcano", subject, text, needed, remedy)
