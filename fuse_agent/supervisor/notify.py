# SPDX-License-Identifier: Apache-2.0
"""Tells systemd how a service is, by the protocol of sd_notify(3)."""

from __future__ import annotations

import logging
import os
import socket
from typing import TYPE_CHECKING, Final

from ..logs import facts

if TYPE_CHECKING:
    from collections.abc import Mapping

_LOG = logging.getLogger(__name__)
_SECONDS: Final = 5


class Notify:
    """
    :ivar watchdog: seconds between two signs of life that systemd wants, or 0 when it wants none
    """

    def __init__(self, environment: Mapping[str, str], pid: int) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        ours = environment.get("WATCHDOG_PID", str(pid)) == str(pid)
        self.watchdog = int(environment.get("WATCHDOG_USEC", "0")) / 2e6 if ours and self._address else 0.0

    def __bool__(self) -> bool:
        return bool(self._address)

    def say(self, *descriptors: int, **facts_: str) -> None:
        """Without systemd, nothing. That it does not listen ends no mount."""
        if not self._address:
            return
        text = "".join(f"{name}={' '.join(value.split())}\n" for name, value in facts_.items())
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as end:
                end.settimeout(_SECONDS)
                end.connect(self._address)
                socket.send_fds(end, [os.fsencode(text)], descriptors)
        except (ConnectionRefusedError, FileNotFoundError):
            self._address = ""  # it waited to hear that the mount is there, and went
        except OSError as error:
            _LOG.warning("systemd cannot be told", extra=facts(what=next(iter(facts_)), error=error))


def inherited(environment: Mapping[str, str], pid: int) -> dict[str, int]:
    """Descriptors that systemd kept for a service, by name."""
    if environment.get("LISTEN_PID") != str(pid):
        return {}
    count, names = int(environment.get("LISTEN_FDS", "0")), environment.get("LISTEN_FDNAMES", "").split(":")
    found = dict(zip(names, range(3, 3 + count), strict=False))
    for descriptor in range(3, 3 + count):
        os.set_inheritable(descriptor, False)
        if descriptor not in found.values():
            os.close(descriptor)  # of a name that came twice, or of none
    return found
