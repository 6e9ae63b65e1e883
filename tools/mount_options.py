# SPDX-License-Identifier: Apache-2.0
"""What `paddleflow-fuse mount -o` takes: each option with what it takes and means, as the model and its texts say, on a page and in the help."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

HEAD = """\
<!-- Written by `make generate` from _core/model/mount.py, _core/model/stores.py, docs/model/mount.yaml and docs/model/shared.yaml; do not edit. -->
# What a mount can be told

`paddleflow-fuse mount URL POINT -o NAME=VALUE,NAME=VALUE`; `-o` may be given again. A name alone is `true`.
A line of `/etc/fstab`, and `options` and `properties` of [the role](../guides/fuse-agent.md), have the same names.
Sizes are bytes (`20Mi`), times seconds (`0.5`).
"""
CHANGES = "Those with a star change while it is mounted, by [the role](../guides/fuse-agent.md#change-it)."
HIDDEN = "What is secret stands in the file that `--secrets` names, never behind `-o`."
MODULE = """\
# SPDX-License-Identifier: Apache-2.0
# Written by `make generate` from _core/model/mount.py, _core/model/stores.py, docs/model/mount.yaml and docs/model/shared.yaml; do not edit.
\"\"\"What `paddleflow-fuse mount --help` says of -o.\"\"\"
"""
MOUNT_GROUP = "options of a mount (one with a star may change while it is mounted)"
STORE_GROUP = "options of {}"
END = "What is secret stands in the file that --secrets names. More of each: docs/reference/mount-options.md of the collection."
WIDTH, _COLUMN = 110, 26
_AMONG_THEM = {"bool": "true, false", "int": "number", "quantity": "amount", "string": "text"}


def page(texts: Mapping[str, str], shared: Mapping[str, str]) -> str:
    """
    :param texts: by the names of options; ``shared``: those of nouns, the properties of stores among them
    """
    from paddleflow_core.model.mount import LIVING, MOUNT
    from paddleflow_core.model.stores import PROPERTIES, SECRETS

    served = _served()
    options = (
        (f"`{name}`{' *' if name in LIVING else ''}{_also(field)}", _values(field), f"`{_word(field['default'])}`", texts[name])
        for name, field in MOUNT.items()
    )  # fmt: skip
    properties = (
        (f"`{name}`{' (secret)' if name in SECRETS else ''}{_also(field)}", _values(field), ", ".join(served[name]), shared[f"properties.{name}"])
        for name, field in PROPERTIES.items()
        if served[name]
    )  # fmt: skip
    parts = [
        HEAD,
        f"## The mount\n\n{CHANGES}\n",
        _table(("option", "takes", "default", "meaning"), options),
        f"## The store\n\n{HIDDEN}\n",
        _table(("option", "takes", "of", "meaning"), properties),
    ]
    return "\n".join(parts)


def module(texts: Mapping[str, str], shared: Mapping[str, str]) -> str:
    """What the command itself says of them, as Python."""
    from paddleflow_core.model.mount import LIVING, MOUNT
    from paddleflow_core.model.stores import PROPERTIES, SECRETS

    served = _served()
    groups: dict[str, list[str]] = {MOUNT_GROUP: []}
    for name, field in MOUNT.items():
        mark = " *" if name in LIVING else ""
        groups[MOUNT_GROUP].append(_line(f"{name}{mark}", f"{_first(texts[name])} ({_choice(field)})"))
    for name in PROPERTIES:
        if served[name]:
            mark = " (secret)" if name in SECRETS else ""
            group = groups.setdefault(STORE_GROUP.format(", ".join(served[name])), [])
            group.append(_line(f"{name}{mark}", _first(shared[f"properties.{name}"])))
    text = "\n\n".join(f"{head}:\n" + "\n".join(lines) for head, lines in groups.items())
    return f'{MODULE}\nfrom __future__ import annotations\n\nfrom typing import Final\n\nTEXT: Final = """\\\n{text}\n\n{END}\n"""\n'


def _first(text: str) -> str:
    """Of its sentences; of which types it is, the group says."""
    plain = re.sub(r"\b[OCV]\(([^)]*)\)", r"\1", re.split(r"(?<=\.) (?=[A-Z0-9])", text.strip())[0])
    return re.sub(r", for types? [a-z0-9, ]+", "", plain.removesuffix("."))


def _choice(field: Mapping[str, Any]) -> str:
    """What it is where nothing is said, and what else it may be."""
    usual = _word(field["default"])
    others = [value for value in field.get("enum", ()) if value != usual]
    return f"{usual}; or {', '.join(others)}" if others else usual


def _line(name: str, text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=f"  {name:{_COLUMN}}", subsequent_indent=" " * (_COLUMN + 2))


def _served() -> dict[str, list[str]]:
    """By which types each property is taken."""
    from paddleflow_core.model.mount import TYPES
    from paddleflow_core.model.stores import PROPERTIES, STORES

    return {name: [kind for kind in TYPES if _takes(STORES[kind], name)] for name in PROPERTIES}


def _takes(store: Mapping[str, Any], name: str) -> bool:
    return any(name in store[kind] for kind in ("needs", "credentials", "may"))


def _also(field: Mapping[str, Any]) -> str:
    return "".join(f", `{alias}`" for alias in field.get("aliases", ()))


def _values(field: Mapping[str, Any]) -> str:
    return ", ".join(field["enum"]) if "enum" in field else _AMONG_THEM[field["type"]]


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def lines() -> Iterator[str]:
        yield _row(head)
        yield _row("---" for _name in head)
        for row in rows:
            yield _row(row)

    return "\n".join(lines()) + "\n"


def _row(cells: Iterable[str]) -> str:
    """With the marks of Ansible's documentation as those of a page."""
    return "| " + " | ".join(re.sub(r"\b[OCV]\(([^)]*)\)", r"`\1`", cell) for cell in cells) + " |"
