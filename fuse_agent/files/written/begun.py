# SPDX-License-Identifier: Apache-2.0
"""What is written begins empty, as a copy of what is cached, as that itself, or as a file of which nothing is here yet."""

from __future__ import annotations

import logging
import os
import stat
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from ...cache.errors import UsedError
from ...opens import Below
from .notes import Note
from .stage import sum_if_compared

if TYPE_CHECKING:
    from ...nodes.table import Nodes
    from ...opens import Opens
    from ...sources.base import Source
    from ...sources.xattrs import Xattrs
    from ..known.names import Names
    from ..read.content import Content
    from ..read.contents import Contents
    from ..work import Work
    from .stage import Stage
    from .staging import Staging

_LOG = logging.getLogger(__name__)
# Larger ones that are only changed are not copied here to be written by the kernel: it would not tell what it wrote, and all were sent.
PATCHED: Final = 64 << 20


class Begun:
    def __init__(
        self, nodes: Nodes, names: Names, contents: Contents, opens: Opens, source: Source, work: Work, staging: Staging
    ) -> None:
        self._nodes, self._names, self._contents, self._opens = nodes, names, contents, opens
        self._source, self._work, self._staging = source, work, staging

    def empty(self, node: int, xattrs: Xattrs, alone: bool) -> Stage:
        """
        :param xattrs: of a moment before, here and below
        :param alone: it is to be the first of its name
        """
        return self._staging.begin(self._note(node, xattrs)._replace(alone=alone))

    async def copied(self, node: int, content: Content, xattrs: Xattrs) -> Stage:
        """With what it holds already, of which as much is here as the disk has whole."""
        note, times = self._note(node, xattrs), self._times(node)
        is_patched = self._source.abilities.patches and content.size > PATCHED
        if content.whole and content.file is not None and not is_patched:
            stage = self._staging.begin(note._replace(unfinished=True))
            try:
                is_begun = await self._work.change(stage.begin_as, content.file, content.size, times)
            except trio.Cancelled:  # who asked went before a thread was free
                self._work.remove(stage)
                raise
            if is_begun:
                self._note_anew(node, stage, xattrs)
                return stage
        stage = self._staging.begin(note._replace(base=content.size))
        os.utime(stage.descriptor, ns=times)
        return stage

    def _note_anew(self, node: int, stage: Stage, xattrs: Xattrs) -> None:
        """Others may have renamed it, or changed what is kept of it, while it was copied."""
        path = self._names.path(node) if self._nodes.parent(node) else b""
        try:
            stage.say(path=path, **self._kept(node, xattrs))
        except OSError:
            stage.remove()
            raise

    async def shared(self, node: int, xattrs: Xattrs) -> Stage | None:
        """The cached file itself that others read by the kernel, who so see what is written; None where it is not sure that they
        read that and nobody else does."""
        content = self._contents.of(node)
        file = content.file
        if file is None or not file.use():
            return None
        try:
            sum_ = await self._work.change(sum_if_compared, file.descriptor, file.size)
        finally:
            file.close()
        if not self._opens.is_alone_on(node, Below(content.digest, file)):
            return None
        note = self._note(node, xattrs)
        try:
            stage = self._staging.begin(note._replace(unfinished=True), partial(self._contents.give, content))
        except (UsedError, OSError) as error:  # as of a disk that has no room for a note, or is not that of the cache
            _LOG.debug("a cached file is not written to path=%r reason=%r", note.path, str(error))
            return None
        stage.is_as_stored(sum_, self._times(node))
        self._opens.share(node, stage.number)
        return stage

    def _times(self, node: int) -> tuple[int, int]:
        known = self._nodes.known(node)
        return known.atime, known.mtime

    def _note(self, node: int, xattrs: Xattrs) -> Note:
        return Note(self._names.path(node), **self._kept(node, xattrs))

    def _kept(self, node: int, xattrs: Xattrs) -> dict[str, Any]:
        """What the source has of it beside its content: it is stored anew with that."""
        known, told = self._nodes.known(node), self._names.xattrs.get(node)
        return {
            "before": self._nodes.version(node),
            "mode": stat.S_IMODE(known.mode), "uid": known.uid, "gid": known.gid,
            "xattrs": dict(xattrs if told is None else told),
        }  # fmt: skip
