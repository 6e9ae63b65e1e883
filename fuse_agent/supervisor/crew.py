# SPDX-License-Identifier: Apache-2.0
"""The workers of a mount: one serves; another may load meanwhile, to take its place."""

from __future__ import annotations

import logging
import math
import os
import selectors
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..control import GarbledError
from ..logs import facts
from . import process
from .shortage import Shortage
from .watch import Do, Watch

if TYPE_CHECKING:
    from ..control import Message
    from .mounted import Mount
    from .process import Worker
    from .settings import Settings
    from .store import Store

_LOG = logging.getLogger(__name__)
# Beyond the time in which a worker is to leave, until it is taken for stuck.
_MORE: Final = 5.0
STARVED: Final = (
    "the kernel killed the worker since its memory was used up: allow it more (MemoryMax= of its unit, limits.memory of its container), or let it take less "
    "(memory-cache-size)"
)


class Owner(Protocol):
    """Who is told of what happens to workers."""

    def may_start(self) -> bool:
        """Whether a worker is of use now."""

    def ready(self, worker: Worker) -> None: ...

    def said(self, worker: Worker, message: Message, now: float) -> None: ...

    def ended(self, worker: Worker, now: float) -> None:
        """The one that served, or was to."""

    def upgraded(self, **line: Any) -> None:
        """Or not, with an ``error``."""

    def give_up(self) -> None: ...


class Crew:
    """
    :ivar worker: who serves, or is about to
    :ivar kept: descriptors that workers asked to be kept for those after them, by name
    :ivar has_served: some worker has
    :ivar starved: the last that ended was killed by the kernel, since its memory was used up
    """

    def __init__(
        self,
        owner: Owner,
        settings: Settings,
        mount: Mount,
        kept: dict[str, int],
        stored: Store,
        selector: selectors.BaseSelector,
        as_json: bool,
    ) -> None:
        self._owner, self.settings, self._mount, self.kept = owner, settings, mount, kept
        self._store, self._selector, self._json = stored, selector, as_json
        self._watch = Watch(settings.limits, time.monotonic())
        self.worker: Worker | None = None
        self._next: Worker | None = None
        self._next_until = math.inf
        self._begun = 0
        self.has_served = self.starved = False
        self._shortage = Shortage()

    @property
    def restarts(self) -> int:
        return max(self._begun - 1, 0)

    @property
    def failures(self) -> int:
        return self._watch.failures

    @property
    def in_a_row(self) -> int:
        return self._watch.in_a_row

    @property
    def serving(self) -> Worker | None:
        return self.worker if self.worker and self.worker.ready else None

    @property
    def processes(self) -> set[int]:
        return {worker.pid for worker in (self.worker, self._next) if worker}

    @property
    def is_fresh(self) -> bool:
        """No worker has ever begun: none served, and none has a folder of what was written."""
        return not self.has_served and not self.kept

    @property
    def is_upgrading(self) -> bool:
        return self._next is not None

    def adopt(self, worker: Worker, restarts: int) -> None:
        """One that the supervisor before this one started."""
        now = time.monotonic()
        worker.loaded = worker.ready = self.has_served = True
        self._begun = restarts + 1
        self._listen(worker)
        self.worker = worker
        self._watch.started(now)
        self._watch.ready(now)

    def upgrade(self) -> None:
        """The new worker loads while the old one serves, so that nobody waits for that; if it cannot, nothing has changed.

        :raises OSError: when none can be started
        """
        self._next = self._spawn()
        self._next_until = time.monotonic() + self.settings.limits.starting
        self._listen(self._next)

    def cancel_upgrade(self) -> None:
        if self._next:
            self._next.kill()

    def leave(self, now: float) -> None:
        """It ends what it has begun, and itself."""
        if self.worker:
            self.worker.tell("yield", seconds=self.settings.hand_over)
            self.worker.ready = False
            self._watch.leaves(now, self.settings.hand_over + _MORE)

    def kill(self) -> None:
        if self.worker:
            self.worker.kill()

    def due(self) -> float:
        if not self.worker and (self._next or not self._owner.may_start()):
            return self._next_until
        return min(self._watch.due(), self._next_until)

    def turn(self, now: float) -> None:
        self._reap(now)
        self._supervise(now)
        if self._next and now >= self._next_until:
            _LOG.error("the new worker does not load, and is ended", extra=facts(pid=self._next.pid))
            self._next_until = math.inf
            self._next.kill()

    def close(self) -> None:
        for worker in (self.worker, self._next):
            if worker:
                process.end(worker.pid)
                self._part(worker)
        for descriptor in self.kept.values():
            os.close(descriptor)

    def _supervise(self, now: float) -> None:
        do = self._watch.decide(now)
        if do is Do.KILL and self.worker:
            _LOG.error("the worker gives no sign of life and is replaced", extra=facts(pid=self.worker.pid))
            self.worker.kill()
        elif do is Do.START and self._next:
            if self._next.loaded:
                worker, self._next, self._next_until = self._next, None, math.inf
                self._go(worker, now)
        elif do is Do.START and self._owner.may_start():
            self._start(now)
        elif do is Do.GIVE_UP:
            self._owner.give_up()

    def _start(self, now: float) -> None:
        try:
            worker = self._spawn()
        except OSError as error:
            _LOG.error("no worker can be started", extra=facts(command=self.settings.worker[0], error=error))
            self._watch.started(now)
            self._watch.ended(now)
            return
        self._listen(worker)
        self._go(worker, now)

    def _spawn(self) -> Worker:
        return process.start(self.settings, self._mount, self._json, self.kept, self._begun)

    def _go(self, worker: Worker, now: float) -> None:
        worker.tell("go")
        self.worker = worker
        self._begun += 1
        self._shortage.begin()
        self._watch.started(now)
        _LOG.info("a worker begins", extra=facts(pid=worker.pid, restarts=self.restarts))
        if self.restarts and self._mount.goes_on and not self._mount.resends:
            _LOG.warning(
                "this kernel (before 6.9) asks nobody twice: who waits for an answer of the worker before waits until it is killed",
                extra=facts(point=self._mount.point),
            )

    # --- how they end --------------------------------------------------------------------------

    def _reap(self, now: float) -> None:
        if self.worker and (status := self.worker.ended()) is not None:
            worker = self.worker
            self._hear(worker)
            self._part(worker)
            self.worker = None
            if self._mount.is_gone:  # so it had nothing left to do
                self._watch.leaves(now, 0)
            self.starved = status == -signal.SIGKILL and self._shortage.has_killed()
            self._watch.ended(now, by_itself=self.starved or status not in (0, -signal.SIGKILL))
            level = logging.WARNING if status else logging.INFO
            told = facts(pid=worker.pid, status=status, failures=self.failures)
            _LOG.log(level, "the worker ended", extra=told)
            if self.starved:
                _LOG.warning(STARVED, extra=facts(pid=worker.pid, told_by=self._shortage.told_by))
            self._owner.ended(worker, now)
        if self._next and (status := self._next.ended()) is not None:
            worker, self._next, self._next_until = self._next, None, math.inf
            self._part(worker)
            problem = f"the new worker ended with status {status} before it served"
            _LOG.error("the worker is not replaced", extra=facts(why=problem))
            self._owner.upgraded(error=problem)

    def _part(self, worker: Worker) -> None:
        self._deafen(worker)
        worker.channel.close()

    # --- what they say -------------------------------------------------------------------------

    def _listen(self, worker: Worker) -> None:
        self._selector.register(worker.channel, selectors.EVENT_READ, lambda _events: self._hear(worker))

    def _deafen(self, worker: Worker) -> None:
        with suppress(KeyError):
            self._selector.unregister(worker.channel)

    def _hear(self, worker: Worker) -> None:
        """All of it, so that nobody is taken for stuck whose words only wait here."""
        while worker.channel.fileno() >= 0:
            try:
                message = worker.channel.receive()
            except BlockingIOError:
                return
            except GarbledError as error:
                _LOG.error("the worker is ended", extra=facts(pid=worker.pid, error=error))
                worker.kill()
                return
            if message is None:
                # It ends, or was ended; until that is so, its socket would be told of again and again.
                self._deafen(worker)
                return
            self._said(worker, message, time.monotonic())

    def _said(self, worker: Worker, message: Message, now: float) -> None:
        if message.word == "keep" and message.descriptors:
            self._keep(message.facts["name"], message.descriptors[0])
            return
        for descriptor in message.descriptors:  # of a word of another release
            os.close(descriptor)
        if message.word == "loaded":
            worker.loaded = True
            if worker is self._next:
                self._next_until = math.inf
                self.leave(now)
        elif worker is not self.worker:
            return
        elif message.word == "beat":
            worker.dirty = message.facts["dirty"]
            self._watch.beat(now)
        elif message.word == "ready":
            worker.ready = self.has_served = True
            self._watch.ready(now)
            _LOG.info("the worker serves", extra=facts(pid=worker.pid, point=self._mount.point))
            self._owner.ready(worker)
            self._owner.upgraded(worker_pid=worker.pid)
        else:
            self._owner.said(worker, message, now)

    def _keep(self, name: str, descriptor: int) -> None:
        if name in self.kept:
            self._store.drop(f"keep.{name}")
            os.close(self.kept.pop(name))
        self.kept[name] = descriptor
        self._store.keep(f"keep.{name}", descriptor)
