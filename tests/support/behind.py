# SPDX-License-Identifier: Apache-2.0
"""Mounts of a folder in which others write, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.support.mounted import mounted

QUICK: dict[str, Any] = {
    "attributes_hold": 0.1, "names_hold": 0.1, "kernel_attributes_hold": 0.1, "kernel_names_hold": 0.1,
}  # fmt: skip
# Whoever sees something new sees it by asking, and not because it was time.
LONG: dict[str, Any] = dict.fromkeys(QUICK, 3600.0)
LARGE = 5 << 20

Begin = Callable[..., tuple[Path, Path]]


@contextmanager
def beginning(folder: Path) -> Iterator[Begin]:
    """Mounts a folder; both it and the mount are given."""
    root = folder / "root"
    root.mkdir()
    with ExitStack() as stack:

        def one(**settings: Any) -> tuple[Path, Path]:
            point = folder / f"mount{len(list(folder.iterdir()))}"
            point.mkdir()
            return root, stack.enter_context(mounted(point, {"kind": "local", "root": str(root)}, **settings)).point

        yield one


def replace(path: Path, data: bytes) -> None:
    """At once, as object stores do."""
    unfinished = path.with_name(f"{path.name} unfinished")
    unfinished.write_bytes(data)
    unfinished.rename(path)
