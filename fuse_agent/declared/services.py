# SPDX-License-Identifier: Apache-2.0
"""Who starts the agent of a declared file system, and starts it again: systemd, or where that is not the first process, a runsv for each."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from .agents import TroubleError, until

if TYPE_CHECKING:
    from pathlib import Path

_STOPS: Final = 10.0
_NUMBERS: Final = re.compile(r"[0-9]+")
_PID, _WANTED = slice(12, 16), 17  # in runsv's status
_LINES: Final = 5  # of a log, in a message
# No file system can have this name.
EXPORTER: Final = "_exporter"
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Services(Protocol):
    def is_up(self, name: str) -> bool:
        """Whether it is wanted, now and after it failed."""

    def enable(self, name: str) -> None: ...

    def start(self, name: str) -> None: ...

    def has_failed(self, name: str) -> bool:
        """Since it was started; it may be about to be started again."""

    def stop(self, name: str, seconds: float) -> None:
        """In good order, by force where that takes longer, and it is wanted no more.

        :raises TroubleError:
        """

    def forget(self, name: str) -> None:
        """All that was made for it, its log with it."""

    def says(self, name: str) -> str:
        """What its log ends with."""

    def process(self, name: str) -> int:
        """Of one that runs; of all others 0."""

    def reload(self) -> None: ...


class Systemd:
    def is_up(self, name: str) -> bool:
        return _run("systemctl", "is-enabled", "--quiet", _unit(name))[0] == 0

    def enable(self, name: str) -> None:
        _do("systemctl", "enable", _unit(name))

    def start(self, name: str) -> None:
        _run("systemctl", "reset-failed", _unit(name))
        _do("systemctl", "enable", _unit(name))
        _do("systemctl", "restart", "--no-block", _unit(name))

    def has_failed(self, name: str) -> bool:
        text = _run("systemctl", "show", "--property=ActiveState,SubState", _unit(name))[1]
        return "ActiveState=failed" in text or "SubState=auto-restart" in text

    def stop(self, name: str, seconds: float) -> None:
        _do("systemctl", "disable", "--now", _unit(name), seconds=seconds)

    def forget(self, name: str) -> None:
        _run("systemctl", "reset-failed", _unit(name))  # its log is the journal's

    def says(self, name: str) -> str:
        return once(_run("journalctl", "--no-pager", "--output=cat", f"--lines={_LINES}", "--unit", _unit(name))[1])

    def process(self, name: str) -> int:
        text = _run("systemctl", "show", "--property=MainPID", "--value", _unit(name))[1]
        return int(text) if text.isdecimal() else 0

    def reload(self) -> None:
        _do("systemctl", "daemon-reload")


class Runit:
    """After a boot somebody has to start them: the next run of the role does."""

    def __init__(self, base: Path, log: Path) -> None:
        self._base, self._log = base, log

    def is_up(self, name: str) -> bool:
        return self._is_watched(name)

    def enable(self, name: str) -> None:
        self.start(name)

    def start(self, name: str) -> None:
        folder = self._folder(name)
        (folder / "log").mkdir(parents=True, exist_ok=True)
        (self._log / name).mkdir(parents=True, exist_ok=True)
        for link in ("run", "finish", "log/run"):
            if not (folder / link).is_symlink():
                own = "exporter-" if name == EXPORTER and link == "run" else ""
                (folder / link).symlink_to(self._base / "supervised" / f"{own}{link.replace('/', '-')}")
        if self._is_watched(name):
            _run("sv", "-w", str(int(_STOPS)), "down", str(folder))  # it may have failed, and wait to be started again
            # Where none ran at that moment, sv has not waited; and what it takes for wanted already, it tells nobody.
            until(lambda: self._is_down(name), _STOPS)
            _do("sv", "up", str(folder))
            return
        null = subprocess.DEVNULL
        subprocess.Popen(
            ["runsv", str(folder)],
            stdin=null,
            stdout=null,
            stderr=null,
            start_new_session=True,
            cwd="/",
            env={"PATH": _PATH},
        )
        if not until(lambda: self._is_watched(name), _STOPS):
            raise TroubleError(f"runsv does not watch {folder}. Is the package runit installed?")

    def has_failed(self, name: str) -> bool:
        return self._state(name).startswith("finish")

    def stop(self, name: str, seconds: float) -> None:
        if not self._is_watched(name):
            return
        folder = str(self._folder(name))
        # One after the other: what is told when it has finished would take back that runsv is to end.
        _run("sv", "-w", str(int(seconds)), "force-stop", folder, seconds=seconds + _STOPS)
        _run("sv", "exit", folder)
        if not until(lambda: not self._is_watched(name), _STOPS):
            raise TroubleError(
                f"The service {folder} does not stop. See its log in {self._log / name}, then run again."
            )

    def forget(self, name: str) -> None:
        self.stop(name, _STOPS)
        for folder in (self._folder(name), self._log / name):
            shutil.rmtree(folder, ignore_errors=True)

    def says(self, name: str) -> str:
        try:
            text = (self._log / name / "current").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "nothing"
        return once("\n".join(text.splitlines()[-_LINES:]))

    def process(self, name: str) -> int:
        with suppress(OSError, ValueError):  # while none runs it says nothing
            return int((self._folder(name) / "supervise/pid").read_text(encoding="ascii"))
        return 0

    def reload(self) -> None:
        """Nothing is read before it is started."""

    def _folder(self, name: str) -> Path:
        return self._base / "services" / name

    def _state(self, name: str) -> str:
        try:
            return (self._folder(name) / "supervise/stat").read_text(encoding="ascii")
        except OSError:
            return ""

    def _is_down(self, name: str) -> bool:
        """As runsv has it: no process, and none wanted."""
        status = (self._folder(name) / "supervise/status").read_bytes()
        return status[_PID] == bytes(4) and status[_WANTED] == ord("d")

    def _is_watched(self, name: str) -> bool:
        """runsv holds the reading end of this pipe open for as long as it lives."""
        try:
            os.close(os.open(self._folder(name) / "supervise/ok", os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True


def once(text: str) -> str:
    """Without what lines before the last say as well but for its numbers: each attempt says the same, at another time."""
    return "\n".join({_NUMBERS.sub("", line): line for line in text.splitlines()}.values())


def _unit(name: str) -> str:
    return "paddleflow-fuse-exporter.service" if name == EXPORTER else f"paddleflow-fuse@{name}.service"


def _run(*command: str, seconds: float = 60.0) -> tuple[int, str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, str(error)
    return done.returncode, (done.stdout + done.stderr).strip()


def _do(*command: str, seconds: float = 60.0) -> None:
    """
    :raises TroubleError:
    """
    code, text = _run(*command, seconds=seconds)
    if code:
        raise TroubleError(f"{' '.join(command)} failed: {text}")
