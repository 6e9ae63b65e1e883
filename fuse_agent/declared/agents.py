# SPDX-License-Identifier: Apache-2.0
"""The agents of a machine, each asked by its socket, and what their caches hold."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..cli.ask import AskError, asked
from ..control import Session
from ..files.folders import caches
from .decide import Agent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ANSWER: Final = 10.0  # seconds in which an agent says how it is
_PAUSE: Final = 0.05


class TroubleError(Exception):
    """For a person: what is the matter, and what to do."""


def ask(path: str, do: str, seconds: float = _ANSWER, **given: Any) -> dict[str, Any]:
    """The whole answer.

    :raises AskError:
    :raises OSError: when there is none in that time
    """
    found: dict[str, Any] = {}
    for line in asked(Path(path), do, seconds, **given):
        found |= line
    return found


def status(path: str) -> Agent:
    """
    :raises AskError:
    :raises OSError:
    """
    found = ask(path, "status")
    worker = found.get("worker")
    programs = (found.get("program", ""), worker.get("program", "") if isinstance(worker, dict) else "")
    label, point = found.get("label", ""), found["mount"]["point"]
    goes_on = found["mount"].get("session") != Session.PYFUSE3
    return Agent(path, point, label, found["pid"], found["worker_pid"] or 0, found["serves"], programs, goes_on)


def agents(folder: Path) -> list[Agent]:
    """
    :raises TroubleError: of one that is there and does not answer
    """
    found = []
    for path in sorted(folder.glob("*.sock")):
        try:
            found.append(status(str(path)))
        except (FileNotFoundError, ConnectionError):
            continue  # it has ended, before or while it was asked
        except (AskError, OSError, ValueError) as error:
            raise TroubleError(f"The agent at {path} does not answer ({error}). See its log, then run again.") from None
    return found


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
