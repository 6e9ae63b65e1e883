# SPDX-License-Identifier: Apache-2.0
"""The folder of what is written: files begin there, and are found again by who comes after a crash."""

from __future__ import annotations

import errno
import logging
import os
import resource
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final

from ...boot import boot_id
from ...cache.claim import BESIDE
from .marks import Marks
from .notes import read_note, write_note
from .present import Present
from .stage import MAP, PIECE, Stage, remove

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .notes import Note

_LOG = logging.getLogger(__name__)
# Descriptors that are left for those who store: else what is written could never be, and none would be free again.
_SPARE: Final = 64


class Staging:
    """The folder of what is written, of one mount."""

    def __init__(
        self, folder: Path, claimed: Callable[[], None] = lambda: None, boot: str = "", marks: Path | None = None
    ) -> None:
        """
        :param claimed: makes sure that the folder above is ours still, which somebody may have removed
        :param boot: another text after the machine has started anew; the kernel's own by default
        :param marks: a folder on another disk, which is empty after that
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder, self._claimed, self.boot = folder, claimed, boot or boot_id()
        self._marks = Marks(marks, folder)
        self._tidy()
        self._last = max((int(one.stem) for one in folder.iterdir() if one.stem.isdecimal()), default=0)

    def begin(self, note: Note, give: Callable[[Path], None] | None = None) -> Stage:
        """An empty one; with ``note.base`` one that holds as much of what was there before, none of which is here yet.

        :param give: brings a file there that has all of it
        """
        if not self.folder.exists():
            _LOG.error(
                "The folder %s was removed, and is made anew. What is being written is stored when it is closed, but would not be found after a "
                "crash. Nobody but the agent should remove anything there.", self.folder,
            )  # fmt: skip
            self._claimed()
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._last += 1
        self._marks.drop(self._last)  # of a folder that was removed
        try:
            return self._begin(self._last, note._replace(boot=self.boot), give)
        except BaseException:
            remove(self.folder, self._last)
            raise

    def _begin(self, number: int, note: Note, give: Callable[[Path], None] | None) -> Stage:
        write_note(self.folder, number, note)
        with ExitStack() as undoing:
            path = self.folder / str(number)
            if give:
                give(path)
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | (0 if give else os.O_CREAT | os.O_EXCL), 0o600)
            undoing.callback(os.close, descriptor)
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            if descriptor >= limit - min(_SPARE, limit // 2):
                _LOG.error(
                    "too many files are written at a time, and one more is refused: raise LimitNOFILE= of the agent limit=%d",
                    limit,
                )
                raise OSError(errno.ENFILE, f"of {limit} descriptors only those are left that storing needs", note.path)
            present = None
            if note.base:
                os.ftruncate(descriptor, note.base)
                map_ = self.folder / f"{number}{MAP}"
                with map_.open("xb") as file:  # a full disk is met here, and not when it is noted in
                    os.posix_fallocate(file.fileno(), 0, -(-note.base // PIECE))
                present = Present(map_)
            undoing.pop_all()
        return Stage(self.folder, number, descriptor, note, present, self._marks)

    def open(self, number: int) -> Stage:
        """One that another process began.

        :raises FileNotFoundError: of one that is not there
        :raises ValueError: when its note cannot be read
        """
        note = read_note(self.folder, number)
        note = note._replace(poisoned=note.poisoned or self._marks.get(number))
        descriptor = os.open(self.folder / str(number), os.O_RDWR | os.O_CLOEXEC)
        map_ = self.folder / f"{number}{MAP}"
        present = Present(map_) if map_.exists() else None
        stage = Stage(self.folder, number, descriptor, note, present, self._marks)
        stage.found, stage.torn = True, note.boot not in ("", self.boot)
        return stage

    def _tidy(self) -> None:
        """What tells of a file that is not there: who was killed had not made it yet, or had removed it already."""
        names = {one.name for one in self.folder.iterdir()}
        for name in names:
            if name.endswith(BESIDE) and name.partition(".")[0] not in names:
                with suppress(OSError):  # as where it is read-only
                    (self.folder / name).unlink()

    def left(self) -> Iterator[int]:
        """Numbers of those that lie here."""
        for one in sorted(self.folder.iterdir()):
            if one.name.isdecimal():
                yield int(one.name)
