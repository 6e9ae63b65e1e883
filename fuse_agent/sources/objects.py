# SPDX-License-Identifier: Apache-2.0
"""Files and folders over a store that has neither: only keys, and prefixes that many of them share.

A folder is a prefix that some key has, or an empty object whose key ends with a slash. Where a key and a prefix have the same name,
the folder wins: the object is reached by the store's own tools alone, and is counted.
"""

from __future__ import annotations

import errno
import logging
import os
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, NamedTuple, Protocol

from . import moves
from .base import NOTHING, Abilities, Bounds, Found, Kept, Kind, Listed, Page, Source, is_name, parent, require_text
from .xattrs import merged, packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from .base import Data, Part

_LOG = logging.getLogger(__name__)
# Keys of the metadata in which users' attributes are kept, and those of s3fs, which are read too.
_MODE, _UID, _GID, _MTIME, _LINK = "pfs-mode", "pfs-uid", "pfs-gid", "pfs-mtime-ns", "pfs-symlink"
_XATTRS = "pfs-xattrs"
# Of the 2 KiB that S3 takes as metadata of one object, without what the others of ours may take. A target is kept as hexadecimal digits.
LONGEST_XATTRS = 1800
LONGEST_TARGET = LONGEST_XATTRS // 2
# Names of a folder that are told to who wants to know whether there is one: it is asked the less often, the more they are.
_SOME = 64


class Object(NamedTuple):
    key: str
    size: int
    mtime_ns: int
    version: bytes
    metadata: Mapping[str, str] = {}  # what a listing does not tell


class Keys(NamedTuple):
    """A page of a listing."""

    objects: Sequence[Object]
    prefixes: Sequence[str]  # with the delimiter at their end


class Store(Protocol):
    """Each call is one request, or as many as one object takes. What is not there is a FileNotFoundError.

    :ivar patches: bytes of the smallest part that an object can be made of; 0 is made whole
    :ivar behind: bytes of a file of which some may be sent while it is still written; 0 is sent whole
    :ivar longest: bytes of a key; 0 has no end
    """

    patches: int = 0
    behind: int = 0
    longest: int = 0

    def head(self, key: str) -> Object: ...

    def list(self, prefix: str, delimiter: str = "", most: int = 0) -> Iterator[Keys]:
        """In the order of the keys; ``most`` ends it after so many."""

    def get(self, key: str, version: bytes, offset: int, size: int) -> Data: ...

    def get_replaced(self, key: str, version: bytes, offset: int, size: int) -> Data:
        """Of a version that another has replaced, where both are kept.

        :raises ChangedError: when it is not
        """
        return self.get(key, version, offset, size)

    def put(
        self, key: str, descriptor: int, size: int, metadata: Mapping[str, str], over: bytes | None = None
    ) -> Object: ...

    def patch(
        self, key: str, _descriptor: int, _parts: Sequence[Part], _version: bytes, _metadata: Mapping[str, str],
        _over: bytes | None = None,
    ) -> Object:  # fmt: skip
        """See `Source.patch`."""
        raise OSError(errno.EOPNOTSUPP, "this store takes objects whole", key)

    def send_behind(self, key: str, _descriptor: int) -> int:
        """See `Source.send_behind`. What a put says beside the content, it says at its end: so it has nothing to say."""
        raise OSError(errno.EOPNOTSUPP, "this store takes objects whole", key)

    def drop_behind(self, key: str) -> None:
        """See `Source.drop_behind`."""
        raise OSError(errno.EOPNOTSUPP, "this store takes objects whole", key)

    def copy(self, old: str, new: str, metadata: Mapping[str, str] | None = None) -> None:
        """``metadata`` replaces what the old one had."""

    def delete(self, keys: Sequence[str]) -> None:
        """Those that are not there, too."""

    def close(self) -> None: ...


class Options(NamedTuple):
    implicit_folders: bool = True  # a prefix without an object of its own is a folder
    persist: bool = False  # owners, modes and times are kept with the object
    at_once: int = 64  # requests of one rename


DEFAULT = Options()


class ObjectSource(Source):
    def __init__(self, store: Store, root: str = "", options: Options = DEFAULT) -> None:
        """
        :param root: a prefix that nothing leaves, without a slash at its end
        """
        self._store, self._options = store, options
        self._root = f"{root.strip('/')}/" if root.strip("/") else ""
        self._pool = ThreadPoolExecutor(options.at_once, thread_name_prefix="objects")
        longest = store.longest and max(store.longest - len(self._root.encode()), 1)
        self.abilities = Abilities(
            keeps=options.persist, xattrs=LONGEST_XATTRS if options.persist else 0, links=True, patches=store.patches,
            resumes=True, names=Bounds(text=True, longest=longest), conditions=True,
            # What is kept beside a file is said when an upload begins, and its time is not known before its end.
            behind=0 if options.persist else store.behind,
        )  # fmt: skip

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._store.close()

    # --- what is there -----------------------------------------------------------------------

    def find(self, path: bytes) -> Found:
        key = self._key(path)
        if not path:  # it is there when anything can be asked
            for _keys in self._store.list(self._root, most=1):
                pass
            return Found(Kind.FOLDER)
        folder = self._pool.submit(self._is_folder, key)
        file = self._head(key)
        if folder.result():
            return self._folder(key)._replace(shadows=file is not None)
        if file is None:
            raise _none(path)
        return self._found(file)

    def find_file(self, path: bytes) -> Found:
        file = self._head(self._key(path))
        return self.find(path) if file is None else self._found(file)

    def find_new(self, path: bytes) -> Found:
        file = self._head(self._key(path))
        if file is None:
            raise _none(path)
        return self._found(file)

    def list(self, path: bytes) -> Iterator[Page]:
        prefix = f"{self._key(path)}/" if path else self._root
        there = not path
        for keys in self._store.list(prefix, "/"):
            page: list[Listed] = []
            hidden: list[bytes] = []
            shadowed: list[bytes] = []
            for one in keys.prefixes:
                name = one[len(prefix) : -1].encode()
                if is_name(name):
                    page.append(Listed(name, Found(Kind.FOLDER)))
                else:
                    hidden.append(name + b"/")
            folders = {one.name for one in page}
            for item in keys.objects:
                name = item.key[len(prefix) :].encode()
                if name in folders:
                    shadowed.append(name)
                elif is_name(name):
                    page.append(Listed(name, self._listed(item)))
                elif name:  # the folder's own object has none
                    hidden.append(name)
            there = there or bool(keys.objects or keys.prefixes)
            yield Page(page, tuple(hidden), tuple(shadowed))
        if not there:
            raise OSError(errno.ENOENT, "no object has a key with this prefix", path)

    def read(self, path: bytes, version: bytes, offset: int, size: int) -> Data:
        return self._store.get(self._key(path), version, offset, size)

    def read_replaced(self, path: bytes, version: bytes, offset: int, size: int) -> Data:
        return self._store.get_replaced(self._key(path), version, offset, size)

    def target(self, path: bytes) -> bytes:
        text = self._store.head(self._key(path)).metadata.get(_LINK)
        if text is None:
            raise OSError(errno.EINVAL, "it is no symbolic link", path)
        return bytes.fromhex(text)

    # --- what is changed ---------------------------------------------------------------------

    def store(self, path: bytes, descriptor: int, size: int, kept: Kept = NOTHING, over: bytes | None = None) -> Found:
        return self._found(self._store.put(self._key(path), descriptor, size, self._metadata(kept), over))

    def patch(
        self, path: bytes, descriptor: int, parts: Sequence[Part], version: bytes, kept: Kept = NOTHING,
        over: bytes | None = None,
    ) -> Found:  # fmt: skip
        return self._found(self._store.patch(self._key(path), descriptor, parts, version, self._metadata(kept), over))

    def send_behind(self, path: bytes, descriptor: int) -> int:
        return self._store.send_behind(self._key(path), descriptor)

    def drop_behind(self, path: bytes) -> None:
        self._store.drop_behind(self._key(path))

    def make_folder(self, path: bytes, kept: Kept = NOTHING) -> Found:
        self._absent(path)
        self._put_empty(f"{self._key(path)}/", self._metadata(kept))
        return self._folder(self._key(path))

    def link(self, path: bytes, target: bytes) -> Found:
        if len(target) > LONGEST_TARGET:
            raise OSError(
                errno.ENAMETOOLONG,
                f"its target has {len(target)} bytes, but at most {LONGEST_TARGET} can be kept",
                path,
            )
        self._absent(path)
        return self._found(self._put_empty(self._key(path), {_LINK: target.hex()}))

    def remove(self, path: bytes) -> None:
        self.is_removable(path)
        self.erase(path)

    def is_removable(self, path: bytes) -> None:
        """
        :raises OSError: of what is no file, or not there
        """
        if self.find_file(path).kind is Kind.FOLDER:
            raise OSError(errno.EISDIR, "it is a folder", path)

    def erase(self, path: bytes) -> None:
        """What is known to be a file."""
        self.erase_only(path)
        self._keep_parent(path)

    def erase_only(self, path: bytes) -> None:
        """The same where somebody else sees to it that its folder stays."""
        self._store.delete([self._key(path)])

    def keep_folder(self, path: bytes) -> Sequence[bytes]:
        """It is there, also when nothing is in it any more.

        :returns: some of what is in it
        """
        marker = f"{self._key(path)}/"
        if self._options.implicit_folders:
            pages = self._store.list(marker, most=_SOME)
            there = [item.key for keys in pages for item in keys.objects]
        else:
            there = [marker] if self._head(marker) is not None else []
        if not there:
            self._put_empty(marker, {})
        return [key[len(marker) :].encode() for key in there or [marker]]

    def remove_folder(self, path: bytes) -> None:
        if self.find(path).kind is not Kind.FOLDER:
            raise OSError(errno.ENOTDIR, "it is no folder", path)
        self._empty(path)
        self._store.delete([f"{self._key(path)}/"])
        self._keep_parent(path)

    def rename(self, old: bytes, new: bytes) -> None:
        if self.find(old).kind is Kind.FOLDER:
            steps = os.memfd_create("steps", os.MFD_CLOEXEC)
            try:
                self.rename_folder(old, new, steps)
            finally:
                os.close(steps)
            return
        if (there := self._there(new)) and there.kind is Kind.FOLDER:
            raise OSError(errno.EISDIR, "it is a folder, and would be replaced by a file", new)
        if old != new:
            self._store.copy(self._key(old), self._key(new))
            self._store.delete([self._key(old)])
            self._keep_parent(old)

    def rename_folder(self, old: bytes, new: bytes, steps: int) -> None:
        """All is copied before anything is removed. Only what was copied is removed: what others put there meanwhile stays."""
        before, after = self._key(old) + "/", self._key(new) + "/"
        keys = moves.read(steps)
        there: set[str] = set()
        if keys is None:
            self._movable(old, new)
            keys = self._versions(before)
            moves.write(steps, keys)
        else:
            there = set(self._versions(after))
        wanted = {after + key[len(before) :]: key for key in keys}
        try:
            self._copy_all({target: key for target, key in wanted.items() if target not in there})
        except OSError:
            self._undo(new, [*wanted], steps)
            raise
        found = self._versions(before)
        self._store.delete([key for key, version in keys.items() if found.get(key) == version])
        self._keep_parent(old)

    def keep(self, path: bytes, kept: Kept) -> Found:
        if not self._options.persist:
            raise OSError(
                errno.EPERM, "this file system keeps no owners, modes and times; persistAttributes would", path
            )
        if not path:
            raise OSError(errno.EOPNOTSUPP, "the root of a mount has no object of its own that could keep them")
        key = self._key(path)
        if self.find(path).kind is Kind.FOLDER:
            key += "/"
            before = self._head(key) or self._put_empty(key, {})
        else:
            before = self._store.head(key)
        self._store.copy(key, key, self._metadata(kept, before.metadata))
        return self._folder(key[:-1]) if key.endswith("/") else self._found(self._store.head(key))

    # --- below -------------------------------------------------------------------------------

    def _key(self, path: bytes) -> str:
        return self._root + require_text(path) if path else self._root.rstrip("/")

    def _head(self, key: str) -> Object | None:
        try:
            return self._store.head(key)
        except FileNotFoundError:
            return None

    def _there(self, path: bytes) -> Found | None:
        try:
            return self.find(path)
        except FileNotFoundError:
            return None

    def _is_folder(self, key: str) -> bool:
        if self._options.implicit_folders:
            return any(keys.objects or keys.prefixes for keys in self._store.list(f"{key}/", most=1))
        return self._head(f"{key}/") is not None

    def _folder(self, key: str) -> Found:
        marker = self._head(f"{key}/") if self._options.persist else None
        if marker is None:
            return Found(Kind.FOLDER)
        return self._found(marker)._replace(kind=Kind.FOLDER, size=0, version=b"")

    def _listed(self, item: Object) -> Found:
        found = self._found(item)
        # A link is an empty object until its metadata are seen.
        return found._replace(kind=Kind.UNSURE, xattrs=None) if self._options.persist or not item.size else found

    def _found(self, item: Object) -> Found:
        kept = item.metadata
        kind = Kind.LINK if _LINK in kept else Kind.FILE
        size = len(kept[_LINK]) // 2 if _LINK in kept else item.size
        if not self._options.persist:
            return Found(kind, size, item.mtime_ns, item.version)
        mtime = _moment(kept.get(_MTIME, ""))
        if mtime is None:
            mtime = _seconds(kept.get("mtime"))
        mode = _number(kept, _MODE, "mode")
        return Found(
            kind, size, item.mtime_ns if mtime is None else mtime, item.version,
            None if mode is None else mode & 0o7777, _number(kept, _UID, "uid"), _number(kept, _GID, "gid"),
            xattrs=unpacked(kept.get(_XATTRS, "")),
        )  # fmt: skip

    def _metadata(self, kept: Kept, before: Mapping[str, str] | None = None) -> dict[str, str]:
        """All of an object's, of which some may be as it was."""
        if not self._options.persist:
            return {}
        values = {_MODE: kept.mode, _UID: kept.uid, _GID: kept.gid, _MTIME: kept.mtime_ns}
        metadata = {**(before or {}), **{name: str(value) for name, value in values.items() if value is not None}}
        if kept.xattrs is not None:
            text = packed(merged(unpacked(metadata.pop(_XATTRS, "")), kept.xattrs))
            metadata |= {_XATTRS: text} if text else {}
        return metadata

    def _put_empty(self, key: str, metadata: Mapping[str, str]) -> Object:
        return self._store.put(key, -1, 0, metadata)

    def _absent(self, path: bytes) -> None:
        if self._there(path):
            raise OSError(errno.EEXIST, "it is there already", path)

    def _empty(self, path: bytes) -> None:
        marker = f"{self._key(path)}/"
        for keys in self._store.list(marker, most=2):
            if any(item.key != marker for item in keys.objects):
                raise OSError(errno.ENOTEMPTY, "the folder is not empty", path)

    def _keep_parent(self, path: bytes) -> None:
        """A folder does not vanish with the last of its files."""
        if above := parent(path):
            self.keep_folder(above)

    def _movable(self, old: bytes, new: bytes) -> None:
        self.find(old)
        if there := self._there(new):
            if there.kind is not Kind.FOLDER:
                raise OSError(errno.ENOTDIR, "it is no folder, and would be replaced by one", new)
            self._empty(new)

    def _versions(self, prefix: str) -> dict[str, bytes]:
        return {item.key: item.version for page in self._store.list(prefix) for item in page.objects}

    def _copy_all(self, wanted: Mapping[str, str]) -> None:
        def copy(target: str) -> None:
            with suppress(FileNotFoundError):  # others removed it: there is nothing to move
                self._store.copy(wanted[target], target)

        self._all(copy, wanted)

    def _undo(self, folder: bytes, copies: Sequence[str], steps: int) -> None:
        """The folder was empty, so what has these names are copies."""
        try:
            self._store.delete(copies)
        except OSError as error:
            _LOG.error(
                "a rename failed, and what was copied could not be removed: remove it path=%r reason=%r",
                folder,
                str(error),
            )
        moves.clear(steps)

    def _all(self, act: Callable[[str], None], keys: Iterable[str]) -> None:
        """
        :raises OSError: the first, when all that had begun has ended
        """
        work = [self._pool.submit(act, key) for key in keys]
        try:
            for one in work:
                one.result()
        except OSError:
            for one in work:
                one.cancel()
            wait(work)
            raise


def _none(path: bytes) -> OSError:
    return FileNotFoundError(errno.ENOENT, "no object has this key", path)


def _number(metadata: Mapping[str, str], *names: str) -> int | None:
    text = next((metadata[name] for name in names if name in metadata), "")
    return int(text) if text.isdecimal() else None


def _moment(text: str) -> int | None:
    """In nanoseconds, before 1970 below 0."""
    return int(text) if text.removeprefix("-").isdecimal() else None


def _seconds(text: str | None) -> int | None:
    """s3fs writes seconds with a fraction."""
    try:
        return int(Decimal(text) * 10**9) if text else None
    except (InvalidOperation, OverflowError, ValueError):
        return None
