# SPDX-License-Identifier: Apache-2.0
"""Care of cache folders that no agent holds: what lies there is checked, and what nobody needs is removed."""

from __future__ import annotations

import shlex
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ..cache.check import Finding, fsck
from ..cache.claim import OWNER, borrowed, clean, is_held, owner_of
from ..cache.errors import ForeignError, HeldError, UnsavedError
from ..files.known import remembered
from ..files.written.folders import folders, left
from ..logs import plain

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ..cache.check import Progress

_EVERY: Final = 2.0  # seconds between two lines that tell how far it is
_DAY: Final = 86400


def check(root: Path, repair: bool, quick: bool) -> bool:
    """
    :param root: of one cache, or of all
    :return: whether all is right that nobody holds
    :raises ForeignError: when there is no cache
    :raises HeldError: when somebody holds the only one
    """
    found = _folders(root)
    right = True
    for folder in found:
        try:
            right &= _check(folder, repair, quick)
        except HeldError as error:
            if folder == root:
                raise
            print(f"{folder} is not checked: {error}")
    return right


def _check(folder: Path, repair: bool, quick: bool) -> bool:
    owner = owner_of(folder)
    print(plain(f"{folder}, of {owner.get('url', 'no url')} on {owner.get('mount', 'no mount')}"))
    findings = fsck(folder, repair, quick=quick, tell=_Teller())
    findings += _listings(folder, repair)
    for one in findings:
        print(f"  {one.name}: {one.what}{'; it was removed' if one.mended else ''}")
    waiting = list(left(folder))
    for file in waiting:
        part = f", with what the store has of the first {file.base} bytes" if file.base else ""
        becomes = f"becomes {plain(file.name)}, {file.size} bytes{part}"
        print(f"  {plain(str(file.file))}{': ' + file.problem if file.problem else ' ' + becomes}")
    if any(not file.problem for file in waiting):
        print(f"  What is to become a file is stored by the next mount: {_mount(owner)}")
    if not findings and not waiting:
        print("  all is right")
    return all(one.mended for one in findings) and not waiting


def _listings(folder: Path, repair: bool) -> list[Finding]:
    with borrowed(folder, "checked"):
        problem = remembered.examine(folder)
        if problem and repair:
            remembered.remove(folder)
    advice = "listings are damaged, and the source is asked instead"
    return [Finding(remembered.NAMES, f"{problem}; {advice}", repair)] if problem else []


def _mount(owner: dict[str, object]) -> str:
    """The command; secrets are not known here."""
    options = owner.get("options")
    given = [f"{name}={_text(value)}" for name, value in options.items()] if isinstance(options, dict) else []
    words = [word for one in given for word in ("-o", one)]
    return shlex.join(["paddleflow-fuse", "mount", str(owner.get("url")), str(owner.get("mount")), *words])


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Teller:
    def __init__(self) -> None:
        self._next = time.monotonic() + _EVERY

    def __call__(self, now: Progress) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _EVERY
            print(f"  {now.done} of {now.of} files, {now.bytes / 1e6:.0f} MB", file=sys.stderr)


def remove(root: Path, days: float) -> bool:
    """Caches that nobody holds, and that nobody held for so long; those with what is stored nowhere else stay.

    :param root: of one cache, or of all
    :return: whether all went that was to go
    :raises HeldError: when somebody holds the only one
    :raises ForeignError: when there is none
    :raises UnsavedError: when the only one has something that is stored nowhere else
    """
    if not root.exists():
        return True
    done = True
    for folder in _old(_folders(root), days):
        try:
            clean(folder)
        except (HeldError, UnsavedError, ForeignError) as error:
            if folder == root:
                raise
            print(error, file=sys.stderr)
            done &= isinstance(error, HeldError)
        else:
            print(f"{folder} is removed")
            if folder != root:
                with suppress(OSError):  # caches of the same files with other options may be there
                    folder.parent.rmdir()
    return done


def _old(found: Iterable[Path], days: float) -> Iterable[Path]:
    newest = time.time() - days * _DAY
    return [one for one in found if not days or (not is_held(one) and (one / OWNER).stat().st_mtime < newest)]


def _folders(root: Path) -> list[Path]:
    found = list(folders(root))
    if not found:
        raise ForeignError(
            f"{root} is no cache, and holds none: name a cache folder, or the data-cache-path of mounts."
        )
    return found
