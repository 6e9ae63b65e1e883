# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""SampleSet: a data set that is brought near to the jobs that read it. The kind and its fields are the reference's.

So the definition refuses nothing that the reference's took and could work with; more is said to who declares.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from . import own
from .check import HIDDEN, Path, Problem, show
from .names import LABEL
from .placement import NODE_AFFINITY, TOLERATIONS, affinity_problems
from .status import STATUS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .table import Field, OwnNoun, Rule

# What can be before :// in the address of a source, and in the field storage of a Secret.
SCHEMES = (
    "b2", "bos", "ceph", "cos", "eos", "file", "gs", "hdfs", "ibmcos", "jss", "ks3", "minio", "mss", "nos", "obs", "oos",
    "oss", "qingstor", "qiniu", "redis", "s3", "scs", "scw", "space", "speedy", "swift", "tikv", "ufile", "wasabi", "wasb",
    "webdav",
)  # fmt: skip
# The name of a Secret that means: no credentials.
ANONYMOUS = "none"

_NUMBER: Field = {"type": "int", "min": 0}
_TEXT: Field = {"type": "string", "max": 4096}
SECRET_REF: Field = {
    "type": "object",
    "doc": "sample.secretRef",
    "fields": {"name": {"type": "string", "max": 253}, "namespace": {"type": "string", "max": 63}},
}
_MOUNT: dict[str, Field] = {
    "metrics": _TEXT,
    "attr-cache": _NUMBER,
    "entry-cache": _NUMBER,
    "dir-entry-cache": _NUMBER,
    "enable-xattr": {"type": "bool"},
    "get-timeout": _NUMBER,
    "put-timeout": _NUMBER,
    "io-retries": _NUMBER,
    "max-uploads": _NUMBER,
    "buffer-size": _NUMBER,
    "prefetch": _NUMBER,
    "writeback": {"type": "bool"},
    "cache-dir": _TEXT,
    "cache-size": _NUMBER,
    "free-space-ratio": {"type": "string", "max": 32},
    "cache-partial-only": {"type": "bool"},
    "open-cache": _NUMBER,
    "sub-dir": _TEXT,
}
_LEVELS: Field = {
    "type": "list",
    "min": 1,
    "max": 16,
    "items": {
        "type": "object",
        "fields": {
            "mediumType": {"type": "string", "enum": ["MEM", "SSD", "HDD"]},
            "path": {"type": "string", "min": 1, "max": 4096},
            "cacheSize": _NUMBER,
        },
    },
}
_CACHE_STATUS = (
    "totalSize", "totalFiles", "cachedSize", "diskSize", "diskUsed", "diskAvail", "diskUsageRate", "errorMassage",
)  # fmt: skip
_UNBOUND = "oldSelf.?status.?phase.orValue('') == ''"
_UNSYNCED = "!(oldSelf.?status.?phase.orValue('') in ['PartialReady', 'Ready'])"


def _frozen(field: str, free: str, when: str) -> Rule:
    """The reference takes such a change and does nothing about it."""
    part = field.partition(".")[0]
    given, before = f"has(self.spec.{part})", f"has(oldSelf.spec.{part})"
    if part != field:
        given, before = f"({given} && has(self.spec.{field}))", f"({before} && has(oldSelf.spec.{field}))"
    return {
        "rule": f"{free} || {given} == {before} && (!{given} || self.spec.{field} == oldSelf.spec.{field})",
        "message": f"spec.{field} cannot be changed {when}: make another SampleSet",
    }


# By the label's key of what is made for it, juicefs-<name>.
LONGEST = 55

NOUN: OwnNoun = {
    "api": "batch.paddlepaddle.org/v1alpha1",
    "kind": "SampleSet",
    "plural": "samplesets",
    "short_names": ["sps"],
    "scope": "Namespaced",
    "ready": {"present": {"path": "status.phase", "values": ["Ready", "PartialReady"], "failed": ["SyncFailed"]}},
    "name": {"type": "string", "pattern": f"^{LABEL}$", "min": 1, "max": LONGEST},
    "spec": {
        "partitions": {"type": "int", "default": 1, "min": 1, "max": 2147483647},
        "source": {
            "type": "object",
            "fields": {"uri": {"type": "string", "min": 10, "max": 4096}, "secretRef": SECRET_REF},
        },
        "secretRef": SECRET_REF,
        "noSync": {"type": "bool"},
        "csi": {
            "type": "object",
            "fields": {
                "driver": {"type": "string", "enum": ["juicefs"], "default": "juicefs"},
                "juiceFSMountOptions": {"type": "object", "fields": _MOUNT},
            },
        },
        "cache": {"type": "object", "fields": {"levels": _LEVELS}},
        "nodeAffinity": NODE_AFFINITY,
        "tolerations": TOLERATIONS,
    },
    "status": {
        **STATUS,
        "phase": {"type": "string", "max": 63},
        "cacheStatus": {"type": "object", "fields": dict.fromkeys(_CACHE_STATUS, _TEXT)},
        "runtimeStatus": {
            "type": "object",
            "fields": {"runtimeReady": _TEXT, "specReplicas": _NUMBER, "readyReplicas": _NUMBER},
        },
        "jobsName": {"type": "object", "fields": {"syncJobName": _TEXT, "warmupJobName": _TEXT}},
    },
    "scale": {"spec": ".spec.partitions", "status": ".status.runtimeStatus.specReplicas"},
    "rules": [
        {
            "rule": f"self.metadata.name.size() <= {LONGEST}",
            "message": f"metadata.name must have at most {LONGEST} characters",
        },
        _frozen("source.uri", _UNSYNCED, "once it has been synchronised"),
        {
            "rule": f"self.spec.?noSync.orValue(false) == oldSelf.spec.?noSync.orValue(false) || {_UNSYNCED}",
            "message": "spec.noSync cannot be changed once it has been synchronised: make another SampleSet",
        },
        *(
            _frozen(field, _UNBOUND, "once its volume is bound")
            for field in ("secretRef", "csi", "cache", "nodeAffinity", "tolerations")
        ),
    ],
    "columns": [
        {"name": "TOTAL SIZE", "type": "string", "path": ".status.cacheStatus.totalSize"},
        {"name": "CACHED SIZE", "type": "string", "path": ".status.cacheStatus.cachedSize"},
        {"name": "AVAIL SPACE", "type": "string", "path": ".status.cacheStatus.diskAvail"},
        {"name": "Runtime", "type": "string", "path": ".status.runtimeStatus.runtimeReady"},
        {"name": "PHASE", "type": "string", "path": ".status.phase"},
        {"name": "AGE", "type": "date", "path": ".metadata.creationTimestamp"},
    ],
}


def problems(_name: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    if not spec.get("secretRef", {}).get("name"):
        allowed = f"the name of a Secret, or {ANONYMOUS} where the store asks for no credentials"
        yield Problem(("secretRef", "name"), "missing", allowed)
    uri = spec.get("source", {}).get("uri", "")
    if uri:
        yield from source_problems(uri, ("source", "uri"), bool(spec.get("noSync")))
    elif not spec.get("noSync"):
        yield Problem(("source", "uri"), "missing", "given unless noSync says that the data is there already")
    ratio = spec.get("csi", {}).get("juiceFSMountOptions", {}).get("free-space-ratio", "")
    if ratio and not _share(ratio):
        yield Problem(("csi", "juiceFSMountOptions", "free-space-ratio"), f"'{ratio}'", "a number from 0 to below 1")
    for number, level in enumerate(spec.get("cache", {}).get("levels", ())):
        for path in level.get("path", "/").split(":"):
            if not path.startswith("/") or ".." in path.split("/"):
                place: Path = ("cache", "levels", number, "path")
                yield Problem(place, show(level["path"]), "absolute directories without .., between colons")
                break
    yield from affinity_problems(spec.get("nodeAffinity", {}), ("nodeAffinity",))


def _share(text: str) -> bool:
    number = float(text) if re.fullmatch(r"\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", text) else 1
    return number < 1


def source_problems(uri: str, path: Path, bare: bool = False) -> Iterator[Problem]:
    """Of the address of data; `bare`: a bucket without a scheme will do."""
    scheme, colon, rest = uri.partition("://")
    if "@" in rest.partition("/")[0]:
        yield Problem(path, HIDDEN, "an address without keys in it", "Keys stand in the Secret that secretRef names.")
    elif "://" in rest or not (colon or bare):
        yield Problem(path, show(uri), "like <scheme>://<bucket>/<path>")
    elif colon and scheme.lower() not in SCHEMES:
        yield Problem(path, show(uri), f"an address of one of {', '.join(SCHEMES)}")


def build(name: str, namespace: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [own.build(NOUN, name, namespace, spec)]


def declared(found: Mapping[str, Any]) -> dict[str, Any]:
    return dict(found.get("spec", {}))
