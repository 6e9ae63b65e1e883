# SPDX-License-Identifier: Apache-2.0
"""Mounts what a file says, and serves it until it is unmounted."""

from __future__ import annotations

import argparse
import logging
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE

from ..control import Channel, content
from ..logs import configure, facts
from ..protocol.agree import UnfitError
from ..session.mount import mounts
from . import again, status
from .mounted import NAMES, Mount, adopt, make
from .notify import Notify
from .process import Worker
from .settings import Settings, SettingsError, parse
from .store import Nowhere, Store, Systemd
from .supervisor import Result, Setting, Supervisor

_LOG = logging.getLogger(__name__)


def main() -> int:
    given = _arguments()
    configure(given.json)
    file = given.configuration.absolute()
    try:
        return _run(file, given)
    except (OSError, SettingsError, UnfitError) as error:
        _LOG.error("cannot mount", extra=facts(why=error))
        return Result.FAILED
    finally:
        if given.remove and not given.trial:
            file.unlink(missing_ok=True)
        if given.bare and not given.trial:
            _remove_bare(given.bare)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m paddleflow_fuse.supervisor", description=__doc__)
    parser.add_argument("configuration", type=Path, help="a file of JSON; it may hold secrets: let nobody else read it")
    parser.add_argument("--json", action="store_true", help="log lines of JSON")
    parser.add_argument("--remove", action="store_true", help="that file goes with the mount, and the secrets in it")
    parser.add_argument("--bare", type=Path, help="the mount point: it goes with the mount where its mode is 0")
    parser.add_argument(
        "--try", dest="trial", action="store_true", help="mount nothing, only say whether that file can be read"
    )
    return parser.parse_args()


def _run(file: Path, told: argparse.Namespace) -> Result:
    before = again.take()
    configuration = content(before.descriptors.pop("configuration")) if before else file.read_bytes()
    settings = parse(configuration)
    configure(told.json, settings.log_level)
    if told.trial:
        return Result.ENDED
    os.chdir("/")  # where this stands might be what is to be unmounted
    notify = Notify(os.environ, os.getpid())
    stored: Store = Systemd(notify, os.environ, os.getpid()) if notify else Nowhere()
    address = status.address(settings.run, settings.point)
    if before:
        listener = socket.socket(fileno=before.descriptors.pop("listener"))
        channel = Channel(socket.socket(fileno=before.descriptors.pop("control")))
        mount, kept = Mount(before.descriptors), before.kept
    else:
        descriptors = stored.take()
        try:
            listener = status.listen(address, settings.point)
        except OSError:
            told.bare = None  # it is that of who listens
            raise
        try:
            mount = _mount(settings, descriptors, stored)
        except BaseException:
            address.unlink()
            raise
        kept = {name.removeprefix("keep."): number for name, number in descriptors.items()}
    given = Setting(settings, configuration, told.json, mount, kept, stored, notify, listener, address)
    supervisor = Supervisor(given)
    if before:
        supervisor.resume(Worker(before.worker, channel), before.restarts)
    return supervisor.run()


def _remove_bare(point: Path) -> None:
    """Its mode says that it was made for a mount, be it by another process; what was there before stays."""
    if not any(one.point == str(point) for one in mounts()):  # which is not looked at, since it need not answer
        with suppress(OSError):  # it is gone, or somebody put something into it
            if not S_IMODE(point.lstat().st_mode):
                point.rmdir()


def _mount(settings: Settings, descriptors: dict[str, int], stored: Store) -> Mount:
    found = adopt(descriptors, settings)
    if found is None:
        for name in NAMES:
            stored.drop(name)
        found = make(settings)
        for name, number in found.held.items():
            stored.keep(name, number)
    return found


if __name__ == "__main__":
    sys.exit(main())
