# SPDX-License-Identifier: Apache-2.0
"""The other end of a `FarSource`: a program that has the source, and a thread for each channel."""

from __future__ import annotations

import errno
import logging
import math
import os
import signal
import socket
import sys
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..logs import inherit
from .base import StuckError
from .channel import GOES_ON, Channel
from .make import abilities, here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..metrics import Request
    from .base import Abilities, Source

_LOG = logging.getLogger(__name__)
# Seconds in which what could not be made is not tried again.
_REST: Final = 5.0
# Seconds between two words of what takes long.
_WORD: Final = 30.0


class _Requests:
    """What the source asked for since it was told last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: list[Request] = []

    def add(self, request: Request) -> None:
        with self._lock:
            self._made.append(request)

    def take(self) -> list[Request]:
        with self._lock:
            made, self._made = self._made, []
            return made


class Made:
    """A source, as soon as it can be made: whoever asks before is told why it cannot. What it is made of may be away for a while, as Vault."""

    def __init__(
        self, make: Callable[[], Source], fixed: Abilities | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """
        :param fixed: its abilities, where they are known before
        """
        self._make, self._fixed, self._clock = make, fixed, clock
        self._lock = threading.Lock()
        self._source: Source | None = None
        self._failed, self._not_before = OSError(), -math.inf

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if self._source is None and self._clock() >= self._not_before:
                try:
                    self._source = self._make()
                except OSError as error:
                    self._failed, self._not_before = error, self._clock() + _REST
            if self._source is None:
                raise self._failed
        return getattr(self._source, name)

    @property
    def abilities(self) -> Abilities:
        found: Abilities = self._fixed or self.__getattr__("abilities")
        return found

    def alive(self) -> bool:
        return True

    def begin(self) -> None:
        """Before anybody asks."""
        with suppress(OSError):
            self.__getattr__("abilities")


def main() -> None:
    # Whoever started this tells it when to end.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    control = Channel(socket.socket(fileno=int(sys.argv[1])))
    wanted, _none = control.receive()
    requests = _Requests()
    source = Made(partial(here, wanted, requests.add), abilities(wanted))
    threading.Thread(target=source.begin, daemon=True).start()
    while True:
        try:
            _word, (descriptor,) = control.receive()
        except (EOFError, ConnectionError):
            # Whatever its threads still do, nobody waits for.
            os._exit(0)
        channel = Channel(socket.socket(fileno=descriptor))
        threading.Thread(target=_serve, args=(source, requests, channel), daemon=True).start()


def _serve(source: Made, requests: _Requests, channel: Channel) -> None:
    try:
        while True:
            (name, given), descriptors = channel.receive()
            try:
                _answer(source, requests, channel, name, given, descriptors)
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)
    except (EOFError, ConnectionError):
        pass
    except StuckError as error:
        _LOG.error("the helper ends, for another to go on: %s", error)
        os._exit(1)
    finally:
        channel.close()  # also by a defect, since somebody waits


def _answer(
    source: Any, requests: _Requests, channel: Channel, name: str, given: tuple[Any, ...], descriptors: list[int]
) -> None:
    value: Any = None
    error: OSError | None = None
    try:
        if name == "list":
            for page in source.list(*given):
                channel.send((page, None, requests.take()))
        elif name in ("store", "patch", "send_behind"):
            path, *rest = given
            with _goes_on(requests, channel):
                value = getattr(source, name)(path, descriptors[0], *rest)
        elif name == "rename_folder":
            old, new = given
            with _goes_on(requests, channel):
                source.rename_folder(old, new, descriptors[0])
        elif name == "credentials":
            value = source.keys()[:3]
        elif name == "abilities":
            value = source.abilities
        elif name in ("read", "read_replaced"):
            value = bytes(getattr(source, name)(*given))
        elif name == "rename":
            with _goes_on(requests, channel):
                source.rename(*given)
        else:
            value = getattr(source, name)(*given)
    except (EOFError, ConnectionError, StuckError):
        raise
    except OSError as failure:
        error = failure
    except Exception as defect:  # noqa: BLE001 (of one call: others go on)
        _LOG.error("%s failed by a defect of the agent", name, exc_info=defect)
        error = OSError(errno.EIO, f"{name} failed by a defect of the agent: {type(defect).__name__}")
    channel.send((value, error, requests.take()))


@contextmanager
def _goes_on(requests: _Requests, channel: Channel) -> Iterator[None]:
    """Whoever waits hears so now and then: a large file, or a folder of many, takes as long as it takes."""
    done = threading.Event()

    def tell() -> None:
        with suppress(OSError):
            while not done.wait(_WORD):
                channel.send((GOES_ON, None, requests.take()))

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


if __name__ == "__main__":
    inherit()
    main()
