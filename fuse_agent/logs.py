# SPDX-License-Identifier: Apache-2.0
"""What is logged is one line each, for people or as JSON: when, how bad, what, and by which names and numbers."""

from __future__ import annotations

import json
import logging
import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

# How those are to log that are started from here.
_INHERITED: Final = "PADDLEFLOW_FUSE_LOG"
# By which who mounts in the background knows for what he waits.
SILENT: Final = "the source does not answer yet"
# Of one trouble, so many lines within so many seconds; how many more there were is said afterwards.
_LINES: Final = 5
_SECONDS: Final = 60.0
# Troubles that are known at a time.
_KNOWN: Final = 256


def facts(**named: object) -> dict[str, Any]:
    """To be logged with a text that is the same each time: ``_LOG.info("the worker ended", extra=facts(pid=7))``."""
    return {"facts": named}


def plain(text: str) -> str:
    """As a terminal shows it and does nothing else: whoever may make a file chooses what stands here."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


class Lines(logging.Formatter):
    def __init__(self, as_json: bool, timed: bool = False) -> None:
        super().__init__()
        self._json, self._timed = as_json, timed

    def format(self, record: logging.LogRecord) -> str:
        level, what = record.levelname.lower(), record.getMessage()
        named: dict[str, object] = getattr(record, "facts", {})
        more: int = getattr(record, "more", 0)
        if more:
            named = {**named, "more_of_these": more}
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds") if self._timed else ""
        if self._json:
            begin = {"time": moment} if moment else {}
            end = {"trace": trace} if trace else {}
            return json.dumps({**begin, "level": level, "what": what, **named, **end}, default=str)
        words = [
            moment,
            level,
            plain(what.replace("\n", " ")),
            *(f"{name}={_value(value)}" for name, value in named.items()),
        ]
        line = " ".join(word for word in words if word)
        return f"{line}\n{trace}" if trace else line


class Quiet(logging.Filter):
    """A trouble that comes again and again is not told each time, else whoever reads the log sees nothing else: the next line of its
    kind, when a while has passed, says how many were left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[tuple[str, int, str], list[float]] = {}  # when it began, how many were told, and how many not

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        key, now = (record.name, record.levelno, str(record.msg)), self._clock()
        seen = self._seen.get(key)
        if seen is None or now - seen[0] >= _SECONDS:
            if seen and seen[2]:
                vars(record)["more"] = int(seen[2])
            self._seen.pop(key, None)
            self._seen[key] = [now, 1, 0]
            if len(self._seen) > _KNOWN:
                del self._seen[next(iter(self._seen))]
            return True
        told = seen[1] < _LINES
        seen[1 if told else 2] += 1
        return told


def inherit() -> None:
    """As the process that started this one."""
    form, _colon, level = os.environ.get(_INHERITED, "text:INFO").partition(":")
    configure(form == "json", level)


def configure(as_json: bool, level: str = "INFO") -> None:
    os.environ[_INHERITED] = f"{'json' if as_json else 'text'}:{level}"
    handler = logging.StreamHandler()
    # The journal has the time of its own.
    handler.setFormatter(Lines(as_json, timed="JOURNAL_STREAM" not in os.environ))
    if level != "DEBUG":  # who asked for everything gets everything
        handler.addFilter(Quiet())
    # Of ours alone: libraries that tell all tell keys, too, as those of headers that they send.
    logging.basicConfig(level=max(logging.getLevelNamesMapping()[level], logging.INFO), handlers=[handler], force=True)
    logging.getLogger(__package__).setLevel(level)


def _value(value: object) -> str:
    text = str(value)
    return json.dumps(text) if not text.isprintable() or not text or any(sign in text for sign in ' "=') else text
