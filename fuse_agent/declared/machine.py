# SPDX-License-Identifier: Apache-2.0
"""Does to a machine what was decided, and notes what was not there before, to take it away again."""

from __future__ import annotations

import errno
import json
import os
import shutil
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .. import configuration
from ..cache.claim import clean
from ..cache.errors import ForeignError, HeldError, UnsavedError
from ..cli.ask import AskError, wait_for_end
from ..cli.mount import living
from ..files.written.folders import caches
from ..session.mount import TYPE, MountError, is_dead, mounts, unmount
from ..session.mount import real as real_point
from ..supervisor.holders import holders
from ..supervisor.status import address
from . import agents as found_agents
from .agents import ANSWER, TroubleError, ask, document, status, unsaved, until
from .decide import Agent, Step, Wanted, count, some, steps

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from .agents import Silent
    from .services import Services


# Seconds in which a worker sees that its supervisor is gone, and answers no more.
_LEAVES: Final = 2.0
# What systemd is told of one beside the unit of all, below the folder of the machine's configuration.
_UNIT: Final = "systemd/system/paddleflow-fuse@{}.service.d"
# Folders that were made for one and hold something of another.
_SHARED: Final = ""


class Places(NamedTuple):
    """
    :ivar config: the folder with ``mounts``, ``secrets`` and the record
    :ivar releases: the folder of the installations
    :ivar run: the folder of the sockets
    :ivar cache: where caches lie unless it is declared
    """

    config: Path
    releases: Path
    run: Path
    cache: Path


class Machine:
    """
    :ivar patience: seconds that one of them may take for one thing
    :ivar did: what was done, or in a check would be, in words
    :ivar kept: what stays although it was to go, and why
    """

    def __init__(self, places: Places, services: Services, patience: float, *, check: bool, force: bool) -> None:
        self._places, self._services, self.patience = places, services, patience
        self._check, self._force = check, force
        self.did: list[str] = []
        self.kept: list[str] = []

    def agents(self, but: Container[str] = ()) -> tuple[list[Agent], list[Silent]]:
        """Those that answer, and those that do not.

        :param but: sockets of those that are not asked
        """
        return found_agents.agents(self._places.run, min(self.patience, ANSWER), but)

    def socket(self, point: str) -> str:
        """Where the agent of what is mounted there answers."""
        return str(address(self._places.run, Path(point)))

    def silence(self, one: Silent) -> str:
        """For a person: it cannot say itself what it serves."""
        points = [mounted.point for mounted in mounts() if mounted.type == TYPE]
        points += [real(found.get("point", "")) for found in self.declared().values()]
        point = next((point for point in points if self.socket(point) == one.socket), "")
        who = f"The agent of {point}" if point else f"The agent at {one.socket}"
        return f"{who} does not answer ({one.why}), and was left alone. {one.remedy}"

    def declared(self) -> dict[str, dict[str, Any]]:
        """What lies there of each, by name."""
        return {path.stem: document(path) for path in sorted((self._places.config / "mounts").glob("*.json"))}

    def roots(self) -> Iterator[Path]:
        """Folders of caches."""
        yield self._places.cache
        yield from {self._root(name) for name in self.declared()} - {self._places.cache}

    def do(self, step: Step, what: str, how: Callable[[], None]) -> None:
        """Told once it is done."""
        if not self._check:
            how()
        self.did.append(step.told(what, self._check))

    # --- what was not there before -----------------------------------------------------------------

    def record(self) -> dict[str, dict[str, Any]]:
        return {"folders": {}, "parameters": {}, **document(self._places.config / "record.json")}

    def keep(self, record: dict[str, dict[str, Any]]) -> None:
        path = self._places.config / "record.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".new")
        unfinished.write_text(json.dumps(record, sort_keys=True) + "\n", encoding="utf-8")
        unfinished.rename(path)

    def _note_made(self, name: str, folder: Path) -> None:
        missing = [str(one) for one in (folder, *folder.parents) if not one.exists()]
        if missing:
            record = self.record()
            record["folders"][name] = sorted({*record["folders"].get(name, []), *missing})
            self.keep(record)

    def _made(self, name: str) -> list[str]:
        """Folders that were not there before."""
        found: list[str] = self.record()["folders"].get(name, [])
        return found

    # --- steps -------------------------------------------------------------------------------------

    def bring(self, wanted: Wanted, agent: Agent | None, anew: bool = False) -> None:
        """
        :param anew: even if it is mounted as it is wanted
        :raises TroubleError:
        """
        point = agent.point if agent else wanted.point
        known = (self._places.config / "mounts" / f"{wanted.name}.json").exists()
        dead = agent is None and bool(point) and _is_ours(point)
        if dead and not self._force:
            self._require_dead(point)
        name, services = wanted.name, self._services
        for step in list(steps(wanted, agent, dead=dead, up=services.is_up(name), known=known, anew=anew)):
            if step is Step.UNMOUNT:
                if agent and not self._force:
                    self.require_stored(agent)
                what = f"{name or 'what was mounted by hand'} from {point}"
                self.do(step, what, partial(self._unmount, name, point, agent))
            elif step is Step.MOUNT:
                self.do(step, f"{name} on {wanted.point}", partial(self._mount, wanted))
            elif step is Step.CHANGE and agent:
                self.do(step, f"the options of {name} on {point}", partial(self._change, wanted, agent))
            elif step is Step.ENABLE:
                self.do(step, name, partial(services.enable, name))
            elif step is Step.DISABLE:
                self.do(step, name, partial(services.stop, name, self.patience))
            else:
                found = [(folder, files) for folder, mounted, files in caches(self._root(name)) if mounted == point]
                self._note_waiting(found)
                self.do(step, name, partial(self._forget, name, [folder for folder, files in found if not files]))

    def _mount(self, wanted: Wanted) -> None:
        root = self._root(wanted.name)
        if not _is_ours(wanted.point):
            point = Path(wanted.point)
            if wanted.point in self._made(wanted.name):
                remove_empty([wanted.point])  # of an agent that was killed
            self._note_made(wanted.name, point)
            point.parent.mkdir(parents=True, exist_ok=True)  # the rest makes the agent, each time that it mounts
        self._note_made(wanted.name, root)
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._clean_others(wanted, root)
        self._services.start(wanted.name)

        def settled() -> str:
            with suppress(AskError, OSError, ValueError, LookupError):  # nobody answers there yet
                one = status(self.socket(wanted.point))
                if one.label == wanted.label and one.serves:
                    return "mounted"
            return "failed" if self._services.has_failed(wanted.name) else ""

        if until(settled, self.patience) != "mounted":
            own = wanted.point in self._made(wanted.name)
            there = (
                "" if own else " That folder was there before; what is written to it meanwhile stays on this machine."
            )
            raise TroubleError(
                f"{wanted.name} is not mounted on {wanted.point}, which is tried again and again.{there} It says: {self._services.says(wanted.name)}"
            )

    def _change(self, wanted: Wanted, agent: Agent) -> None:
        """Another worker goes on with the mount, by what is wanted now."""
        given = living(configuration.read(*self._given(wanted.name)), wanted.label)
        try:
            ask(agent.socket, "change", self.patience, **given)
        except AskError as error:
            raise TroubleError(f"{agent.point} is served as before: {error}. See its log, then run again.") from None

    def _unmount(self, name: str, point: str, agent: Agent | None) -> None:
        if agent is None or not self._force:
            try:
                unmount(Path(point), lazily=agent is None)
            except MountError as error:
                if error.errno != errno.EBUSY:
                    raise TroubleError(str(error)) from None
                users = (
                    "; ".join(str(one) for one in holders(_device(point))[:5]) or "nobody that can be seen from here"
                )
                raise TroubleError(
                    f"{point} stays mounted, since it is used by {users}. End them and run again; or take it from them with fuse_agent_force."
                ) from None
        elif name and self._services.is_up(name):
            self._services.stop(name, self.patience)
        else:
            ask(agent.socket, "stop")
        if agent and not wait_for_end(agent.pid, self.patience):
            raise TroubleError(f"The agent {agent.pid} of {point} does not end. See its log, then run again.")

    def _require_dead(self, point: str) -> None:
        """What somebody mounted by hand, with sockets elsewhere, answers, and may hold what is not stored.

        :raises TroubleError:
        """
        if not until(lambda: is_dead(Path(point), self.patience), _LEAVES):
            raise TroubleError(
                f"{point} is mounted by an agent that has no socket in {self._places.run}: somebody runs it from elsewhere, or it is stuck. "
                f"End it and run again: paddleflow-fuse umount {point}; or take it away with fuse_agent_force."
            )

    def require_stored(self, agent: Agent) -> None:
        """
        :raises TroubleError: that names what its store does not take
        """
        found = unsaved(agent, self.patience, self.roots())
        if found:
            raise TroubleError(
                f"{agent.point} holds {count(found)} that its store does not take and that nobody else has: {some(found)}. Mend the store and "
                "run again; or unmount all the same with fuse_agent_force, which leaves them in the cache folder."
            )

    def _note_waiting(self, found: list[tuple[Path, list[str]]]) -> None:
        """
        :raises TroubleError:
        """
        waiting = [waits(folder, files) for folder, files in found if files]
        if waiting and not self._force:
            raise TroubleError("\n".join(waiting))
        self.kept += waiting

    def _forget(self, name: str, folders: list[Path]) -> None:
        """Configuration, logs and caches."""
        for folder in folders:
            self.clean(folder)
        self._services.forget(name)
        for path in self._places.run.glob("*.json"):
            if str(document(path).get("label", "")).startswith(f"{name}:"):
                path.unlink()
        shutil.rmtree(self._places.config.parents[1] / _UNIT.format(name), ignore_errors=True)
        record = self.record()
        made = sorted({*record["folders"].pop(name, []), *record["folders"].pop(_SHARED, [])}, reverse=True)
        remove_empty(made)
        record["folders"][_SHARED] = [one for one in made if os.path.lexists(one)]
        self.keep(record)
        # Last: by it a run that comes after one that was killed finds what is left.
        for kind in ("secrets", "mounts"):
            (self._places.config / kind / f"{name}.json").unlink(missing_ok=True)

    def move(self, agent: Agent, release: Path) -> None:
        """Its supervisor becomes the code of that release, and brings a worker of its own; the mount is the same.

        :raises TroubleError:
        """
        self.do(Step.MOVE, agent.point, partial(self._move, agent, release))

    def _move(self, agent: Agent, release: Path) -> None:
        device, why = _device(agent.point), ""
        try:
            ask(agent.socket, "upgrade-supervisor", self.patience)
        except AskError as error:
            why = str(error)

        def moved() -> bool:
            with suppress(AskError, OSError, ValueError):  # for a moment nobody answers
                now = status(agent.socket)
                return (
                    now.pid == agent.pid and now.worker not in (0, agent.worker) and set(now.programs) == {str(release)}
                )
            return False

        if why or not until(moved, self.patience) or _device(agent.point) != device:
            why = why or "the new code does not serve"
            raise TroubleError(f"{agent.point} is not served by {release}: {why}. See its log, then run again.")

    # --- caches ------------------------------------------------------------------------------------

    def clean(self, folder: Path) -> None:
        try:
            clean(folder)
        except (HeldError, ForeignError, UnsavedError, OSError) as error:
            self.kept.append(str(error))
            return
        with suppress(OSError):
            folder.parent.rmdir()  # other caches of the same files may be there

    def _clean_others(self, wanted: Wanted, root: Path) -> None:
        """Caches of the same mount with other options, which nobody would read again."""
        given = configuration.read(*self._given(wanted.name))
        own = root / configuration.folder(given) / configuration.tag(given)
        for folder, point, files in caches(root):
            if point == wanted.point and folder != own:
                if files:
                    self.kept.append(waits(folder, files))
                else:
                    self.clean(folder)

    def _given(self, name: str) -> tuple[str, dict[str, Any]]:
        found = document(self._places.config / "mounts" / f"{name}.json")
        return found.get("url", ""), found.get("options", {})

    def _root(self, name: str) -> Path:
        given = self._given(name)[1].get("data-cache-path", "").rstrip("/")
        return Path(given) if given else self._places.cache


def waits(folder: Path, files: list[str]) -> str:
    return (
        f"{folder}/staging holds {count(files)} that nobody else has: {some(files)}. Mount the file system again with the same options, which "
        "stores them, or move them away."
    )


def _is_ours(point: str) -> bool:
    return any(one.point == point and one.type == TYPE for one in mounts())


def real(point: str) -> str:
    """As an agent says it; without a look at the mount itself, which may hang."""
    return str(real_point(Path(point))) if point else ""


def _device(point: str) -> str:
    """Of what is uppermost there; another mount has another."""
    return next((one.device for one in reversed(mounts()) if one.point == point), "")


def remove_empty(paths: list[str]) -> None:
    for path in paths:
        with suppress(OSError):
            os.rmdir(path)  # noqa: PTH106
