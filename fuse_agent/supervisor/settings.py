# SPDX-License-Identifier: Apache-2.0
"""What a mount is to be, as it is configured."""

from __future__ import annotations

import json
import logging
import math
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..control import Session
from ..protocol.agree import Wish
from ..session.mount import Options, real
from .watch import Limits

if TYPE_CHECKING:
    from collections.abc import Mapping

# By name: what is meant where nothing is said. Its type is the one that is allowed.
_DEFAULTS: Final[dict[str, Any]] = {
    "read_only": False,
    "allow_other": True,
    "without_open": False,
    "idmapped": False,
    "refuses_locks": False,
    "passthrough": 1,
    "session": "auto",
    "largest": 1 << 20,
    "read_ahead_kib": 1024,
    "run": "/run/paddleflow/fuse",
    "label": "",
    "log_level": "INFO",
    "grace": 30.0,
    "hand_over": 10.0,
    "longest": 300.0,
    **Limits()._asdict(),
}
# What may change while it is mounted, beside the options of the file system that may.
LIVING: Final = ("label", "grace", "longest", "log_level")
_WORDS: Final = {bool: "true or false", int: "a whole number from 0", float: "a number from 0", str: "a text"}
_LEAST: Final = 0
_OF_ROOT: Final = "reads at the speed of the disk below (only root gets passthrough)"
_SESSIONS: Final = ("auto", Session.DIRECT, Session.PYFUSE3)
_WORKER: Final = (sys.executable, "-P", "-m", "paddleflow_fuse.worker")


class SettingsError(ValueError):
    """Says which field, what was found, and what is allowed."""


class Settings(NamedTuple):
    """
    :ivar files: what the file system alone knows, secrets among it
    """

    point: Path
    source: str
    mount: Options
    wish: Wish
    in_vain: tuple[str, ...]  # what was wished and only root gets, in words
    session: str  # auto, or one that is named
    read_ahead_kib: int
    run: Path  # the folder of the socket by which a mount is asked and told
    label: str  # by which whoever declared it knows it, and what it was declared as
    log_level: str
    grace: float  # seconds to store what is not stored when the mount is to end
    hand_over: float  # seconds to end what was begun when another worker takes over
    longest: float  # seconds of an operation
    limits: Limits
    worker: tuple[str, ...]
    files: dict[str, Any]

    def __repr__(self) -> str:
        return f"Settings({self.source} on {self.point})"


def parse(text: str | bytes) -> Settings:
    """
    :raises SettingsError:
    """
    try:
        given = json.loads(text)
    except ValueError as error:
        # Not what it says of the text: that may hold secrets.
        place = f" in line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise SettingsError(f"The configuration is no JSON{place}. Give an object of JSON.") from None
    if not isinstance(given, dict):
        raise SettingsError("The configuration is no object of JSON. Give one with point and source.")
    point, source = (_required(given, name) for name in ("point", "source"))
    files, worker = given.pop("files", {}), given.pop("worker", list(_WORKER))
    if not isinstance(files, dict):
        raise SettingsError("files of the configuration is no object. Give one, or leave it out.")
    if not isinstance(worker, list) or not worker or not all(isinstance(word, str) for word in worker):
        raise SettingsError(
            "worker of the configuration is no list of words. Give the command of a worker, or leave it out."
        )
    unknown = sorted(set(given) - set(_DEFAULTS))
    if unknown:
        raise SettingsError(
            f"The configuration has no field {unknown[0]}. It has files, point, source, worker, {', '.join(sorted(_DEFAULTS))}."
        )
    value = {name: _value(name, given.get(name, default), type(default)) for name, default in _DEFAULTS.items()}
    if value["session"] not in _SESSIONS:
        raise SettingsError(
            f"session of the configuration is {value['session']!r}; give one of {', '.join(_SESSIONS)}."
        )
    if value["log_level"] not in logging.getLevelNamesMapping():
        raise SettingsError(f"log_level of the configuration is {value['log_level']!r}; give a name as INFO or DEBUG.")
    is_root = os.geteuid() == 0
    return Settings(
        # Now, since a path is looked up in vain for as long as nobody serves what is mounted there.
        point=real(Path(point)),
        source=source,
        mount=Options(value["read_only"], value["allow_other"], value["largest"]),
        wish=Wish(
            read_only=value["read_only"],
            without_open=value["without_open"],
            passthrough=value["passthrough"] if is_root else 0,
            idmapped=value["idmapped"],
            refuses_locks=value["refuses_locks"],
            largest=value["largest"],
            read_ahead=value["read_ahead_kib"] << 10,
        ),
        in_vain=(_OF_ROOT,) if value["passthrough"] and not is_root else (),
        session=value["session"],
        read_ahead_kib=value["read_ahead_kib"],
        run=Path(value["run"]),
        label=value["label"],
        log_level=value["log_level"],
        grace=value["grace"],
        hand_over=value["hand_over"],
        longest=value["longest"],
        limits=Limits(**{name: value[name] for name in Limits._fields}),
        worker=tuple(worker),
        files=files,
    )


def changed(text: bytes, given: Mapping[str, Any]) -> bytes:
    """The configuration of a mount that stays, with what is given in its place; of options, those that are named.

    :raises SettingsError: and names what cannot change
    """
    from paddleflow_core.model.mount import LIVING as OPTIONS  # which nobody else needs here

    options = given.get("options", {})
    if not isinstance(options, dict):
        raise SettingsError("options of a change is no object. Give one, or leave it out.")
    if lasting := sorted({*given, *options} - {*LIVING, *OPTIONS, "options"}):
        raise SettingsError(
            f"{', '.join(lasting)} cannot change while it is mounted: unmount it and mount it again. These can: {', '.join(sorted(OPTIONS))}."
        )
    document = json.loads(text)
    files = document.get("files", {})
    files = {**files, "options": {**files.get("options", {}), **options}}
    wanted = json.dumps(
        {**document, **{name: value for name, value in given.items() if name in LIVING}, "files": files}
    ).encode()
    parse(wanted)
    return wanted


def _required(given: dict[str, Any], name: str) -> str:
    found = given.pop(name, None)
    if not isinstance(found, str) or not found or "\0" in found:
        raise SettingsError(f"{name} of the configuration is {found!r}; give a text.")
    return found


def _value(name: str, found: Any, wanted: type) -> Any:
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    if wanted is float and is_number:
        with suppress(OverflowError):  # then it stays what it is, and is refused
            found = float(found)
    # True is a number to Python, and a number may be none; neither is meant.
    of_type = isinstance(found, wanted) and isinstance(found, bool) == (wanted is bool)
    if not of_type or (is_number and not _LEAST <= found < math.inf):
        raise SettingsError(f"{name} of the configuration is {found!r}; give {_WORDS[wanted]}.")
    return found
