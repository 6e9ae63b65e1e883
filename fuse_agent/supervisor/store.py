# SPDX-License-Identifier: Apache-2.0
"""Who keeps a mount's descriptors while even its supervisor is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .notify import Notify, inherited

if TYPE_CHECKING:
    from collections.abc import Mapping


class Store(Protocol):
    def take(self) -> dict[str, int]:
        """What was kept, by name. To be asked once."""

    def keep(self, name: str, descriptor: int) -> None:
        """A copy of it. What is kept under that name already must be dropped before."""

    def drop(self, name: str) -> None: ...


class Nowhere:
    """The mount ends with its supervisor."""

    def take(self) -> dict[str, int]:
        return {}

    def keep(self, name: str, descriptor: int) -> None:
        pass

    def drop(self, name: str) -> None:
        pass


class Systemd:
    """The service has FileDescriptorStoreMax= and is started again by Restart=."""

    def __init__(self, notify: Notify, environment: Mapping[str, str], pid: int) -> None:
        self._notify, self._environment, self._pid = notify, environment, pid

    def take(self) -> dict[str, int]:
        return inherited(self._environment, self._pid)

    def keep(self, name: str, descriptor: int) -> None:
        self._notify.say(descriptor, FDSTORE="1", FDNAME=name)

    def drop(self, name: str) -> None:
        self._notify.say(FDSTOREREMOVE="1", FDNAME=name)
