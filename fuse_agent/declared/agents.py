# SPDX-License-Identifier: Apache-2.0
"""The agents of a machine, each asked by its socket, and what their caches hold."""

from __future__ import annotations

import json
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..cli.ask import AskError, asked
from ..control import Session
from ..files.written.folders import caches
from .decide import Agent

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

ANSWER: Final = 10.0  # seconds in which an agent says how it is
_PAUSE: Final = 0.05
_PEER: Final = struct.Struct("3i")  # process, user and group


class TroubleError(Exception):
    """For a person: what is the matter, and what to do."""


class Silent(NamedTuple):
    """One that is there and does not answer.

    :ivar process: 0 where the kernel does not tell
    """

    socket: str
    process: int
    why: str

    @property
    def remedy(self) -> str:
        if not self.process:
            return "See its log, end it, and run again."
        if _is_stopped(self.process):
            return f"It is stopped: let it go on by kill -CONT {self.process}, and run again."
        return f"See its log and run again; or end it by kill -KILL {self.process}, after which its service starts it anew and stores what it had not stored."


def ask(path: str, do: str, seconds: float = ANSWER, **given: Any) -> dict[str, Any]:
    """The whole answer.

    :raises AskError:
    :raises OSError: when there is none in that time
    """
    found: dict[str, Any] = {}
    for line in asked(Path(path), do, seconds, **given):
        found |= line
    return found


def status(path: str, seconds: float = ANSWER) -> Agent:
    """
    :raises AskError:
    :raises OSError:
    """
    found = ask(path, "status", seconds)
    worker = found.get("worker")
    programs = (found.get("program", ""), worker.get("program", "") if isinstance(worker, dict) else "")
    label, point = found.get("label", ""), found["mount"]["point"]
    goes_on = found["mount"].get("session") != Session.PYFUSE3
    return Agent(path, point, label, found["pid"], found["worker_pid"] or 0, found["serves"], programs, goes_on)


def agents(folder: Path, seconds: float, but: Container[str]) -> tuple[list[Agent], list[Silent]]:
    """Those that answer and those that do not. All are asked at once: however many are silent, they are waited for once.

    :param but: sockets of those that are not asked
    """
    paths = [str(path) for path in sorted(folder.glob("*.sock")) if str(path) not in but]
    with ThreadPoolExecutor(len(paths) or 1) as threads:
        found = list(threads.map(partial(_asked, seconds=seconds), paths))
    return [one for one in found if isinstance(one, Agent)], [one for one in found if isinstance(one, Silent)]


def _asked(path: str, seconds: float) -> Agent | Silent | None:
    """None of one that has ended, before or while it was asked."""
    try:
        return status(path, seconds)
    except (FileNotFoundError, ConnectionError):
        return None
    except (AskError, OSError, ValueError, LookupError) as error:
        return Silent(path, _process(path), str(error))


def _process(path: str) -> int:
    """Who listens there, also when he accepts nobody."""
    with socket.socket(socket.AF_UNIX) as end, suppress(OSError):
        end.settimeout(ANSWER)
        end.connect(path)
        return int(_PEER.unpack(end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))[0])
    return 0


def _is_stopped(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] in "Tt"
    return False


def unsaved(agent: Agent, seconds: float, roots: Iterator[Path]) -> list[str]:
    """What its store does not take; all of it is offered first."""
    try:
        return list(ask(agent.socket, "save", seconds)["unsaved"])
    except AskError as error:
        return [f"not known ({error})"]
    except OSError as error:  # it is still waiting for its store
        waiting = [
            name for root in roots for _folder, point, files in caches(root) if point == agent.point for name in files
        ]
        return waiting or [f"what it holds is not known, since it does not answer ({error})"]


def until(found: Callable[[], Any], seconds: float) -> Any:
    """What is found, once it is. Nothing announces it, so it is asked for, within a bound."""
    deadline = time.monotonic() + seconds
    while not (value := found()) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    return value


def document(path: Path) -> dict[str, Any]:
    """What lies there; nothing, where it is missing or damaged."""
    with suppress(OSError, ValueError):
        found = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return found
    return {}
