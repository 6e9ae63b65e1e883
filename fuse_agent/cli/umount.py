# SPDX-License-Identifier: Apache-2.0
"""Stores what is not stored and unmounts, where the store takes all of it; what is left is named, however the mount ended."""

from __future__ import annotations

import errno
import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Final

from ..logs import plain
from ..session.mount import TYPE, MountError, elsewhere, is_dead, mounts, real, unmount
from .ask import LEAVES, AskError, GoneError, ask, last, wait_for_end
from .show import size
from .words import UNSAVED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_FAILED: Final = 1
_SOON: Final = 5.0  # seconds after which who waits is told for what


def umount(given: argparse.Namespace) -> int:
    run, point = given.run, given.point
    if given.force:
        return _take_away(run, point)
    try:
        status = last(run, point, "status")
    except GoneError:
        if not is_dead(point, LEAVES):
            raise
        return _take_dead(point)
    left, count = _save(run, point)
    if count:
        _say(f"{point} stays mounted, since the store does not take: {_few(left, count)}")
        return UNSAVED
    with closing(ask(run, point, "unmounting")) as told:
        with suppress(AskError):  # as of an agent of an older release
            next(told)
        try:
            unmount(point)
        except MountError as error:
            if error.errno != errno.EBUSY:
                raise
            _say(
                f"{point} is used: somebody has a file of it open or stands in a folder of it. All that was written is stored. "
                f"See who it is: fuser -vm {point}"
            )
            return _FAILED
        _wait(point, status)
        return _ended(point, status["worker"], told)


def _save(run: Path, point: Path) -> tuple[list[str], int]:
    """Some of what the store does not take, and how many there are."""
    left: list[str] = []
    count, said = 0, ""
    for line in ask(run, point, "save", progress=True):
        if line.get("left"):
            names = line.get("names", [])
            now = f"{_files(line['left'])} still to be stored, {size(line['bytes'])}: {_few(names, line['left'])}"
            if now != said:
                _say(said := now)
        if "unsaved" in line:  # the line after it, the last, tells nothing
            left = line["unsaved"]
            count = line.get("count", len(left))
    return left, count


def _wait(point: Path, status: dict[str, Any]) -> None:
    mount = status["mount"]
    if not wait_for_end(status["pid"], _SOON) and (other := elsewhere(mount["device"], mount["source"])):
        _say(
            f"{point} is unmounted here, but not in the mount namespace of process {other}, as of a container that began while it was mounted. "
            "Its agent serves there until that ends, or unmounts it too; this waits for it."
        )
    wait_for_end(status["pid"])


def _ended(point: Path, worker: object, told: Iterator[dict[str, Any]]) -> int:
    """As the agent said at its end."""
    end: dict[str, Any] = {}
    with suppress(AskError):
        for line in told:
            end = line
    count = end.get("count", 0)
    if not count:
        return 0
    _say(f"{point} is unmounted, and the store did not take: {_few(end['unsaved'], count)}. {_lie(worker)}")
    return UNSAVED


def _take_away(run: Path, point: Path) -> int:
    """Whoever else mounts something does not mean us."""
    place = str(real(point))
    there = [one for one in mounts() if one.point == place]
    if not there or there[-1].type != TYPE:
        what = f"{there[-1].source} is mounted there" if there else "nothing is mounted there"
        _say(f"{point} is no mount of ours: {what}. See those that are: findmnt -t {TYPE}")
        return _FAILED
    unmount(real(point), lazily=True)
    with closing(ask(run, point, "unmounting")) as told:
        try:
            next(told)
            worker = last(run, point, "status")["worker"]
        except GoneError:
            return _ended(point, None, told)
        except AskError:  # it is stuck, or of an older release
            return 0
    if not isinstance(worker, dict) or not (count := worker["files"]["unsaved"]):
        return 0
    names = [one["path"] for one in worker["files"]["staged"] if not one["stored"]]
    _say(f"{point} is unmounted, and not stored yet: {_few(names, count)}. Its agent still tries. {_lie(worker)}")
    return UNSAVED


def _take_dead(point: Path) -> int:
    unmount(real(point), lazily=True)
    _say(f"{point} was mounted still though its agent is gone, and is unmounted now. {_lie(None)}")
    return 0


def _lie(worker: object) -> str:
    """
    :param worker: its status, as far as it told it
    """
    folder = worker.get("folder", "") if isinstance(worker, dict) else ""
    where = f"the cache folder {folder}" if folder else "its cache folder (data-cache-path)"
    return f"What is not stored lies in {where}: mount it again as it was, and it is stored when the store takes it."


def _files(count: int) -> str:
    return "1 file is" if count == 1 else f"{count} files are"


def _few(names: Sequence[str], count: int) -> str:
    shown = plain(", ".join(names)) or "names are not known"
    return shown + (f" and {count - len(names)} more" if 0 < len(names) < count else "")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
