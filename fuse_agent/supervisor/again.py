# SPDX-License-Identifier: Apache-2.0
"""A supervisor becomes another release of itself: the same process, with the descriptors that it holds, running new code."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from .signals import Signals

if TYPE_CHECKING:
    from typing import NoReturn

_NAME: Final = "PADDLEFLOW_FUSE_HELD"


class Held(NamedTuple):
    """By number, since they keep it."""

    descriptors: dict[str, int]  # of the mount, and what else there is but for what workers keep
    kept: dict[str, int]
    worker: int  # its process, a child of this one still
    restarts: int


def command() -> list[str]:
    return [sys.executable, *sys.orig_argv[1:]]


def begin(held: Held) -> NoReturn:
    """
    :raises OSError: and all is as it was
    """
    descriptors = [*held.descriptors.values(), *held.kept.values()]
    Signals.hold()
    try:
        for descriptor in descriptors:
            os.set_inheritable(descriptor, True)
        os.execve(sys.executable, command(), {**os.environ, _NAME: json.dumps(held)})
    finally:
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        Signals.release()


def take() -> Held | None:
    """Of the one before, where there was one; to be asked once."""
    text = os.environ.pop(_NAME, "")
    if not text:
        return None
    held = Held(*json.loads(text))
    for descriptor in (*held.descriptors.values(), *held.kept.values()):
        os.set_inheritable(descriptor, False)
    return held


def trial(configuration: int) -> dict[str, str]:
    """The environment by which the new code is asked whether it can read the configuration, before anything depends on it."""
    return {_NAME: json.dumps(Held({"configuration": configuration}, {}, 0, 0))}
