# SPDX-License-Identifier: Apache-2.0
"""Mounts: writes down what the mount is to be, and becomes its supervisor."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from difflib import get_close_matches
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from paddleflow_core.model import mount as model
from paddleflow_core.model.stores import PROPERTIES, SECRETS, STORES

from .. import configuration as configured
from ..configuration import OptionsError
from ..logs import SILENT
from ..session.mount import real
from ..sources.held import pointer, points
from ..sources.make import missing
from ..supervisor.settings import LIVING
from .ask import own

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..configuration import Configuration

_SUPERVISOR: Final = "paddleflow_fuse.supervisor"
_READY: Final = 100.0  # seconds; a source that does not answer is asked for 60, and then it is known why
LOG: Final = (
    Path("/var/log/paddleflow-fuse.log") if os.geteuid() == 0 else own("", "XDG_STATE_HOME", ".local/state") / "log"
)
_LOG_NAME: Final = "mount.log"  # beside folders of what is declared, whose names have no dot


class MountError(Exception):
    """Why it was not mounted, for a person."""


def options(words: Sequence[str], url: str = "") -> dict[str, str]:
    """Of ``-o a=b,c`` and its repetitions; what stands alone is true.

    :param url: what is mounted
    :raises OptionsError: of a secret, which everybody on the machine could read in the table of processes
    """
    found: dict[str, str] = {}
    for word in words:
        for one in filter(None, word.split(",")):
            name, equals, value = one.partition("=")
            found[name] = value if equals else "true"
    told = [name for name in SECRETS if name in found]
    if told:
        raise OptionsError(
            f"{', '.join(told)} must not be given on the command line, where everybody on this machine can read it. "
            f"Write a file {_example(url)} that only you can read, and give --secrets FILE."
        )
    return found


def _example(url: str) -> str:
    """A file of secrets."""
    wanted = STORES.get(url.partition(":")[0], STORES["s3"])
    return json.dumps(dict.fromkeys(wanted["credentials"] or model.held(url)[:1], "..."))


class Declared(NamedTuple):
    url: str
    point: Path
    options: dict[str, Any]
    secrets: Path | None  # where they lie
    label: str  # the file's name and what was in it


def declared(file: Path) -> Declared:
    """What a file of JSON says: ``url``, ``point``, and where they are wanted ``options`` and ``secrets``.

    :raises OptionsError:
    """
    text = file.read_bytes()
    try:
        found = json.loads(text)
        if unknown := sorted(set(found) - {"url", "point", "options", "secrets"}):
            raise OptionsError(f"{file} has no field {unknown[0]}. It has url, point, options and secrets.")
        url, point, given, secrets = found["url"], found["point"], found.get("options", {}), found.get("secrets")
        label = f"{file.stem}:{model.digest({**found, 'options': dict(given)})}"
        return Declared(url, Path(point), dict(given), Path(secrets) if secrets else None, label)
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
        raise OptionsError(
            f'{file} is no object of JSON with url and point. Write {{"url": "s3://...", "point": "/mnt/...", "options": {{}}}}.'
        ) from None


def write(run: Path, url: str, point: Path, given: Mapping[str, Any], secrets: Path | None, label: str = "") -> Path:
    """The file from which the supervisor reads what the mount is to be.

    :param label: what a status is to say of where it comes from; without it, of nobody's declaration, but still of these options
    :raises OptionsError:
    :raises MountError: what serves such a place is not installed
    """
    held = _held(secrets, url)
    given = {**_own(), **given}
    wanted = configured.read(url, {**given, **held})
    if lacking := missing(wanted.place["type"], points(secrets)):
        names = " ".join(lacking)
        raise MountError(f"{url} needs what is not installed: {sys.executable} -m pip install {names}")
    point = real(point)
    _apart(point, wanted, secrets)
    for name in model.RETIRED:
        if name in given:
            print(f"{name} has no effect. {model.RETIRED[name]}", file=sys.stderr)
    document = {
        "point": str(point),
        "source": url,
        "run": str(run),
        "label": label or f":{model.digest({'url': url, 'options': given, 'secrets': str(secrets)})}",
        **_session(wanted),
        "files": {
            "url": url,
            "options": {**given, **held},
            "secrets": str(secrets.resolve()) if secrets else None,
            "mount": str(point),
            "run": str(run),
            "uid": os.geteuid(),
            "gid": os.getegid(),
            "mounted_ns": time.time_ns(),
        },
    }
    run.mkdir(mode=0o755, parents=True, exist_ok=True)
    path = run / f"{blake2b(os.fsencode(point), digest_size=8).hexdigest()}.json"
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.touch(mode=0o600)
    unfinished.write_text(json.dumps(document), encoding="utf-8")
    unfinished.rename(path)
    return path


def _apart(point: Path, wanted: Configuration, secrets: Path | None) -> None:
    """Who serves a mount would wait for himself if he opened a file of it.

    :raises OptionsError:
    """
    cache = wanted.mount["data-cache-path"].rstrip("/") or model.defaults()["data-cache-path"]
    if (place := Path(os.path.realpath(cache))).is_relative_to(point):
        raise OptionsError(
            f"data-cache-path is {place}, which is on the mount point {point}, so that the agent would wait for itself. "
            "Give a folder beside it: -o data-cache-path=/var/cache/..."
        )
    if secrets is not None and Path(os.path.realpath(secrets)).is_relative_to(point):
        raise OptionsError(
            f"{secrets} lies on the mount point {point}, where the agent would wait for itself. Keep it elsewhere."
        )
    if wanted.place["type"] == "local":
        place = Path(os.path.realpath(wanted.place["subPath"]))
        if place.is_relative_to(point) or point.is_relative_to(place):
            raise OptionsError(
                f"The source {place} and the mount point {point} are within one another, so that the agent would wait for itself. "
                "Mount it on a folder elsewhere."
            )


def _own() -> dict[str, str]:
    """What holds for a user who says nothing else: he may neither write where root does, nor mount for others."""
    if os.geteuid() == 0:
        return {}
    return {"data-cache-path": str(own("", "XDG_CACHE_HOME", ".cache")), "allow-other": "false"}


def _held(secrets: Path | None, url: str) -> dict[str, Any]:
    """What the file holds itself; it may point to Vault in its place.

    :raises OptionsError: which shows nothing of what is in the file
    """
    if secrets is None:
        return {}
    _guarded(secrets)
    try:
        found = json.loads(secrets.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise OptionsError(f"{secrets} is no object of JSON. Write {_example(url)}.")
    try:
        if pointer(found):
            return {}
    except ValueError as error:
        raise OptionsError(f"{secrets}: {error}") from None
    if strange := [name for name in found if name not in {**PROPERTIES, **model.MOUNT}]:
        close = get_close_matches(strange[0], model.held(url), n=1)
        guess = f" Did you mean {close[0]}?" if close else ""
        raise OptionsError(
            f"{secrets} has {', '.join(strange)}, which is no secret of such a place.{guess} There are {', '.join(model.held(url)) or 'none'}."
        )
    return found


def _guarded(secrets: Path) -> None:
    """Who can write it says where the keys come from. Reading alone is only told: Kubernetes hands secrets out with mode 0644.

    :raises OptionsError:
    """
    mode = stat.S_IMODE(secrets.stat().st_mode)
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise OptionsError(
            f"{secrets} has mode {mode:04o}, so that others may change it. Nobody else should read it either: chmod 600 {secrets}"
        )
    if mode & stat.S_IROTH:
        print(
            f"{secrets} has mode {mode:04o}, so that everybody on this machine may read it: chmod 600 {secrets}",
            file=sys.stderr,
        )


def _session(wanted: Configuration) -> dict[str, Any]:
    mount = wanted.mount
    return {
        "read_only": mount["read-only"],
        "allow_other": mount["allow-other"],
        "without_open": configured.without_open(wanted),
        "refuses_locks": wanted.mount["locks"] == "refuse",
        "passthrough": int(mount["passthrough"]),
        "session": mount["session"],
        "grace": model.seconds(mount["grace"]),
        "longest": model.seconds(mount["deadline"]),
        "log_level": mount["log-level"],
    }


def living(wanted: Configuration, label: str) -> dict[str, Any]:
    """What of a mount may change while it is there, as its supervisor is told."""
    settings = {"label": label, **_session(wanted)}
    options = {name: wanted.mount[name] for name in model.LIVING}
    return {**{name: settings[name] for name in LIVING}, "options": options}


def make_point(point: Path) -> Path:
    """It is there only while something is mounted on it, so that nobody takes an ordinary folder for the mount. One that stays all the
    same, since its agent was killed, is for nobody but root, and goes with the next mount.

    :raises MountError:
    """
    point = real(point)
    try:
        point.mkdir(mode=0)
    except FileExistsError:
        pass
    except FileNotFoundError:
        raise MountError(f"The folder {point.parent} is not there. Make it first: mkdir -p {point.parent}") from None
    return point


def command(file: Path, as_json: bool, bare: Path | None = None) -> list[str]:
    """
    :param bare: the mount point, which goes with the mount where nobody may do anything in it
    """
    more = [*(["--json"] if as_json else []), *([f"--bare={bare}"] if bare else [])]
    return [sys.executable, "-P", "-m", _SUPERVISOR, "--remove", *more, str(file)]


def in_foreground(file: Path, as_json: bool, bare: Path | None = None) -> None:
    words = command(file, as_json, bare)
    os.execv(words[0], words)


@contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    """For whom nobody else can speak. What has no place in a folder, any user could tell, and take its name when it is gone."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        path.unlink(missing_ok=True)
        told.bind(str(path))
        try:
            path.chmod(0o600)
            yield told
        finally:
            path.unlink(missing_ok=True)


def own_log(folder: Path | None) -> Path:
    """Where nobody names one.

    :param folder: of root's logs, which goes with the installation
    """
    log = folder / _LOG_NAME if folder and os.geteuid() == 0 else LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    return log


def in_background(file: Path, log: Path, as_json: bool) -> None:
    """Until it is mounted, or is not.

    :raises MountError:
    """
    with _listening(file.with_suffix(".told")) as told, log.open("ab") as lines, log.open("rb") as said:
        said.seek(lines.tell())
        heard, source = b"", json.loads(file.read_bytes())["source"]
        process = subprocess.Popen(
            command(file, as_json), env={**os.environ, "NOTIFY_SOCKET": str(told.getsockname())},
            stdin=subprocess.DEVNULL, stdout=lines, stderr=lines, start_new_session=True,
        )  # fmt: skip
        deadline, said_so = time.monotonic() + _READY, False
        told.settimeout(0.2)
        while time.monotonic() < deadline:
            heard += said.read()
            if not said_so and (said_so := _is_silent(source, heard)):
                text = f"{source} does not answer yet, and is waited for, at most {_READY:g} s. What the agent says stands in {log}."
                print(text, file=sys.stderr, flush=True)
            try:
                if b"READY=1" in told.recv(4096).split(b"\n"):
                    return
            except TimeoutError:
                if process.poll() is not None:
                    why = (heard + said.read()).decode(errors="replace").strip()
                    raise MountError(why or f"The agent ended with status {process.returncode}.") from None
        process.terminate()
        raise MountError(f"It is not mounted after {_READY:g} s. What the agent says stands in {log}.")


def _is_silent(source: str, heard: bytes) -> bool:
    """As the agent says; other agents may log there too."""
    own = re.compile(re.escape(source) + r'(["\s]|$)')
    return any(SILENT in line and own.search(line) for line in heard.decode(errors="replace").splitlines())
