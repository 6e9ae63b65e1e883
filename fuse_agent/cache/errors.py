# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with the cache, for whoever has to put it right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class FullError(Exception):
    """The cache does not take it now, and says why: serve it from where it comes from. No user hears of it."""


class UsedError(Exception):
    """Somebody else reads it, or it is not there any more."""


class ForeignError(Exception):
    """A folder or file is not ours to use."""


class UnsavedError(Exception):
    """What users wrote is stored nowhere else."""


class HeldError(Exception):
    """Another has the folder."""

    def __init__(self, folder: Path, who: Mapping[str, Any]) -> None:
        self.who = dict(who)
        holder = f"process {who['pid']}" if "pid" in who else "a process that has not said who it is yet"
        serves = f", which serves {who['mount']}" if "mount" in who else ""
        super().__init__(
            f"The cache folder {folder} is held by {holder}{serves}: unmount that first, or give this one another data-cache-path."
        )
