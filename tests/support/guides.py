# SPDX-License-Identifier: Apache-2.0
"""The pages that users read, as files and plays: what a page shows is run as it stands, from its top to its end.

A block of YAML is a file when its first line is a comment with a path, else plays, tasks or objects to apply. After the
language may stand `fails`: each task is refused with the words of the next block, where `…` leaves something out; or
`no-run: <why>`. Blocks of console are run when they only call kubectl.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import yaml

from tests.support.examples import Loader, Unsafe
from tools import tree

# What only a controller answers: the tests of each module wait for it.
ANSWERED = ("wait", "wait_for", "wait_timeout")
FENCE = re.compile(r"^( *)```(\w*) *(.*)\n((?:.*\n)*?)\1```$", re.MULTILINE)
PATH = re.compile(r"# (\S+\.(?:yml|yaml|j2))$", re.MULTILINE)


class Block(NamedTuple):
    line: int
    language: str
    note: str
    text: str


END = Block(0, "", "", "")


class Page(NamedTuple):
    files: dict[str, str]
    plays: list[dict[str, Any]]


def pages() -> list[str]:
    """Those with something to run or to show."""
    found = [tree.ROOT / "README.md", *(tree.ROOT / "docs").glob("*.md"), *(tree.ROOT / "docs/guides").glob("*.md")]
    names = sorted(str(path.relative_to(tree.ROOT)) for path in found)
    return [name for name in names if page(name).plays]


def blocks(name: str) -> Iterator[Block]:
    text = Path(tree.ROOT, name).read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        _indent, language, note, body = match.groups()
        yield Block(text.count("\n", 0, match.start()) + 1, language, note, dedent(body))


def page(name: str) -> Page:
    made = Page({}, [])
    for block, after in pairwise([*blocks(name), END]):
        place = f"{name}:{block.line}"
        if block.note.startswith("no-run: "):
            continue
        assert block.note in ("", "fails"), f"{place}: unknown note {block.note!r}"
        path = PATH.match(block.text)
        if block.language == "yaml" and path:
            made.files[path[1]] = block.text
        if block.note == "fails":
            assert after.language == "text", f"{place}: no words follow"
            made.plays.append(play([step for task in tasks(block) for step in refused(task, after.text)]))
        elif block.language == "yaml" and not (path and path[1].endswith(".j2")):
            made.plays.extend(shown(block, place, is_file=path is not None))
        elif block.language == "console" and all(line.startswith("kubectl ") for line in block.text.splitlines()):
            made.plays.append(play([kubectl(block.text)]))
    return made


def shown(block: Block, place: str, *, is_file: bool) -> list[dict[str, Any]]:
    found, *more = yaml.load_all(block.text, Loader)
    if isinstance(found, list) and all("hosts" in one for one in found):
        return [{**one, "tasks": [unanswered(task) for task in one.get("tasks", [])]} for one in found]
    if isinstance(found, list):
        return [play(tasks(block))]
    if is_file:
        return []
    assert all("apiVersion" in one for one in (found, *more)), (
        f"{place} is neither plays nor tasks nor objects: give it a path or a no-run"
    )
    return [play([{"paddleflow.core.apply": {"definition": Unsafe(block.text)}}])]


def tasks(block: Block) -> list[dict[str, Any]]:
    return [unanswered(task) for task in yaml.load(block.text, Loader)]


def unanswered(task: dict[str, Any]) -> dict[str, Any]:
    """Without waiting for what nobody here does."""
    return {
        key: {name: value for name, value in (options or {}).items() if name not in ANSWERED}
        if key.startswith("paddleflow.core.")
        else options
        for key, options in task.items()
    }


def refused(task: dict[str, Any], words: str) -> list[dict[str, Any]]:
    said = {
        "ansible.builtin.assert": {
            "that": ["refusal is failed", "parts | reject('in', said) | length == 0"],
            "fail_msg": "{{ said }}",
        },
        "vars": {
            "said": "{{ refusal.msg | split | join(' ') }}",
            "parts": [Unsafe(" ".join(part.split())) for part in words.split("…") if part.strip()],
        },
    }
    return [{**task, "register": "refusal", "ignore_errors": True}, said]


def kubectl(commands: str) -> dict[str, Any]:
    """A lookup, since a module of Ansible's own would take a process more."""
    script = " && ".join(commands.replace("\\\n", " ").splitlines())
    return {
        "name": commands,
        "ansible.builtin.debug": {"msg": "{{ query('ansible.builtin.pipe', script) }}"},
        "vars": {"script": Unsafe(script)},
    }


def play(steps: list[dict[str, Any]]) -> dict[str, Any]:
    return {"hosts": "localhost", "gather_facts": False, "tasks": steps}
