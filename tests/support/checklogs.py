# SPDX-License-Identifier: Apache-2.0
"""What a cluster's programs wrote that nobody expected: every warning and error that is not listed here with its reason.

A new line that comes again and again fails the run: either it tells of a defect, which is then mended, or it is harmless, and then
says here why. What a program said once or twice may be the moment: about ten programs act on what they last heard of each other,
and on a busy machine that is old. Such a line is shown, and fails the extended run alone.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

# klog, etcd's JSON, containerd's logfmt, CoreDNS; and what no program may ever write.
COMPLAINT = re.compile(
    r'^[WEF]\d{4} |"level":"(?:warn|error|fatal|panic)"|\blevel=(?:warning|error|fatal)|^\[(?:WARNING|ERROR|FATAL)\]'
)
CRASH = re.compile(
    r"^panic: |^fatal error: |^goroutine \d+ \[|Traceback \(most recent call last\)|DATA RACE|concurrent map|Observed a panic"
)

# Before the line itself: svlogd's time, or the time, stream and tag of a container's log.
STAMP = re.compile(r"^(?:\d{4}-\d\d-\d\d_\S+ |\d{4}-\d\d-\d\dT\S+ std(?:out|err) [FP] )")


# How many times one line makes a defect.
OFTEN = 5


@dataclass(frozen=True)
class Harmless:
    source: str  # which programs, as a regular expression over their names
    line: str
    why: str


HARMLESS = (
    Harmless("etcd", r"rejected connection on client endpoint", "gRPC tries a connection and takes another"),
    Harmless("etcd", r"on single port\. This is not recommended", "one member on one node"),
    Harmless("etcd", r"simple token is not cryptographically signed", "its users are certificates"),
    Harmless(
        "etcd",
        r'took too long|slow fdatasync|waiting for ReadIndex|overloaded|"msg":"request stats"',
        "a slow disk or a busy machine",
    ),
    Harmless("etcd", r"failed to update storage version.*missing term", "it has only just started"),
    Harmless("apiserver", r"createTransport failed to connect", "the other side of what etcd rejected"),
    Harmless("apiserver", r"Skipping API \S+ because it has no resources", "said at every start"),
    Harmless("apiserver", r"namespaces \\?\"kube-system\\?\" not found", "before it has made the namespace"),
    Harmless("apiserver", r"Found stale data, removed previous endpoints", "said at every start without a reconciler"),
    Harmless("apiserver", r"slow openapi aggregation", "a busy machine"),
    Harmless("apiserver", r"is not allocated; repairing", "it looks over the addresses while a service is being made"),
    Harmless("apiserver", r"http2: stream closed", "a client that was killed"),
    Harmless("controller-manager", r"unable to get REST mapping", "it learns of new kinds every half minute"),
    Harmless("containerd", r"clean(?:up warnings|ing up after shim disconnected)", "said of every container that ends"),
    Harmless("containerd", r"ContainerStatus for .*NotFound", "asked about a container that is gone"),
    Harmless(
        "kubelet", r"ContainerStatus from runtime service failed.*NotFound", "asked about a container that is gone"
    ),
    Harmless(
        "kubelet", r"no relationship found between node", "asked before the authorizer has seen the pod; asked again"
    ),
    Harmless("kubelet", r"failed to sync (?:secret|configmap) cache|nestedpendingoperations", "the same, of volumes"),
    Harmless("kubelet", r"[Nn]odes? \\?\"\S+\\?\" not found", "it has not registered itself yet"),
    Harmless("kubelet", r"checkpoint is not found|may not have completed yet", "its first start"),
    Harmless("kubelet", r"unknown method RuntimeConfig", "containerd before 1.7; the kubelet's own setting holds"),
    Harmless("kubelet", r"no imagefs label for configured runtime", "containerd before 1.7; one file system"),
    Harmless(
        "kubelet", r"Failed to set rlimit on max file handles", "without CAP_SYS_RESOURCE; the limit is already high"
    ),
    Harmless(
        "kubelet", r"Failed to ensure process in container with oom score", "the init of a container, not of a machine"
    ),
    Harmless(
        "coredns", r"Failed to watch|starting server with unsynced Kubernetes API", "it starts before it may read"
    ),
    Harmless("controllers|scheduler|webhooks", r"Neither --kubeconfig nor --master was specified", "a pod"),
    Harmless(
        "scheduler", r"argument node is null|received argument of nil node", "Volcano, of pods that have no node yet"
    ),
    # Each acts on what it last heard of, and is told when that is over: a demonstration takes its jobs away again.
    Harmless(
        "controllers|scheduler",
        r'"\S+" not found|the object has been modified|already exists|object is being deleted',
        "Volcano, of an object that went or changed a moment ago; it looks again",
    ),
    Harmless(
        "scheduler|controllers",
        r"paddleflow-(?:demo|verify-\w+)/|Failed to get task for sync task",
        "Volcano, of jobs that are taken away while they are placed, bound or run",
    ),
    Harmless("controller-manager", r"unexpected items still remain in namespace", "until its pods have ended"),
)


# What tests of the API server alone do to it on purpose.
PROVOKED = tuple(
    Harmless("apiserver", line, why)
    for line, why in (
        (r"Unable to authenticate the request", "they come with wrong tokens"),
        (
            r"rejected by webhook|Failed calling webhook",
            "they declare what is refused, by webhooks of wrong certificates too",
        ),
        (r"Couldn't parse request|error that is not an metav1\.Status", "they ask for nonsense"),
        (r"failed to update managedFields.* expected (?:string|numeric)", "they write what no schema allows"),
        (
            r"[Tt]imeout or abort while handling|[Pp]ost-timeout activity|context (?:canceled|deadline exceeded)",
            "they go away in the middle of a request",
        ),
    )
)


def complaints(source: str, text: str, harmless: Sequence[Harmless] = HARMLESS) -> bool:
    known = (entry.line for entry in harmless if re.fullmatch(entry.source, source))
    return bool(COMPLAINT.search(text)) and not any(re.search(line, text) for line in known)


def crashes_in(_source: str, text: str) -> bool:
    return bool(CRASH.search(text))


def programs(data: Path) -> dict[str, list[Path]]:
    """The logs of an embedded cluster by program: its services, and the containers of the platform's own pods."""
    found = {
        folder.name: [*sorted(folder.glob("@*")), folder / "current"] for folder in sorted((data / "log").iterdir())
    }
    if not found:  # under systemd they are the journal's; nobody may take that for silence
        raise FileNotFoundError(f"{data}/log holds no log of any service")
    for path in sorted((data / "pods-log").glob("volcano-system_*/*/*.log")):
        found.setdefault(f"pod/{path.parent.name}", []).append(path)
    return found


def ready_since(data: Path) -> str:
    """When the cluster was first complete, as svlogd writes times. Before that each program complains of those to come."""
    completed = datetime.fromtimestamp((data / "install.json").stat().st_mtime, UTC)
    return f"{completed:%Y-%m-%d_%H:%M:%S}"


def matching(logs_of: Mapping[str, list[Path]], wrong: Callable[[str, str], bool], since: str = "") -> Iterator[str]:
    for program, logs in logs_of.items():
        for path in logs:
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                text = STAMP.sub("", line)
                if line[10:11] == "_" and line[:19] < since:
                    continue
                if wrong(program.removeprefix("pod/"), text):
                    yield f"{program}: {text[:400]}"


def unexpected(data: Path) -> list[str]:
    """Of a cluster that nobody disturbed."""
    lines = list(matching(programs(data), complaints, ready_since(data)))
    times = Counter(map(_shape, lines))
    strict = bool(os.environ.get("PADDLEFLOW_EXTENDED"))
    again = [line for line in lines if strict or times[_shape(line)] >= OFTEN]
    for line in lines if not again else ():
        print(f"said {times[_shape(line)]} times: {line}", file=sys.stderr)
    return [*again, *crashes(programs(data))]


def _shape(line: str) -> str:
    """Without what differs each time: dates, numbers, the names of pods and objects."""
    return re.sub(r"\w*\d\w*", "#", line)


def said_by_api(folder: Path) -> list[str]:
    """Of a control plane of its own (control_plane.py), to which tests do what they like: the list above has to have held for
    more runs before anything but a crash fails every one of them."""
    logs = {path.stem.removeprefix("kube-"): [path] for path in folder.glob("*.log") if path.stem != "audit"}
    strict = os.environ.get("PADDLEFLOW_EXTENDED")
    return [*(matching(logs, partial(complaints, harmless=HARMLESS + PROVOKED)) if strict else ()), *crashes(logs)]


def crashes(logs_of: Mapping[str, list[Path]]) -> list[str]:
    """Whatever is done to the others, no program may crash."""
    return list(matching(logs_of, crashes_in))


if __name__ == "__main__":
    lines = unexpected(Path(sys.argv[1]))
    print("".join(f"{line}\n" for line in lines), end="")
    sys.exit(bool(lines))
