# SPDX-License-Identifier: Apache-2.0
"""A status for people. What it shows is plain values; whoever wants those asks for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..logs import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_INDENT = 2
# Of a list, so many; the rest is counted.
_SHOWN = 10


def size(count: float) -> str:
    """Of bytes."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} PiB"


def span(seconds: float) -> str:
    """Of time, in its two largest parts."""
    found: list[str] = []
    for name, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, seconds = divmod(int(seconds), length)
        if count or (name == "s" and not found):
            found.append(f"{count} {name}")
    return " ".join(found[:2])


def status(told: Mapping[str, Any]) -> str:
    worker = told["worker"] if isinstance(told.get("worker"), dict) else {}
    parts = [_served(told, worker), _kernel(told["mount"])]
    if "files" in worker:
        parts += [_caches(worker), _work(worker["files"]), _listed(worker["files"])]
    parts.append(_warnings(told, worker))
    lines = [plain(f"{told['mount']['point']}  {told['mount'].get('source', '')}".rstrip())]
    rows = [row for part in parts for row in part]
    width = max(len(name) for name, _text in rows)
    lines += [f"{'':{_INDENT}}{name:<{width}}  {plain(text)}".rstrip() for name, text in rows]
    return "\n".join(lines)


def _served(told: Mapping[str, Any], worker: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if told["serves"]:
        yield "served", f"by process {told['worker_pid']} for {span(worker.get('seconds', 0))}; held by {told['pid']}"
    else:
        yield "served", f"NOT at the moment; held by {told['pid']}"
    yield "release", str(told.get("program", ""))
    yield "session", told["mount"].get("session", "direct")
    if told["restarts"]:
        yield "replaced", f"{told['restarts']} times, of late {told['failures']} times by failures"
    if told["ends"]:
        yield "ends", "it is about to end, as soon as all is stored"


def _kernel(mount: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for index, one in enumerate(mount.get("features", [])):
        yield "" if index else "kernel", f"{'yes' if one['granted'] else 'no ':<3} {one['name']:<20} {one['text']}"


def _caches(worker: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    reads, memory, disk = worker["reads"], worker["memory"], worker["disk"]
    asked = reads["hits"] + reads["misses"]
    rate = f"{100 * reads['hits'] / asked:.1f} % of {asked:.0f}" if asked else "nothing was read yet"
    yield "hits", rate
    yield (
        "memory",
        f"{size(memory['used'])} of {size(memory['budget'])} cached; the process has {size(worker['resident'])}",
    )
    if disk:
        state = "" if disk["settled"] else " what lies there is being counted"
        if disk["off"]:
            state = f" OFF: {disk['off']}"
        elif disk["short"]:
            state = f" KEEPS NOTHING MORE: {disk['short']}"
        used = f"{size(disk['bytes'])} of {size(disk['most_bytes'])}, {disk['files']} files, in {disk['folder']}"
        yield "disk", used + state
    else:
        yield "disk", "none"


def _work(files: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "names", f"{files['nodes']} known, {files['open']} open"
    if listings := files.get("listings"):
        state = f" OFF: {listings['off']}" if listings["off"] else ""
        yield (
            "listings",
            f"of {listings['folders']} folders kept, {size(listings['bytes'])}, in {listings['file']}{state}",
        )
    waiting = ", ".join(f"{count} {name}" for name, count in files["waiting"].items())
    yield "waiting", waiting
    yield (
        "written",
        f"{files['unsaved']} files not stored, {size(files['dirty_bytes'])}; {size(files['staged_bytes'])} staged",
    )


def _listed(files: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _some("staged", [_staged(one) for one in files["staged"]], len(files["staged"]))
    yield from _some("hidden", files["hidden"], files["hidden_names"])


def _staged(one: Mapping[str, Any]) -> str:
    state = (
        "stored"
        if one["stored"]
        else "its store does not take it; tried again and again"
        if one["retried"]
        else "not stored"
    )
    return f"{one['path']} ({size(one['bytes'])}, {state})"


def _some(name: str, found: Sequence[str], count: int) -> Iterator[tuple[str, str]]:
    for index, one in enumerate(found[:_SHOWN]):
        yield "" if index else name, one
    more = count - min(len(found), _SHOWN)
    if more:
        yield "" if found else name, f"and {more} more"


def _warnings(told: Mapping[str, Any], worker: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    found = [f"without {text}" for text in [*told["mount"]["lacks"], *worker.get("lacks", [])]]
    if not worker:
        found.append(f"the worker {told.get('worker')}")
    if why := worker.get("refused"):
        found.append(f"its store refused what it was asked last: {why}")
    if worker.get("files", {}).get("upload_failures"):
        found.append(f"{worker['files']['upload_failures']} times its store did not take a file; see the log")
    if conflicts := worker.get("files", {}).get("conflicts"):
        found.append(
            f"{len(conflicts)} files that were written were overtaken by a newer version: status --json names them, resolve settles it"
        )
    yield from _some("warning", found, len(found))
