# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A grant: a queue for people and for namespaces, or a file system for namespaces. It is a role with the verb `use` of that
one thing and its binding, so whoever may look at roles sees who may use what; policies.py asks for the verb.

Roles of the whole cluster, also for the file system of a namespace: its name alone then says what goes with a grant, and
nobody but the cluster's administrators can hand it on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import own, user
from .check import Problem
from .names import LABEL, slug

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from .table import Field, Noun

QUEUE = "paddleflow.org/queue"
FILE_SYSTEM = "paddleflow.org/file-system"
ACCOUNT = "system:serviceaccount:"
# Of namespaces that are bound to a queue. Nothing is served under that name: it is asked for, by policies.py.
BOUND = "boundnamespaces"
# Read before a queue is granted.
BESIDE = ("scheduling.volcano.sh/v1beta1", "Queue")

_WHO: Field = {"type": "string", "min": 1, "max": 253}

NOUN: Noun = {
    "api": f"{user.RBAC}/v1",
    "kind": "ClusterRoleBinding",
    "plural": "clusterrolebindings",
    "scope": "Cluster",
    # The names of roles are shared with everybody else's.
    "prefix": "paddleflow-grant-",
    "name": {"type": "string", "min": 1, "max": 253},
    "codes": dict.fromkeys(("queue", "fileSystem"), "GrantResourceTypeNotFound"),
    "spec": {
        "queue": {"type": "string", "pattern": f"^{LABEL}$", "max": 63},
        "fileSystem": {"type": "string", "pattern": f"^{LABEL}/[a-zA-Z0-9_-]{{1,63}}$", "max": 127},
        "people": {"type": "list", "items": user.NAME, "max": 1000},
        "users": {"type": "list", "items": _WHO, "max": 1000},
        "groups": {"type": "list", "items": _WHO, "max": 1000},
        "namespaces": {
            "type": "list",
            "items": {"type": "string", "pattern": f"^{LABEL}$", "max": 63},
            "max": 1000,
        },
    },
}


def problems(_name: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    if "queue" in spec and "fileSystem" in spec:
        yield Problem(("fileSystem",), "given beside queue", "left out", "Make a grant of its own for it.")
    elif "queue" not in spec and "fileSystem" not in spec:
        yield Problem(("queue",), "missing", "the queue, or fileSystem the file system, that is granted")
    if spec.get("queue") == "root":
        yield Problem(("queue",), "'root'", "a queue without children", "Jobs run in the queues below it.")
    for field in ("people", "users", "groups"):
        if "fileSystem" in spec and spec.get(field):
            remedy = "A file system is granted to the namespaces that mount it."
            yield Problem((field,), "given", "left out beside fileSystem", remedy)
    if not any(spec.get(field) for field in ("people", "users", "groups", "namespaces")):
        allowed = "given where no people, users and groups are"
        yield Problem(("namespaces",), "missing", allowed, "A grant is for somebody.")


def beside(_name: str, spec: Mapping[str, Any], queues: Iterable[Mapping[str, Any]]) -> Iterator[Problem]:
    """What only the cluster's queues can tell: jobs run in queues without children, and one pod in another stops all."""
    if "queue" not in spec:
        return
    children = sorted(
        found["metadata"]["name"] for found in queues if found.get("spec", {}).get("parent") == spec["queue"]
    )
    if children:
        shown = ", ".join(children[:5]) + (f" and {len(children) - 5} more" if len(children) > 5 else "")
        remedy = "Grant those of them that are meant."
        yield Problem(("queue",), f"'{spec['queue']}', which has the children {shown}", "a queue without any", remedy)


def build(name: str, _namespace: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    namespaces = sorted(set(spec.get("namespaces", ())))
    role, binding = _identity("ClusterRole", name), _identity(NOUN["kind"], name)
    for made in (role, binding):
        metadata = made["metadata"]
        metadata |= {"labels": dict(own.MANAGED), "annotations": {own.NAME: name}}
        for person in spec.get("people", ()):
            metadata["labels"] |= user.label(person)
        if "queue" in spec:
            metadata["labels"][QUEUE] = spec["queue"]
        else:
            metadata["annotations"][FILE_SYSTEM] = spec["fileSystem"]
    if "queue" in spec:
        rules = [_rule("scheduling.volcano.sh", "queues", [spec["queue"]])]
        if namespaces:
            rules.append(_rule("paddleflow.org", BOUND, namespaces))
    else:
        rules = [_rule("paddleflow.org", "filesystems", [resource(spec["fileSystem"])])]
    role["rules"] = rules
    binding["roleRef"] = {"apiGroup": user.RBAC, "kind": "ClusterRole", "name": role["metadata"]["name"]}
    binding["subjects"] = [
        *({"apiGroup": user.RBAC, "kind": "User", "name": name} for name in sorted(set(spec.get("users", ())))),
        *({"apiGroup": user.RBAC, "kind": "Group", "name": group} for group in sorted(set(spec.get("groups", ())))),
        *({"kind": "ServiceAccount", "namespace": namespace, "name": "default"} for namespace in namespaces),
    ]
    return [role, binding]


def belongings(name: str, _namespace: str) -> list[dict[str, Any]]:
    """The role goes with its binding."""
    return [_identity("ClusterRole", name)]


def declared(binding: Mapping[str, Any]) -> dict[str, Any]:
    """The declaration that a live binding says. A service account other than `default` stands among the users."""
    metadata = binding.get("metadata", {})
    users, groups, namespaces = [], [], []
    for subject in binding.get("subjects") or ():
        if subject["kind"] == "Group":
            groups.append(subject["name"])
        elif subject["kind"] == "User":
            users.append(subject["name"])
        elif subject["name"] == "default":
            namespaces.append(subject["namespace"])
        else:
            users.append(f"{ACCOUNT}{subject['namespace']}:{subject['name']}")
    people = [key.removeprefix(user.LABEL) for key in metadata.get("labels", {}) if key.startswith(user.LABEL)]
    found = {
        "queue": metadata.get("labels", {}).get(QUEUE),
        "fileSystem": metadata.get("annotations", {}).get(FILE_SYSTEM),
        "people": people,
        "users": users,
        "groups": groups,
        "namespaces": namespaces,
    }
    return {key: value for key, value in found.items() if value}


def left(
    binding: Mapping[str, Any], queues: Collection[str], people: Collection[str], file_systems: Collection[str] = ()
) -> list[dict[str, Any]] | None:
    """The objects that a live grant comes to once these queues, users and file systems are gone: none when nothing is left of it,
    and None when it has nothing to do with them. Users are told by the names of their objects, file systems as roles name them."""
    metadata = binding["metadata"]
    if not metadata["name"].startswith(NOUN["prefix"]):
        return None
    spec = declared(binding)
    lost = [one for one in spec.get("people", ()) if own.object_name(user.NOUN, one) in people]
    if spec.get("queue") in queues or ("fileSystem" in spec and resource(spec["fileSystem"]) in file_systems):
        return []
    if not lost:
        return None
    spec["people"] = [one for one in spec["people"] if one not in lost]
    if not any(spec.get(field) for field in ("people", "users", "groups", "namespaces")):
        return []
    built = build(own.name_of(binding), "", spec)
    away = {key for one in lost for key in user.label(one)}
    for one in built:  # with what else was declared of it
        for part in ("labels", "annotations"):
            kept = {key: value for key, value in metadata.get(part, {}).items() if key not in away}
            one["metadata"][part] = kept | one["metadata"][part]
    return built


def resource(file_system: str) -> str:
    """A file system as roles name it: by the names of its objects, which neither can hold a slash."""
    namespace, _slash, name = file_system.partition("/")
    return f"{namespace}/{slug(name)}"


def _rule(group: str, kind: str, names: list[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": [kind], "resourceNames": names, "verbs": ["use"]}


def _identity(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": NOUN["api"], "kind": kind, "metadata": {"name": own.object_name(NOUN, name)}}
