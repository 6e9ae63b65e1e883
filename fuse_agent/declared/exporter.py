# SPDX-License-Identifier: Apache-2.0
"""The service that shows the metrics of all agents of a machine. What it was started with says whether it is the one that is wanted."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .agents import TroubleError, until
from .decide import Step
from .services import EXPORTER

if TYPE_CHECKING:
    from .machine import Machine
    from .services import Services

_LISTENS: Final = "0A"  # as the kernel's tables of sockets have it
_PROC: Final = Path("/proc")


def bring(machine: Machine, services: Services, wanted: list[str], patience: float) -> None:
    """
    :param wanted: what it is to be started with, its address last; nothing, when it is to be gone
    :raises TroubleError:
    """
    running = _words(services.process(EXPORTER))
    if wanted and (running != wanted or not services.is_up(EXPORTER)):
        machine.do(Step.START, f"the exporter at {wanted[-1]}", partial(_start, services, wanted, patience))
    elif not wanted and (running or services.is_up(EXPORTER)):
        machine.do(Step.STOP, "the exporter", partial(services.stop, EXPORTER, patience))


def _start(services: Services, wanted: list[str], patience: float) -> None:
    services.start(EXPORTER)

    def settled() -> str:
        process = services.process(EXPORTER)
        listens = _words(process) == wanted and _listens(process)
        return "listens" if listens else "failed" if services.has_failed(EXPORTER) else ""

    if until(settled, patience) != "listens":
        raise TroubleError(
            f"The exporter does not listen at {wanted[-1]}, which is tried again and again. It says: {services.says(EXPORTER)}"
        )


def _words(process: int) -> list[str]:
    """What it was started with; nothing of one that has ended."""
    try:
        return (_PROC / str(process) / "cmdline").read_text(encoding="utf-8").split("\0")[:-1] if process else []
    except OSError:
        return []


def _listens(process: int) -> bool:
    """Another may have the address, so it is asked who has it."""
    folder = _PROC / str(process)
    try:
        its = {str(one.readlink()) for one in (folder / "fd").iterdir()}
        lines = [line.split() for name in ("tcp", "tcp6") for line in _lines(folder / "net" / name)]
    except OSError:
        return False
    return any(line[3] == _LISTENS and f"socket:[{line[9]}]" in its for line in lines)


def _lines(path: Path) -> list[str]:
    """Where there is no IPv6, there is no table of it."""
    return path.read_text(encoding="ascii").splitlines()[1:] if path.exists() else []
