# SPDX-License-Identifier: Apache-2.0
"""What a file system is to a worker: who opens it, and what it is asked beside operations."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from ..nodes.region import Region
    from ..operations import Operations
    from ..session.base import Session


class RefusedError(Exception):
    """It cannot be served as it is configured, and says why to whoever configured it."""


class Unsaved(NamedTuple):
    """Files whose data are not stored: how many, and the paths of some."""

    number: int = 0
    names: tuple[str, ...] = ()


class Given(NamedTuple):
    """
    :ivar configuration: what was configured under ``files``, secrets among it; not to be logged
    :ivar kept: descriptors that this worker or one before it asked to be kept, by name
    :ivar keep: asks for that: ``keep("owner", descriptor)``
    :ivar restarts: workers of this mount before this one
    :ivar busy: says, at the end of a mount, that what takes long goes on
    """

    region: Region
    session: Session
    configuration: Mapping[str, Any]
    kept: Mapping[str, int]
    keep: Callable[[str, int], None]
    restarts: int = 0
    busy: Callable[[], None] = lambda: None

    def __repr__(self) -> str:
        return "Given(...)"


class Service(Protocol):
    @property
    def operations(self) -> Operations: ...

    def unsaved(self) -> Unsaved:
        """Asked for every few seconds."""

    async def save(self, seconds: float) -> None:
        """Stores what is not stored, and lets nobody begin to write anew. It is cancelled when that takes longer."""

    def over(self) -> None:
        """The mount is gone, and nobody serves it after this."""

    def status(self) -> dict[str, Any]: ...

    def command(self, name: str, given: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """Lines that tell how it goes. Who asked may leave meanwhile: it is cancelled then.

        :raises LookupError: when there is no such command
        """


# Of what begins with it and ends with it: helpers, threads, files. It may raise RefusedError before it began.
Open: TypeAlias = Callable[[Given], AbstractAsyncContextManager[Service]]
