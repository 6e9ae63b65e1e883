# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""How a node mounts a file system: what can be said to the agent beside where the files are. The flags of its command, the
extraConfig of a cache policy and the options behind -o are these; sizes are in bytes and times in seconds, as quantities."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from . import check, quantity, storage
from .check import Problem, show
from .stores import HELD, PROPERTIES, STORES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .table import Field

_FOLDER: Field = {"type": "string", "pattern": r"^(/[^/\x00-\x1f]+)*/?$", "max": 1024, "says": "an absolute path"}
_AMOUNT: Field = {"type": "quantity", "min": 0}
_BOOL: Field = {"type": "bool"}

# Where the agent serves what is mounted, not the kernel alone.
TYPES = ("s3", "bos", "hdfs", "sftp", "local")

MOUNT: dict[str, Field] = {
    "read-only": {**_BOOL, "default": False, "aliases": ["ro"]},
    "allow-other": {**_BOOL, "default": True, "aliases": ["allow_other"]},
    "profile": {"type": "string", "enum": ["auto", "small", "large"], "default": "auto"},
    "passthrough": {**_BOOL, "default": True},
    "session": {"type": "string", "enum": ["auto", "direct", "pyfuse3"], "default": "auto"},
    "capacity": {**_AMOUNT, "default": "1Pi"},
    "conflict": {"type": "string", "enum": ["last", "fail"], "default": "last"},
    "locks": {"type": "string", "enum": ["kernel", "refuse"], "default": "kernel"},
    "disable-xattrs": {**_BOOL, "default": True},
    # What is cached.
    "data-cache-path": {**_FOLDER, "default": "/var/cache/paddleflow/fuse"},
    "data-cache-quota": {**_AMOUNT, "default": 0},
    "data-cache-files": {**_AMOUNT, "default": 0},
    "data-cache-expire": {**_AMOUNT, "default": 0},
    "free-space-ratio": {**_AMOUNT, "default": "0.3"},
    "clean-cache": {**_BOOL, "default": False},
    "block-size": {**_AMOUNT, "default": "20Mi"},
    "memory-cache-size": {**_AMOUNT, "default": "512Mi"},
    "data-read-ahead-size": {**_AMOUNT, "default": "200Mi"},
    # What is known of names, and for how long; whether listings outlive the mount, which is to say on disk.
    "meta-cache-driver": {"type": "string", "enum": ["mem", "disk"], "default": "mem"},
    "meta-cache-expire": {**_AMOUNT, "default": 5},
    "entry-cache-expire": {**_AMOUNT, "default": 5},
    "attr-timeout": {**_AMOUNT, "default": 1},
    "entry-timeout": {**_AMOUNT, "default": 1},
    # Bytes a second that pass between the agent and the store, 0 for as many as do: of this mount, and of all of the machine together.
    "rate-limit-read": {**_AMOUNT, "default": 0},
    "rate-limit-write": {**_AMOUNT, "default": 0},
    "node-rate-limit-read": {**_AMOUNT, "default": 0},
    "node-rate-limit-write": {**_AMOUNT, "default": 0},
    # How the agent runs.
    "grace": {**_AMOUNT, "default": 30},
    "deadline": {**_AMOUNT, "default": 300},
    "spin": {**_AMOUNT, "default": "100u"},
    "log-level": {"type": "string", "enum": ["DEBUG", "INFO", "WARNING", "ERROR"], "default": "INFO"},
    "log-format": {"type": "string", "enum": ["text", "json"], "default": "text"},
}
_LINKS = "Links are part of what is mounted, and are followed as it says."
_ENDPOINT = "One endpoint serves the metrics of all agents of a machine: paddleflow-fuse exporter."
# Of older commands: understood, and without effect; whoever gives one is told why.
RETIRED: dict[str, str] = {
    "ignore-security-labels": "No labels are kept: who asks for one is told so at once, and no store is asked.",
    "skip-check-links": _LINKS,
    "link-update-interval": _LINKS,
    "link-meta-dir-prefix": _LINKS,
    "meta-cache-path": "Names lie beside the data, in data-cache-path, where meta-cache-driver is disk.",
    "path-cache-expire": "Names are believed for as long as entry-cache-expire says, what is known of their files for meta-cache-expire.",
    "metrics-service-on": _ENDPOINT,
    "metrics-service-port": _ENDPOINT,
    "pprof-port": "Nothing listens for profilers; py-spy looks at a running agent.",
    "log-dir": "It logs to where it was started: to a terminal, to the journal, or with --daemon to the file that --log names.",
}
# What else they had: this is to be done instead.
REFUSED: dict[str, str] = {
    "mount-point": "It stands behind the address: paddleflow-fuse mount URL POINT.",
    "mount-options": "Each is one of -o.",
    "local": "Mount a folder of this machine as local://srv/data, which is /srv/data.",
    "local-root": "Mount a folder of this machine as local://srv/data, which is /srv/data.",
    "config": "Mount what a file declares with paddleflow-fuse run FILE.",
    **dict.fromkeys(
        ("server", "fs-id", "fs-info", "sts", "user-name"),
        "No server is asked: the address and -o say what to mount, and --secrets with which keys.",
    ),
}
RATES = tuple(name for name in MOUNT if "rate-limit" in name)
# How fast a file system is served, with how much of the machine, and how long a thing may take: it changes while it is mounted, and makes no
# other cache. All else is of the mount's whole life: the kernel was told so, or what is known and cached was made by it.
LIVING = (
    *RATES, "data-cache-quota", "data-cache-files", "data-cache-expire", "free-space-ratio", "memory-cache-size",
    "data-read-ahead-size", "grace", "deadline", "spin", "log-level",
)  # fmt: skip
_LEAST_FREE = quantity.parse("0.1")
_LONGEST_SPIN = quantity.parse("1m")


def defaults() -> dict[str, Any]:
    return {name: field["default"] for name, field in MOUNT.items()}


def cached(properties: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """By what one cache of the same files differs from another: no secrets, not by what and how they are served, and not what is as it is
    where nothing is said, also by a release that knows more options: what that one did not store, this one does."""
    usual, aside = defaults(), (*HELD, *LIVING, "session")
    return {
        name: value
        for name, value in {**properties, **options}.items()
        if name not in aside and (name not in usual or value != usual[name])
    }


def digest(declared: Mapping[str, Any]) -> str:
    """Of what declares a mount; up to the point that of what it is for its whole life.

    :param declared: options may be among it
    """
    options = declared.get("options", {})
    living = {name: value for name, value in options.items() if name in LIVING}
    lasting = {**declared, "options": {name: value for name, value in options.items() if name not in LIVING}}
    return ".".join(sha256(json.dumps(part, sort_keys=True).encode()).hexdigest() for part in (lasting, living))


def read(url: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], list[Problem]]:
    """The properties of the store, the options of the mount with their defaults, and everything that is wrong."""
    known, values = {**PROPERTIES, **MOUNT}, {name: value for name, value in given.items() if name not in RETIRED}
    refused = [
        Problem((name,), "an option of an older command", "left out", REFUSED[name])
        for name in values
        if name in REFUSED
    ]
    values = {name: value for name, value in values.items() if name not in REFUSED}
    if "no-implicit-dir" in values:
        known["no-implicit-dir"] = _BOOL
    strange = [name for name in values if name not in known and name not in _aliases(known)]
    found, problems = check.read(known, {name: value for name, value in values.items() if name not in strange})
    problems += [*refused, *_unknown(url, strange, known)]
    if found.pop("no-implicit-dir", False):
        found["implicitDirectories"] = False
    properties = {name: value for name, value in found.items() if name in PROPERTIES}
    mount = {**defaults(), **{name: value for name, value in found.items() if name in MOUNT}}
    if not problems:
        spec: dict[str, Any] = {"url": url, "properties": properties}
        if not any(name in properties for name in HELD):
            spec["secretRef"] = {}  # they come from where the agent runs
        problems = [*storage.problems(spec, TYPES), *_faults(mount)]
        problems = [
            problem._replace(path=problem.path[1:]) if problem.path[0] == "properties" else problem
            for problem in problems
        ]
    return properties, mount, problems


def _aliases(fields: Mapping[str, Field]) -> set[str]:
    return {alias for field in fields.values() for alias in field.get("aliases", ())}


def _unknown(url: str, names: list[str], known: Mapping[str, Field]) -> Iterator[Problem]:
    """Each with what may have been meant, and the last one with all that there is: it is much."""
    from difflib import get_close_matches  # only on the way to an error

    for name in names:
        close = get_close_matches(str(name), [*known, *_aliases(known)], n=1, cutoff=0.5)
        remedy = [f"Did you mean {close[0]}?"] if close else []
        if name == names[-1]:
            remedy.append(f"There are {', '.join(sorted({*MOUNT, *_taken(url)} - {*HELD}))}.")
        yield Problem((name,), "not known here", "an option of a mount", " ".join(remedy))


def held(url: str) -> list[str]:
    """What of a place's properties stands in its file of secrets."""
    return [name for name in HELD if name in _taken(url)]


def _taken(url: str) -> list[str]:
    """What the stores of an address take, or all where it is none of ours."""
    store = STORES.get(url.partition(":")[0])
    return [*store["needs"], *store["credentials"], *store["may"]] if store else [*PROPERTIES]


def _faults(mount: Mapping[str, Any]) -> Iterator[Problem]:
    for name, field in MOUNT.items():
        amount = mount[name]
        if field["type"] == "quantity" and quantity.parse(amount) > quantity.parse("1Ei"):
            yield Problem((name,), show(amount), "at most 1Ei")
    if not _LEAST_FREE <= quantity.parse(mount["free-space-ratio"]) < quantity.UNIT:
        yield Problem(("free-space-ratio",), show(mount["free-space-ratio"]), "from 0.1 to below 1")
    if quantity.parse(mount["spin"]) > _LONGEST_SPIN:
        yield Problem(("spin",), show(mount["spin"]), "at most 1m, a thousandth of a second")
    for name in RATES:
        if 0 < quantity.parse(mount[name]) < quantity.UNIT:
            yield Problem((name,), show(mount[name]), "0, or at least 1")
    if mount["profile"] == "small" and not mount["read-only"]:
        remedy = "Without opens nobody hears when a file is closed after it was written."
        yield Problem(("profile",), "'small'", "given beside read-only", remedy)


def size(amount: object) -> int:
    """In bytes."""
    return quantity.parse(amount) // quantity.UNIT


def seconds(amount: object) -> float:
    return quantity.parse(amount) / quantity.UNIT
