# SPDX-License-Identifier: Apache-2.0
"""Extended attributes: what users say of files and folders under names that begin with ``user.``.

No other names are kept: to who asks for those of the kernel and of security it is said at once, since that is asked very often.
"""

from __future__ import annotations

import errno
import inspect
import logging
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ..nodes.records import ROOT
from ..sources.base import Kept
from ..sources.xattrs import PREFIX, merged, packed
from . import view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..nodes.results import Results
    from ..nodes.table import Nodes
    from ..operations import Caller, Soon
    from ..sources.base import Source
    from ..sources.xattrs import Xattrs
    from .known.names import Names
    from .tree import Tree
    from .view import Settings
    from .work import Work
    from .written.stage import Stage
    from .written.writing import Writing

_LOG = logging.getLogger(__name__)
_REFUSED: Final = (
    "extended attributes are switched on, but cannot be kept here, and are refused (ENOTSUP): a bucket keeps them with"
    " persistAttributes=true, a folder of this machine where its disk does; HDFS and SFTP keep none"
)


class Extended:
    """Where none are kept the kernel is told so, and does not ask again."""

    def __init__(
        self, nodes: Nodes, names: Names, source: Source, settings: Settings, work: Work, writing: Writing | None,
        tree: Tree | None, results: Results,
    ) -> None:  # fmt: skip
        """
        :param writing: None on a mount that is read-only, as ``tree``
        """
        self._nodes, self._names, self._source, self._work = nodes, names, source, work
        self._writing, self._tree, self._results = writing, tree, results
        self._is_wanted = settings.xattrs
        self._are_kept = settings.xattrs and bool(source.abilities.xattrs)

    # --- what there is -----------------------------------------------------------------------

    def get(self, node: int, name: bytes) -> Soon[bytes]:
        self._begin(name)
        known = self._known(node)
        return self._get(node, name) if known is None else _value(known, name)

    async def _get(self, node: int, name: bytes) -> bytes:
        return _value(await self._ask(node), name)

    def names_of(self, node: int) -> Soon[Sequence[bytes]]:
        self._begin()
        known = self._known(node)
        return self._names_of(node) if known is None else sorted(known)

    async def _names_of(self, node: int) -> Sequence[bytes]:
        return sorted(await self._ask(node))

    async def before(self, node: int) -> Xattrs:
        """Of a file that is about to be written, none where there are none to keep."""
        if not self._are_kept:
            return {}
        known = self._known(node)
        with suppress(FileNotFoundError):  # others removed it, and it is made anew
            return await self._ask(node) if known is None else known
        return {}

    def _known(self, node: int) -> Xattrs | None:
        """None has to be asked for."""
        known = self._nodes.known(node)
        if stat.S_ISLNK(known.mode):
            return {}
        if self._writing and (stage := self._writing.of(node)) and not self._writing.is_doubtful(node):
            return merged(stage.note.xattrs, {})
        holds = known.holds > view.now() or not (self._nodes.parent(node) or node == ROOT)
        return self._names.xattrs.get(node) if holds else None

    async def _ask(self, node: int) -> Xattrs:
        """As old as its other attributes may be."""
        held = self._names.attributes(node)
        if inspect.isawaitable(held):
            await held
        told = self._names.xattrs.get(node) if node != ROOT else None
        return await self._told(node) if told is None else told

    async def _told(self, node: int) -> Xattrs:
        xattrs = await self._names.ask("xattrs", self._source.xattrs, self._names.path(node))
        self._names.xattrs.take(node, xattrs)
        return xattrs

    # --- what is changed ---------------------------------------------------------------------

    def change(self, caller: Caller, node: int, name: bytes, value: bytes | None, flags: int = 0) -> Soon[None]:
        """
        :param value: None removes it
        :param flags: of setxattr(2)
        """
        if self._is_wanted and not self._are_kept:
            _LOG.warning(_REFUSED)  # once: the kernel does not ask again
        self._begin(name)
        return self._change(caller, node, name, value, flags)

    async def _change(self, caller: Caller, node: int, name: bytes, value: bytes | None, flags: int) -> None:
        if self._writing is None or self._tree is None:
            raise OSError(errno.EROFS, "this mount is read-only")
        begun = caller.again and self._results.before(caller.number) is not None
        self._results.begin(caller.number, node)
        stage = self._writing.of(node)
        if stage is not None:
            async with stage.lock:
                if self._writing.of(node) is stage:
                    if self._is_to_do(merged(stage.note.xattrs, {}), name, value, flags, begun):
                        self._note(stage, name, value)
                    return
        if not begun:  # else its version may be another already, and that by us
            await self._names.confirm(node)
        before = await self._told(node)
        if not self._is_to_do(before, name, value, flags, begun):
            return
        await self._tree.change(node, Kept(xattrs={name: value}), self._nodes.known(node).atime, begun)
        self._names.xattrs.take(node, merged(before, {name: value}))
        if stage := self._writing.of(node):  # somebody began to write it meanwhile
            self._note(stage, name, value)

    def _is_to_do(self, before: Xattrs, name: bytes, value: bytes | None, flags: int, begun: bool) -> bool:
        """False of what a worker did that died over it.

        :raises OSError: of what cannot be done
        """
        if begun and before.get(name) == value:
            return False
        if name in before and flags & os.XATTR_CREATE:
            raise FileExistsError(errno.EEXIST, "it has such an attribute already")
        if name not in before and (value is None or flags & os.XATTR_REPLACE):
            raise OSError(errno.ENODATA, "it has no such attribute")
        size, most = len(packed(merged(before, {name: value}))), self._source.abilities.xattrs
        if size > most and value is not None:
            raise OSError(errno.ENOSPC, f"its attributes would take {size} bytes, of which the source keeps {most}")
        return True

    def _note(self, stage: Stage, name: bytes, value: bytes | None) -> None:
        stage.say(xattrs={**stage.note.xattrs, name: value}, kept=True)

    def _begin(self, name: bytes = PREFIX + b"any") -> None:
        """
        :raises NotImplementedError: where there are none
        :raises OSError: of a name that is none of ours
        """
        if not self._are_kept:
            raise NotImplementedError
        if not name.startswith(PREFIX):
            raise OSError(errno.EOPNOTSUPP, "names of attributes that are kept begin with user.")
        if name == PREFIX:
            raise OSError(errno.EINVAL, "it has no name")


def _value(xattrs: Xattrs, name: bytes) -> bytes:
    if name not in xattrs:
        raise OSError(errno.ENODATA, "it has no such attribute")
    return xattrs[name]
