# SPDX-License-Identifier: Apache-2.0
"""Asks the agent of a mount by its socket."""

from __future__ import annotations

import json
import os
import select
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..session.mount import is_dead, real
from ..supervisor.status import address

if TYPE_CHECKING:
    from collections.abc import Generator

_CONNECT = 5.0
# A supervisor waits for nobody, so that it says how it is whatever its worker does.
_STATUS = 10.0
# In which who has no supervisor any more stores what it can and ends.
LEAVES = 10.0
_AT_ONCE = ("status", "unmounting")


def own(root: str, variable: str, home: str) -> Path:
    """Where something lies by itself: of root, or of a user in a folder of his own."""
    if os.geteuid() == 0:
        return Path(root)
    return Path(os.environ.get(variable) or Path.home() / home, "paddleflow/fuse")


RUN = own("/run/paddleflow/fuse", "XDG_RUNTIME_DIR", ".cache/run")


class AskError(Exception):
    """Nobody answers, or what was asked cannot be done."""


class GoneError(AskError):
    """There is nobody."""


def ask(run: Path, point: Path, do: str, **given: Any) -> Generator[dict[str, Any], None, None]:
    """Lines of the answer, the last with ``done``.

    :raises AskError:
    """
    try:
        yield from asked(address(run, real(point)), do, _STATUS if do in _AT_ONCE else None, **given)
    except (FileNotFoundError, ConnectionRefusedError):
        remedy = "See what is mounted: findmnt -t fuse.paddleflow"
        if is_dead(point, LEAVES):
            remedy = f"It is mounted still though its agent is gone. Take it away: paddleflow-fuse umount {point}"
        raise GoneError(f"No agent serves {point}. {remedy}") from None
    except PermissionError:
        raise AskError(f"Only who mounted {point}, or root, may ask its agent.") from None
    except TimeoutError:
        raise AskError(
            f"The agent of {point} is there and does not answer within {_STATUS:g} s: it is stopped, or stuck. See its log; then let it go on, or end it."
        ) from None
    except ConnectionError:
        raise GoneError(f"The agent of {point} ended before it answered.") from None


def asked(path: Path, do: str, seconds: float | None = None, **given: Any) -> Generator[dict[str, Any], None, None]:
    """
    :param path: of the socket
    :param seconds: within which each line has to come
    :raises AskError: what the agent says that is wrong
    :raises OSError: nobody is there, or it does not answer in that time, or ended before it did
    """
    with socket.socket(socket.AF_UNIX) as end:
        end.settimeout(_CONNECT)
        end.connect(str(path))
        end.settimeout(seconds)
        end.sendall(json.dumps({"do": do, **given}).encode() + b"\n")
        with end.makefile("rb") as lines:
            for text in lines:
                line = json.loads(text)
                if "error" in line:
                    raise AskError(line["error"])
                yield line
                if line.get("done"):
                    return
    raise ConnectionError("it ended before it answered")


def last(run: Path, point: Path, do: str, **given: Any) -> dict[str, Any]:
    """
    :raises AskError:
    """
    found: dict[str, Any] = {}
    for line in ask(run, point, do, **given):
        found = line
    return found


def wait_for_end(process: int, seconds: float | None = None) -> bool:
    """Whether it has ended."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)
