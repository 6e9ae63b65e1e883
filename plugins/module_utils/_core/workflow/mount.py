# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""File systems of a document: what is mounted into steps, and what their caches depend on (spec 1.8 and 1.9)."""

from __future__ import annotations

import posixpath
import re
from typing import Any, NamedTuple

from ..model.check import show
from .finding import At, Report, boolean, entries, string

MODES = ("mtime", "content")
FOREVER = -1


class Mount(NamedTuple):
    name: str
    sub_path: str
    mount_path: str  # nothing for the default
    read_only: bool
    at: At


class Scope(NamedTuple):
    """A part of a file system that a cached step depends on."""

    name: str
    path: str
    at: At


class Cache(NamedTuple):
    """None where it is not said."""

    enable: bool | None = None
    max_expired_time: int | None = None
    mode: str | None = None
    scopes: tuple[Scope, ...] = ()


def mount(report: Report, value: object, at: At, main: bool = False) -> Mount | None:
    given = entries(report, value, at, ("id", "name", "sub_path", "mount_path", "read_only"))
    name = string(report, "1.9", given.get("name", ""), at.of("name"))
    if not name and isinstance(value, dict) and isinstance(given.get("name", ""), str):
        report.wrong("1.9", at.of("name"), "missing", "the name of a file system")
    sub_path = string(report, "1.9", given.get("sub_path", ""), at.of("sub_path"))
    if sub_path.startswith("/") or ".." in sub_path.split("/"):
        report.wrong(
            "1.9", at.of("sub_path"), show(sub_path), "a path below the file system's root, without / before it"
        )
    mount_path = string(report, "1.9", given.get("mount_path", ""), at.of("mount_path"))
    if mount_path and resolved(mount_path) == "/":
        report.wrong("1.9", at.of("mount_path"), show(mount_path), "another directory than /")
    read_only = boolean(report, "1.9", given.get("read_only", False), at.of("read_only"))
    if main and read_only:
        report.wrong(
            "1.9", at.of("read_only"), "true", "false for the main file system", "Artifacts are written to it."
        )
    return Mount(name, sub_path, mount_path, read_only, at) if name else None


def mounts(report: Report, value: object, at: At) -> list[Mount]:
    if not isinstance(value, list):
        report.wrong("1.9", at, show(value), "a list of file systems")
        return []
    found = (mount(report, one, at.of(number)) for number, one in enumerate(value))
    return [one for one in found if one]


def options(report: Report, value: object, at: At) -> tuple[Mount | None, list[Mount]]:
    given = entries(report, value, at, ("main_fs", "extra_fs"))
    main = mount(report, given["main_fs"], at.of("main_fs"), True) if "main_fs" in given else None
    return main, mounts(report, given.get("extra_fs", []), at.of("extra_fs"))


def resolved(mount_path: str) -> str:
    return posixpath.normpath("/" + mount_path.lstrip("/"))


def twice(report: Report, mounted: list[Mount]) -> None:
    """Two at one place, of all that a step has (Y-40)."""
    first: dict[str, Mount] = {}
    for one in mounted:
        # The default is a folder of the file system's own.
        path = resolved(one.mount_path) if one.mount_path else f"the default of {one.name}"
        if path in first:
            other = "".join(f".{part}" if isinstance(part, str) else f"[{part}]" for part in first[path].at.path)
            found = f"{path}, as of {other.lstrip('.')}"
            report.wrong("Y-40", one.at.of("mount_path"), found, "another mount path than those of the step's others")
        first.setdefault(path, one)


def cache(report: Report, value: object, at: At) -> Cache:
    given = entries(report, value, at, ("enable", "max_expired_time", "fs_scope", "mode"))
    enable = boolean(report, "1.8", given["enable"], at.of("enable")) if "enable" in given else None
    mode = given.get("mode")
    if mode is not None and mode not in MODES:
        report.wrong("K-5", at.of("mode"), show(mode), f"one of {', '.join(MODES)}")
        mode = None
    scopes = given.get("fs_scope", [])
    if not isinstance(scopes, list):
        report.wrong("1.8", at.of("fs_scope"), show(scopes), "a list of name and path")
        scopes = []
    found = (_scope(report, one, at.of("fs_scope", number)) for number, one in enumerate(scopes))
    return Cache(enable, _seconds(report, given, at), mode, tuple(one for one in found if one))


def _seconds(report: Report, given: dict[str, Any], at: At) -> int | None:
    value = given.get("max_expired_time")
    if isinstance(value, str) and re.fullmatch("-?[0-9]{1,18}", value):
        return int(value)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    report.wrong("1.8", at.of("max_expired_time"), show(value), f"a number of seconds, or {FOREVER} for ever")
    return None


def _scope(report: Report, value: object, at: At) -> Scope | None:
    given = entries(report, value, at, ("id", "name", "path"))
    name = string(report, "1.8", given.get("name", ""), at.of("name"))
    if not name and isinstance(value, dict) and isinstance(given.get("name", ""), str):
        report.wrong("1.8", at.of("name"), "missing", "the name of a file system that the step mounts")
    path = string(report, "1.8", given.get("path", "/"), at.of("path"))
    return Scope(name, path, at) if name else None
