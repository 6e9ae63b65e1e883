# SPDX-License-Identifier: Apache-2.0
"""What is logged is one line each, for people or as JSON: how bad, what, and by which names and numbers."""

from __future__ import annotations

import json
import logging
from typing import Any


def facts(**named: object) -> dict[str, Any]:
    """To be logged with a text that is the same each time: ``_LOG.info("the worker ended", extra=facts(pid=7))``."""
    return {"facts": named}


class Lines(logging.Formatter):
    def __init__(self, as_json: bool) -> None:
        super().__init__()
        self._json = as_json

    def format(self, record: logging.LogRecord) -> str:
        level, what = record.levelname.lower(), record.getMessage()
        named: dict[str, object] = getattr(record, "facts", {})
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        if self._json:
            whole = {"level": level, "what": what, **named, **({"trace": trace} if trace else {})}
            return json.dumps(whole, default=str)
        line = " ".join([level, what.replace("\n", " "), *(f"{name}={_value(value)}" for name, value in named.items())])
        return f"{line}\n{trace}" if trace else line


def configure(as_json: bool, level: int = logging.INFO) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(Lines(as_json))
    logging.basicConfig(level=level, handlers=[handler], force=True)


def _value(value: object) -> str:
    text = str(value)
    return json.dumps(text) if not text or any(sign in text for sign in ' "=\n') else text
