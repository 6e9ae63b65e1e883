# SPDX-License-Identifier: Apache-2.0
"""The mount that a supervisor holds: made, or taken over from the one before it."""

from __future__ import annotations

import importlib.util
import logging
import os
import select
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ..control import Session, agreed_from, load, store
from ..logs import facts
from ..nodes.region import LayoutError, Region
from ..protocol.agree import UnfitError, by_libfuse
from ..protocol.codes import Init
from ..session import mount
from ..session.handshake import begin
from .holders import Holder, holders
from .process import end_orphan

if TYPE_CHECKING:
    from .settings import Settings

_LOG = logging.getLogger(__name__)
# What has to be kept for a mount to be served on.
NAMES: Final = ("fuse", "region", "terms")
# Seconds beyond those in which a worker without a mount stores what it can.
_MORE: Final = 5.0
# What a kernel may grant, and what that is good for.
_FEATURES: Final = {
    Init.PASSTHROUGH: "the kernel reads whole files by itself",
    Init.NO_OPEN_SUPPORT: "opens need no answer",
    Init.HAS_RESEND: "an agent is replaced without an error",
    Init.ALLOW_IDMAP: "owners may be mapped",
    Init.EXPLICIT_INVAL_DATA: "the kernel keeps what it read until it is told otherwise",
    Init.DO_READDIRPLUS: "a listing brings attributes along",
    Init.MAX_PAGES: "reads and writes of up to a megabyte",
    Init.PARALLEL_DIROPS: "several look into one folder at once",
}


class LackingError(OSError):
    """What is to serve a mount is not on this machine."""


class Taken(NamedTuple):
    """How an unmount went. Who still used it, if anybody did, sees the mount no more and goes on with what is open."""

    lazily: bool = False
    used_by: tuple[Holder, ...] = ()
    failed: str = ""


class Mount:
    """
    :ivar held: its descriptors by name
    :ivar session: by which it is served, a name of Session
    :ivar lacks: what a user misses, in words
    """

    def __init__(self, held: dict[str, int]) -> None:
        self.held = held
        terms = load(held["terms"])
        self.point, self.device = str(terms["point"]), str(terms["device"])
        self.agreed = agreed_from(terms["agreed"])
        self.lacks: list[str] = terms["lacks"]
        # An older release knows no other session, and says nothing of what was declared.
        self.session: str = terms.get("session", Session.DIRECT)
        self.declared: list[str] | None = terms.get("declared")

    @property
    def is_gone(self) -> bool:
        """Whether nobody can serve it any more."""
        poll = select.poll()
        poll.register(self.held["fuse"], 0)
        return any(events & (select.POLLERR | select.POLLHUP | select.POLLNVAL) for _number, events in poll.poll(0))

    @property
    def is_there(self) -> bool:
        """Whether its point still shows it, alive or not."""
        return any(one.device == self.device and one.point == self.point for one in mount.mounts())

    @property
    def resends(self) -> bool:
        return Init.HAS_RESEND in self.agreed

    @property
    def goes_on(self) -> bool:
        """Whether another worker can serve it where one ended."""
        return self.session == Session.DIRECT

    def read_ahead(self, kib: int) -> None:
        """As soon as its first request is answered, since the kernel then takes less."""
        try:
            mount.read_ahead(self.device, kib)
        except OSError as error:
            missed = f"reading {kib} KiB ahead ({error.strerror})"
            self.lacks = [*self.lacks, missed] if missed not in self.lacks else self.lacks

    def abort(self) -> None:
        """Nobody waits any longer."""
        try:
            mount.abort(self.device)
        except OSError as error:
            # Then it ends when nobody holds it any more.
            _LOG.warning("the connection cannot be aborted", extra=facts(device=self.device, error=error))

    def take_away(self, path: Path) -> Taken:
        """May wait for whoever serves it."""
        if not self.is_there:  # somebody was faster
            return Taken(lazily=not self.is_gone)
        try:
            mount.unmount(path)
        except OSError:
            used_by = tuple(holders(self.device))
        else:
            return Taken()
        try:
            mount.unmount(path, lazily=True)
        except OSError as error:
            return Taken(failed=str(error))
        return Taken(lazily=True, used_by=used_by)

    def close(self) -> None:
        for descriptor in self.held.values():
            os.close(descriptor)
        self.held = {}


def make(settings: Settings) -> Mount:
    """
    :raises OSError: when it cannot be mounted
    :raises agree.UnfitError: by a kernel that is too old
    """
    if settings.session == Session.PYFUSE3:
        _can_pyfuse3(settings)
        return _make(settings, Session.PYFUSE3)
    try:
        return _make(settings, Session.DIRECT)
    except UnfitError as unfit:
        # Its first request told so, and is taken: another mount has another.
        if settings.session == Session.DIRECT:
            raise
        _can_pyfuse3(settings, f"{unfit} ")
        _LOG.warning("it is served by pyfuse3, which does without much (see its status)", extra=facts(why=unfit))
        return _make(settings, Session.PYFUSE3)


def _can_pyfuse3(settings: Settings, why: str = "") -> None:
    """Before anything is mounted. It is not loaded, since a supervisor is small.

    :raises LackingError:
    """
    if settings.wish.refuses_locks:
        raise LackingError(
            f"{why}The session pyfuse3 cannot refuse locks, and those of the kernel do not hold for other machines. Mount with locks=kernel, or with "
            "session=direct."
        )
    if importlib.util.find_spec("pyfuse3") is None:
        raise LackingError(
            f"{why}The session pyfuse3 needs the Python package pyfuse3 (3.5), which is not installed beside the agent: {sys.executable} -m pip "
            "install pyfuse3. It is compiled, with gcc, pkg-config and libfuse3-dev. The role fuse_agent does it where fuse_agent_pyfuse3 is true."
        )


def _make(settings: Settings, session: str) -> Mount:
    fuse = mount.mount(settings.point, settings.source, settings.mount)
    held = {"fuse": fuse}
    try:
        agreed, lacks = begin(fuse, settings.wish) if session == Session.DIRECT else by_libfuse(settings.wish)
        device = [one.device for one in mount.mounts() if one.point == str(settings.point)][-1]
        lacks += [*settings.in_vain, *limits()]
        region = Region.create()
        held["region"] = os.dup(region.descriptor)
        region.close()
        terms = {
            "point": str(settings.point),
            "device": device,
            "agreed": list(agreed),
            "lacks": lacks,
            "session": session,
            "declared": _declared(settings),
        }
        held["terms"] = store(terms, "paddleflow-terms")
        return Mount(held)
    except BaseException:
        for descriptor in held.values():
            os.close(descriptor)
        with suppress(OSError):
            mount.unmount(settings.point, lazily=True)
        raise


def adopt(kept: dict[str, int], settings: Settings) -> Mount | None:
    """What the supervisor before this one held, as far as it can be served; what cannot is taken away, for another to be made.

    :param kept: what is taken of it is taken out
    :raises OSError: when somebody else serves it and does not end
    """
    held: dict[str, int] = {name: kept.pop(name) for name in NAMES if name in kept}
    if not held:
        return None
    if len(held) < len(NAMES):
        problem = f"{', '.join(sorted(set(NAMES) - set(held)))} was not kept"
    elif (found := _read(held)) is None:
        problem = "what was agreed on it cannot be read; it is of another release"
        _let_go([one for one in mount.mounts() if one.point == str(settings.point) and one.type == mount.TYPE])
    else:
        problem = _unfit(found, settings)
        if not problem:
            end_orphan(held["region"])
            return found
        if not found.is_gone:
            _let_go([one for one in mount.mounts() if (one.point, one.device) == (found.point, found.device)])
    _LOG.warning("the mount before this one cannot be served any more, and another is made", extra=facts(why=problem))
    if "region" in held:  # else two would write in one cache folder
        end_orphan(held["region"], settings.grace + _MORE)
    for descriptor in held.values():
        os.close(descriptor)
    return None


def _let_go(there: list[mount.Mounted]) -> None:
    for one in there:
        with suppress(OSError):
            mount.abort(one.device)
            mount.unmount(Path(one.point), lazily=True)


def _read(held: dict[str, int]) -> Mount | None:
    try:
        return Mount(held)
    except (ValueError, TypeError, KeyError):
        return None


def _declared(settings: Settings) -> list[str]:
    """What its nodes are of: with those of another place its readers would get the content of one file under the name of another. Of what
    it was declared as, what may change while it is mounted is left out, which stands behind the point."""
    name, _colon, digest = settings.label.rpartition(":")
    return [settings.source, f"{name}:{digest.partition('.')[0]}"]


def _unfit(found: Mount, settings: Settings) -> str:
    if found.is_gone:
        return "it has ended"
    if found.point != str(settings.point):
        return f"it is mounted on {found.point}"
    if found.declared not in (None, _declared(settings)):
        return "something else was mounted, or with other options"
    if not found.goes_on:
        return f"who served it by {found.session} is gone, and nobody else can go on with that"
    try:
        Region.check(found.held["region"])
    except LayoutError as error:
        return str(error)
    return ""


def limits(folder: Path = Path("/proc/sys/fs/fuse")) -> list[str]:
    """What this machine's own settings take from a mount, in words."""
    found = []
    for name in ("default_request_timeout", "max_request_timeout"):
        with suppress(FileNotFoundError):  # of an older kernel
            seconds = int((folder / name).read_text())
            if seconds:
                found.append(
                    f"waiting longer than {seconds} s for an answer (fs.fuse.{name} ends the whole mount then)"
                )
    return found


def described(mount_: Mount) -> dict[str, object]:
    """What was agreed, in words."""
    features = [
        {"name": flag.name.lower(), "granted": flag in mount_.agreed, "text": text}
        for flag, text in _FEATURES.items()
        if flag.name and mount_.goes_on  # what libfuse agreed on, it tells nobody
    ]
    has = [one["text"] for one in features if one["granted"]]
    return {
        "point": mount_.point,
        "device": mount_.device,
        "session": mount_.session,
        "has": has,
        "features": features,
        "lacks": mount_.lacks,
        "largest": mount_.agreed.largest,
    }
