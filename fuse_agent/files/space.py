# SPDX-License-Identifier: Apache-2.0
"""How much room a file system has, as its source tells it every few seconds, or as is known here."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import trio

from . import view

if TYPE_CHECKING:
    from ..nodes.table import Nodes
    from ..operations import Soon
    from ..protocol.replies import Space
    from ..sources.base import Room, Source
    from .view import Settings
    from .work import Flight, Work

_LOG = logging.getLogger(__name__)
# Seconds for which an answer of the source is taken, and that the first one who asks waits for it.
_HOLDS, _PATIENCE = 5.0, 2.0


class Spaces:
    def __init__(self, nodes: Nodes, source: Source, settings: Settings, work: Work) -> None:
        self._nodes, self._source, self._settings, self._work = nodes, source, settings, work
        self._room: Room | None = None
        self._until = 0.0
        self._flight: Flight | None = None

    def ask(self) -> Soon[Space]:
        """Never an error: who asks for room has to get on while the source is away."""
        if trio.current_time() >= self._until and self._flight is None:
            first = not self._until
            self._flight = self._work.begin(self._refresh)
            if first:
                return self._first(self._flight)
        return self._known()

    async def _first(self, flight: Flight) -> Space:
        with trio.move_on_after(_PATIENCE):
            await flight.result()
        return self._known()

    async def _refresh(self) -> None:
        try:
            self._room = await self._work.ask(self._source.space)
        except OSError as error:
            _LOG.debug("the source does not say how much room it has: %s", error)
        finally:
            self._until = trio.current_time() + _HOLDS
            self._flight = None

    def _known(self) -> Space:
        if self._room is None:
            return view.space(self._settings, self._nodes.size, len(self._nodes))
        return view.room(self._settings, self._room)
