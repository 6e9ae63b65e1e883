# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""File systems that are declared for a machine without Kubernetes: everything that is wrong with them, and what the agent is told of each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..model import check, mount, storage
from ..model.stores import HELD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..model.table import Field

STATES = ["mounted", "unmounted", "absent"]
_PLACE: Field = {
    "type": "string",
    "pattern": r"(/(?!\.{1,2}(/|$))[^/\x00-\x1f]+)+",
    "max": 1024,
    "says": "an absolute path without . and .., and without / at its end",
}
# Below the folder of the machine's configuration.
_UNIT = "systemd/system/paddleflow-fuse@{}.service.d/places.conf"
# The name is that of a service and of files as well.
FIELDS: dict[str, Field] = {
    "name": {"type": "string", "required": True, "pattern": "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"},
    "state": {"type": "string", "enum": STATES},
    "url": {"type": "string", "min": 1, "max": 2048},
    "mount_point": _PLACE,
    "properties": {"type": "map"},
    "options": {"type": "map"},
    "secrets": {"type": "map", "secret": True},
    "secrets_file": _PLACE,
}


def plan(declared: Sequence[object], config: str) -> dict[str, Any]:
    """`problems` as sentences, and without any `mounts`: of each its name, state and point, the content of the file that declares it
    with its digest, whether its secrets were given, and the seconds that it has to end; and `units`, what systemd is told of each beside
    that, by the names of files.

    :param config: the folder of those files
    """
    found, sentences = [], []
    for place, one in enumerate(declared):
        read, problems = check.read(FIELDS, one)
        name = read.get("name") if isinstance(read.get("name"), str) else ""
        problems = problems or list(_missing(read))
        sentences += [f"{name or f'number {place + 1}'}: {problem.text()}" for problem in problems]
        if not problems:
            entry, problems = _entry(read, config)
            sentences += [f"{name}: {problem.text()}" for problem in problems]
            found.append(entry)
    sentences += list(_together(found))
    if sentences:
        return {"problems": sentences, "mounts": [], "units": {}}
    units = {_UNIT.format(entry["name"]): _unit(entry) for entry in found if entry["state"] != "absent"}
    return {"problems": [], "mounts": [_told(entry) for entry in found], "units": units}


def _missing(read: Mapping[str, Any]) -> Iterator[check.Problem]:
    if read.get("state") == "absent":
        return
    for name in ("url", "mount_point"):
        if name not in read:
            yield check.Problem((name,), "missing", "given unless state is absent")


def _entry(read: dict[str, Any], config: str) -> tuple[dict[str, Any], list[check.Problem]]:
    given = {**read.get("properties", {}), **read.get("options", {})}
    secrets = read.get("secrets", {})
    entry = {"name": read["name"], "state": read.get("state", "mounted"), "point": read.get("mount_point", "")}
    entry |= {"url": read.get("url", ""), "given": given, "inline": bool(secrets)}
    if entry["state"] == "absent":
        return {**entry, "file": "", "same": "", "grace": 0.0}, []
    problems = list(_places_of_secrets(read, given))
    properties, options, wrong = mount.read(entry["url"], {**given, **secrets})
    problems += wrong
    file = read.get("secrets_file") or (f"{config}/secrets/{read['name']}.json" if secrets else None)
    entry["file"] = file
    entry["same"] = "" if wrong else json.dumps([entry["url"], mount.cached(properties, options)], sort_keys=True)
    entry["grace"] = 0.0 if wrong else mount.seconds(options["grace"])
    entry["cache"] = "" if wrong else options["data-cache-path"].rstrip("/") or mount.defaults()["data-cache-path"]
    return entry, problems


def _places_of_secrets(read: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[check.Problem]:
    if "secrets" in read and "secrets_file" in read:
        yield check.Problem(("secrets_file",), "given", "left out beside secrets")
    for name in HELD:
        if name in given:
            remedy = "All may read what is declared."
            yield check.Problem(
                (name,), "given beside what is not secret", "one of secrets, or in secrets_file", remedy
            )
    for name in sorted(set(read.get("secrets", {})) - set(HELD)):
        yield check.Problem(("secrets", name), "not secret", f"one of {', '.join(HELD)}")


def _together(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What several cannot have at once."""
    there = [entry for entry in found if entry["state"] != "absent"]
    for place, entry in enumerate(found):
        if any(other["name"] == entry["name"] for other in found[:place]):
            yield f"{entry['name']}: name is given twice. Give each file system a name of its own."
    for place, entry in enumerate(there):
        for other in there[:place]:
            if _overlap(entry["point"], other["point"]):
                yield (
                    f"{entry['name']}: mount_point is '{entry['point']}', but {other['name']} has '{other['point']}'. Give a folder that is neither "
                    "that nor below nor above it."
                )
            elif entry["same"] and entry["same"] == other["same"]:
                yield (
                    f"{entry['name']}: it is the same place with the same options as {other['name']}, and so would have the same cache, which one "
                    "mount alone can hold. Give it another data-cache-path, or leave it out."
                )


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _unit(entry: Mapping[str, Any]) -> str:
    """A disk that were mounted after the agent began would hide what the agent wrote there before."""
    place = storage.location({"url": entry["url"]})
    wanted = {
        entry["point"].rpartition("/")[0] or "/",
        entry["cache"],
        *([place["subPath"]] if place["type"] == "local" else []),
    }
    paths = " ".join('"{}"'.format(one.replace("%", "%%")) for one in sorted(wanted))
    return f"# Written by paddleflow.core.fuse_agent.\n[Unit]\nRequiresMountsFor={paths}\n"


def _told(entry: Mapping[str, Any]) -> dict[str, Any]:
    content = digest = ""
    if entry["state"] != "absent":
        options = {name: value for name, value in entry["given"].items() if value is not None}
        document = {"url": entry["url"], "point": entry["point"], "options": options, "secrets": entry["file"]}
        content, digest = json.dumps(document, sort_keys=True, indent=2) + "\n", mount.digest(document)
    return {
        **{name: entry[name] for name in ("name", "state", "point", "grace", "inline")},
        "content": content,
        "digest": digest,
    }
