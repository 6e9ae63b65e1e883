# SPDX-License-Identifier: Apache-2.0
"""The loop that holds a mount: what workers, clients, signals and time have to say is heard by turns, and nobody is waited for alone.

It never touches a path of the mount, which would be to wait for its own worker.
"""

from __future__ import annotations

import logging
import math
import os
import selectors
import threading
import time
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..control import PROGRAM, memory
from ..logs import configure, facts
from . import again, process
from .asks import Asks
from .crew import STARVED, Crew
from .ending import Ending, Phase, Step
from .mounted import described
from .settings import SettingsError, changed, parse
from .signals import ENDS, UPGRADES, Signals
from .status import Status

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from ..control import Message
    from .mounted import Mount, Taken
    from .notify import Notify
    from .process import Worker
    from .settings import Settings
    from .status import Client
    from .store import Store

_LOG = logging.getLogger(__name__)
_ANSWERS: Final = 2.0  # seconds in which a worker says how it is
_BOUND: Final = 5.0  # seconds of a step that takes none unless something is stuck


class Result(IntEnum):
    """Exit statuses; 2 is a wrong command."""

    ENDED = 0
    FAILED = 1
    GAVE_UP = 3
    UNSAVED = 4


class Setting(NamedTuple):
    """What a supervisor is given."""

    settings: Settings
    configuration: bytes  # what they were made of
    json: bool  # how to log
    mount: Mount
    kept: dict[str, int]
    store: Store
    notify: Notify
    listener: socket.socket
    address: Path


class Supervisor:
    def __init__(self, given: Setting) -> None:
        self._settings, self._json = given.settings, given.json
        self._configuration = self._before = given.configuration
        self._mount, self._store, self._notify = given.mount, given.store, given.notify
        self._selector = selectors.DefaultSelector()
        self._signals = Signals()
        self._selector.register(self._signals, selectors.EVENT_READ, self._signalled)
        self._status = Status(self._selector, given.listener, given.address, self._asked, self._left)
        self._crew = Crew(self, given.settings, given.mount, given.kept, given.store, self._selector, given.json)
        self._asks = Asks()
        self._upgrades: list[Client] = []
        self._unmounting: list[Client] = []  # who unmount it, and want to know how that ended
        self._trial: tuple[int, Client] | None = None  # the process that tries new code of ours, and who waits for it
        self._ending: Ending | None = None
        self._taking = False
        self._taken: list[Taken] = []
        self._unsaved: tuple[int, list[str]] = (0, [])
        self._watchdog_at = 0.0 if given.notify.watchdog else math.inf
        self._result: Result | None = None

    def resume(self, worker: Worker, restarts: int) -> None:
        """With the worker of the supervisor before this one, which is replaced now: it is of that one's release."""
        self._crew.adopt(worker, restarts)
        self.ready(worker)
        self._upgrade(None)

    def run(self) -> Result:
        while self._result is None:
            pause = min(self._due() - time.monotonic(), 3600.0)
            for key, events in self._selector.select(max(pause, 0.0)):
                key.data(events)
            self._turn(time.monotonic())
        return self._close(self._result)

    def _due(self) -> float:
        ending = self._ending.due() if self._ending else math.inf
        return min(self._crew.due(), self._asks.due(), self._watchdog_at, ending)

    def _turn(self, now: float) -> None:
        self._crew.turn(now)
        if self._ending:
            self._end_further(self._ending, now)
        elif not self._crew.worker and self._mount.is_gone and self._result is None:
            self._gone()
        if self._trial and (status := process.ended(self._trial[0])) is not None:
            client, self._trial = self._trial[1], None
            self._tried(status, client)
        if not self._taking:  # who unmounts may wait for a program that does it
            process.reap(self._crew.processes | ({self._trial[0]} if self._trial else set()))
        self._asks.expire(now)
        if now >= self._watchdog_at:
            self._watchdog_at = now + self._notify.watchdog
            self._notify.say(WATCHDOG="1")

    def _signalled(self, _events: int) -> None:
        found = self._signals.read()
        if found & ENDS:
            self._end(time.monotonic())
        elif UPGRADES in found:
            self._upgrade(None)

    # --- what happens to workers -----------------------------------------------------------------

    def may_start(self) -> bool:
        ends = self._ending is not None and (self._ending.aborted or self._ending.phase is Phase.LEAVING)
        return not ends and not self._mount.is_gone and not self._is_lost

    @property
    def _is_lost(self) -> bool:
        """Whether nobody can serve it but the worker that did."""
        return self._crew.has_served and not self._mount.goes_on

    def ready(self, worker: Worker) -> None:
        if self._settings.read_ahead_kib:
            self._mount.read_ahead(self._settings.read_ahead_kib)
        if self._ending:
            self._save(self._ending)
        self._notify.say(
            READY="1", STATUS=f"{self._mount.point} is served by {worker.pid}; {self._crew.restarts} restarts"
        )

    def said(self, worker: Worker, message: Message, now: float) -> None:
        said = message.facts
        if message.word == "answer":
            self._asks.answered(said["id"], said["line"], said.get("done", False))
        elif message.word == "saved":
            worker.dirty = said["dirty"]
            self._unsaved = (said["dirty"], said["names"])
            if self._ending:
                self._step(self._ending.saved(now), now)
        elif message.word == "busy" and self._ending:
            self._ending.busy(now)
        elif message.word == "refused":
            _LOG.error("it is not served", extra=facts(point=self._mount.point, why=said["why"]))
            if not self._crew.has_served:  # whoever mounts it waits, and nobody uses it yet
                self._mount.take_away(self._settings.point)
                self._result = Result.FAILED

    def ended(self, worker: Worker, now: float) -> None:
        self._asks.fail()
        gone = self._mount.is_gone
        if self._is_lost and not gone:
            self._lose(now)
        if gone and self._ending:
            self._ending.gone(now)
        last = gone or self._is_lost or (self._ending is not None and self._ending.phase is Phase.LEAVING)
        if last and worker.dirty and not self._unsaved[0]:
            self._unsaved = (worker.dirty, [])

    def _lose(self, now: float) -> None:
        if self._ending:
            if self._ending.phase in (Phase.SAVING, Phase.SAVING_REST):
                self._unsaved = (0, ["not known, since the worker ended while it stored"])
            self._step(self._ending.lost(now), now)
            return
        _LOG.error(
            "the worker has ended, and by pyfuse3 no other can go on with the mount: whoever uses it gets an error. Start it anew; what was not stored "
            "lies in its cache folder and is stored then",
            extra=facts(point=self._mount.point),
        )
        self._mount.abort()
        self._result = Result.GAVE_UP

    def upgraded(self, **line: Any) -> None:
        if "error" in line:
            self._use(self._before)
        for client in self._upgrades:
            client.answer(**line)
        self._upgrades.clear()

    def give_up(self) -> None:
        crew, seconds = self._crew, self._settings.limits.window
        why = STARVED if crew.starved else "see above why they ended, then start it anew"
        told = facts(point=self._mount.point, failures=crew.failures, seconds=seconds, in_a_row=crew.in_a_row, why=why)
        _LOG.error("no worker stays alive, and the mount is ended: whoever uses it gets an error", extra=told)
        self._mount.abort()
        self._result = Result.GAVE_UP

    # --- what clients ask ----------------------------------------------------------------------

    def _asked(self, client: Client, asked: dict[str, Any]) -> None:
        do, now = asked.pop("do"), time.monotonic()
        if do == "status":
            mine = self._state()
            self._asks.ask(self._crew.worker, client, do, {}, lambda said: {**mine, "worker": said}, now + _ANSWERS)
        elif do == "stop":
            self._end(now)
            client.answer(pid=os.getpid())
        elif do == "unmounting":
            self._unmounting.append(client)
            client.answer(done=False)
        elif do == "upgrade":
            self._upgrade(client)
        elif do == "change":
            self._change(client, asked)
        elif do == "upgrade-supervisor":
            self._try(client)
        else:
            self._asks.ask(self._crew.worker, client, do, asked, _last)

    def _left(self, client: Client) -> None:
        if client in self._unmounting:
            self._unmounting.remove(client)
        self._asks.left(self._crew.worker, client)

    def _state(self) -> dict[str, Any]:
        crew = self._crew
        return {
            "label": self._settings.label,
            "program": PROGRAM,
            "pid": os.getpid(),
            "worker_pid": crew.worker.pid if crew.worker else None,
            "serves": crew.serving is not None,
            "restarts": crew.restarts,
            "failures": crew.failures,
            "ends": self._ending is not None,
            "mount": {**described(self._mount), "source": self._settings.source},
            "kept": sorted(crew.kept),
        }

    # --- another release -------------------------------------------------------------------------

    def _change(self, client: Client, given: dict[str, Any]) -> None:
        """By the next worker, which takes over as one of another release does."""
        try:
            configuration = changed(self._configuration, given)
        except SettingsError as error:
            client.answer(error=str(error))
        else:
            self._upgrade(client, configuration)

    def _use(self, configuration: bytes) -> None:
        settings = parse(configuration)
        if settings.log_level != self._settings.log_level:
            configure(self._json, settings.log_level)
        self._configuration, self._settings, self._crew.settings = configuration, settings, settings

    def _upgrade(self, client: Client | None, configuration: bytes = b"") -> None:
        """
        :param configuration: with which the next worker begins, where it is another; if that cannot, nothing has changed
        """
        problem = self._busy()
        if not problem:
            self._before = self._configuration
            self._use(configuration or self._before)
            try:
                self._crew.upgrade()
            except OSError as error:
                self._use(self._before)
                problem = f"no worker can be started: {error}"
        if problem:
            _LOG.warning("the worker is not replaced", extra=facts(why=problem))
            if client:
                client.answer(error=problem)
        elif client:
            self._upgrades.append(client)

    def _busy(self) -> str:
        if self._ending:
            return "the mount is about to end"
        if not self._mount.goes_on:
            return f"a mount that is served by {self._mount.session} cannot be handed over; unmount it and mount it again for another release"
        if self._crew.is_upgrading or self._trial:
            return "another upgrade is under way"
        return "" if self._crew.serving else "no worker serves at the moment"

    def _try(self, client: Client) -> None:
        """New code of this program is tried by a process of its own, since there is no way back from it."""
        problem = self._busy()
        if problem:
            client.answer(error=problem)
            return
        configuration = memory(self._configuration, "paddleflow-configuration")
        try:
            pid = process.spawn([*again.command(), "--try"], [configuration], again.trial(configuration))
        except OSError as error:
            client.answer(error=str(error))
        else:
            self._trial = (pid, client)
        finally:
            os.close(configuration)

    def _tried(self, status: int, client: Client) -> None:
        problem = f"the new code ends with status {status} before it begins" if status else self._busy()
        worker = self._crew.serving
        if problem or worker is None:
            _LOG.error("the supervisor stays what it is", extra=facts(why=problem))
            client.answer(error=problem)
            return
        client.answer(pid=os.getpid())
        configuration = memory(self._configuration, "paddleflow-configuration")
        own = {"configuration": configuration, "control": worker.channel.fileno()}
        own["listener"] = self._status.listener.fileno()
        _LOG.info("the supervisor becomes another release", extra=facts(program=again.command()[0]))
        try:
            held = {**self._mount.held, **own}
            again.begin(again.Held(held, self._crew.kept, worker.pid, self._crew.restarts))
        except OSError as error:
            _LOG.error("the supervisor stays what it is", extra=facts(why=error))
            os.close(configuration)

    # --- the end -------------------------------------------------------------------------------

    def _end(self, now: float) -> None:
        if self._ending:
            return
        _LOG.info("the mount is to end", extra=facts(point=self._mount.point, seconds=self._settings.grace))
        self._notify.say(STOPPING="1")
        self._ending = Ending(now, self._settings.grace, _BOUND)
        self._crew.cancel_upgrade()
        if self._crew.is_fresh:  # it may wait for its source for long, and there is nothing to store
            self._crew.kill()
            self._step(self._ending.unused(now), now)
        else:
            self._save(self._ending)

    def _save(self, ending: Ending) -> None:
        worker = self._crew.serving
        if worker and ending.phase in (Phase.SAVING, Phase.SAVING_REST):
            worker.tell("stop", seconds=ending.left(time.monotonic()))

    def _end_further(self, ending: Ending, now: float) -> None:
        if self._taken:
            taken = self._taken.pop()
            if taken.used_by:
                users = "; ".join(str(one) for one in taken.used_by[:5])
                _LOG.warning(
                    "the mount is taken from those who use it", extra=facts(point=self._mount.point, users=users)
                )
            if taken.failed:
                _LOG.error(
                    "the mount stays, and nobody serves it", extra=facts(point=self._mount.point, why=taken.failed)
                )
                self._result = Result.FAILED
            self._step(ending.taken(now, taken.lazily), now)
        self._step(ending.decide(now), now)
        if ending.phase is Phase.LEAVING and self._crew.worker is None:
            self._result = self._result or Result.ENDED

    def _step(self, step: Step, now: float) -> None:
        if step is Step.SAVE and self._ending:
            self._save(self._ending)
        elif step is Step.TAKE:
            self._take()
        elif step is Step.ABORT:
            _LOG.error("who serves the mount does not answer; it is ended", extra=facts(point=self._mount.point))
            self._crew.kill()
            self._mount.abort()
            if not self._taking:
                self._take()
        elif step is Step.LEAVE:
            self._crew.leave(now)
        elif step is Step.KILL:
            self._crew.kill()
        elif step is Step.END:
            self._result = Result.FAILED

    def _take(self) -> None:
        """In a thread, since an unmount waits for what the kernel still has to write."""

        def take() -> None:
            self._taken.append(self._mount.take_away(self._settings.point))
            self._signals.wake()

        self._taking = True
        threading.Thread(target=take, daemon=True).start()

    def _gone(self) -> None:
        aborted = self._mount.is_there
        how = "aborted" if aborted else "unmounted"
        level = logging.WARNING if aborted else logging.INFO
        what = "the mount is unmounted" if self._unmounting and not aborted else "the mount was ended by somebody else"
        _LOG.log(level, what, extra=facts(point=self._mount.point, how=how))
        self._result = Result.GAVE_UP if aborted else Result.ENDED

    def _close(self, result: Result) -> Result:
        if self._trial:
            process.end(self._trial[0])
        for name in [*self._mount.held, *(f"keep.{name}" for name in self._crew.kept)]:
            self._store.drop(name)
        self._crew.close()
        count, names = self._unsaved
        for client in list(self._unmounting):  # who is gone leaves it
            client.answer(unsaved=names, count=count or len(names))
        self._status.close()
        self._selector.close()
        self._mount.close()
        if count or names:
            _LOG.error("files were not stored", extra=facts(count=count, names=", ".join(names) or "not known"))
            return result or Result.UNSAVED
        return result


def _last(said: object) -> dict[str, Any]:
    return said if isinstance(said, dict) else {"error": f"the worker {said}"}
