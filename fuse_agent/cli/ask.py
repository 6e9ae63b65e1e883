# SPDX-License-Identifier: Apache-2.0
"""Asks the agent of a mount by its socket."""

from __future__ import annotations

import json
import os
import select
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..supervisor.status import address

if TYPE_CHECKING:
    from collections.abc import Iterator

RUN: Final = Path("/run/paddleflow/fuse")
_CONNECT: Final = 5.0


class AskError(Exception):
    """Nobody answers, or what was asked cannot be done."""


def ask(run: Path, point: Path, do: str, **given: Any) -> Iterator[dict[str, Any]]:
    """Lines of the answer, the last with ``done``.

    :raises AskError:
    """
    path = address(run, _real(point))
    with socket.socket(socket.AF_UNIX) as asked:
        asked.settimeout(_CONNECT)
        try:
            asked.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            raise AskError(f"No agent serves {point}. See what is mounted: findmnt -t fuse.paddleflow") from None
        except PermissionError:
            raise AskError(f"Only who mounted {point}, or root, may ask its agent.") from None
        asked.settimeout(None)
        asked.sendall(json.dumps({"do": do, **given}).encode() + b"\n")
        with asked.makefile("rb") as lines:
            for text in lines:
                line = json.loads(text)
                if "error" in line:
                    raise AskError(line["error"])
                yield line
                if line.get("done", True):
                    return
    raise AskError(f"The agent of {point} ended before it answered.")


def last(run: Path, point: Path, do: str, **given: Any) -> dict[str, Any]:
    """
    :raises AskError:
    """
    found: dict[str, Any] = {}
    for line in ask(run, point, do, **given):
        found = line
    return found


def wait_for_end(process: int) -> None:
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        select.select([descriptor], [], [])
    finally:
        os.close(descriptor)


def _real(point: Path) -> Path:
    """Without a look at the mount itself, which may hang."""
    return Path(os.path.realpath(point.parent), point.name)
