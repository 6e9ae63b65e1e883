# SPDX-License-Identifier: Apache-2.0
"""What every source is asked, and what it answers. Failures are OSErrors: their errno is what users see, their text is for the log."""

from __future__ import annotations

import errno
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..metrics import Request
    from .xattrs import Changed, Xattrs

LONGEST_NAME = 255
# A time that has to be asked for.
UNTOLD = -(1 << 63)
# What was read; a view of what a client received, where a copy would cost more than the reading.
Data: TypeAlias = bytes | memoryview


class Kind(Enum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    UNSURE = "unsure"  # a listing cannot tell; `find` can


class Found(NamedTuple):
    """What is known of a path. None is what the source does not keep.

    A version is the same only while the content is; what has none cannot tell.

    :ivar mtime_ns: 0 of a folder that has no time; UNTOLD of a file that was stored just now
    """

    kind: Kind
    size: int = 0
    mtime_ns: int = 0
    version: bytes = b""
    mode: int | None = None  # permission bits
    uid: int | None = None
    gid: int | None = None
    shadows: bool = False  # a folder, beside which there is a file of the same name that nobody reaches
    links: int = 1  # names of the file
    file: bytes = b""  # the same for all of them
    xattrs: Xattrs | None = None  # None is not told by a find; see `Source.xattrs`


class Listed(NamedTuple):
    name: bytes
    found: Found


class Page(NamedTuple):
    """Of a listing.

    :ivar hidden: names that cannot be files', which are left out
    :ivar shadowed: those of files beside a folder of the same name
    """

    listed: list[Listed]
    hidden: tuple[bytes, ...] = ()
    shadowed: tuple[bytes, ...] = ()


class Kept(NamedTuple):
    """What a user set, for a source that keeps it."""

    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    mtime_ns: int | None = None
    xattrs: Changed | None = None


NOTHING = Kept()


Tell: TypeAlias = "Callable[[Request], None]"


def quiet(_request: Request) -> None:
    """For who counts none."""


class Part(NamedTuple):
    """Of a file.

    :ivar copied: the source has it, at the same place of the version before
    """

    offset: int
    size: int
    copied: bool


class Room(NamedTuple):
    """Of a whole source: bytes, and files."""

    size: int
    free: int
    files: int
    files_free: int


class Bounds(NamedTuple):
    """What a source can never name, so that nobody writes what it does not take at the end.

    :ivar text: names are in UTF-8
    :ivar longest: bytes of a path, a folder's with a slash at its end; 0 has no end
    :ivar without: what is in no name
    """

    text: bool = False
    longest: int = 0
    without: bytes = b""

    def require(self, path: bytes) -> None:
        """
        :raises OSError: of what is never there
        """
        if self.text:
            require_text(path)
        if self.longest and len(path) > self.longest:
            raise OSError(
                errno.ENAMETOOLONG, f"a path has at most {self.longest} bytes there, but this one {len(path)}", path
            )
        if self.without and self.without in path:
            raise OSError(errno.EINVAL, f"no name has a {self.without.decode()!r} there", path)


class Abilities(NamedTuple):
    """What operations a source has, beside those that all have."""

    keeps: bool = False  # owners, modes and times
    xattrs: int = 0  # of what users say of one file beside that: the longest, packed as a text
    links: bool = False
    hard_links: bool = False  # and tells how many names a file has
    renames_at_once: bool = False  # nobody sees one half-way
    folders_change: bool = False  # have the time of when a name in them was changed
    writes_anywhere: bool = False  # a part of a file can be written without the rest
    # A file is made of parts of it and of what is sent: bytes of the smallest such part; 0 is sent whole.
    patches: int = 0
    # Of a file that is still written, parts are sent as soon as it has so many bytes; 0 is sent when it is stored.
    behind: int = 0
    names: Bounds = Bounds()
    conditions: bool = False  # a file is stored over one version only in one step, whoever else writes it
    syncs: bool = False  # what is new there is lost with the machine, unless it was asked to be on the disk
    resumes: bool = False  # a rename of a folder takes many steps, and goes on where it was cut off


class Source(Protocol):
    """Paths are relative to the source's root, without a slash at either end; the root is b""."""

    abilities: Abilities

    def opened(self) -> None:
        """It serves a mount from now on: its log tells what it refuses. Until then who opens it says so himself."""
        return

    def find(self, path: bytes) -> Found:
        """
        :raises FileNotFoundError:
        """

    def find_file(self, path: bytes) -> Found:
        """The same of what was a file before, which is less work where it still is.

        :raises FileNotFoundError:
        """
        return self.find(path)

    def find_new(self, path: bytes) -> Found:
        """The same of what was not there a moment ago, neither file nor folder: only whether it is a file now.

        :raises FileNotFoundError:
        """
        return self.find(path)

    def list(self, path: bytes) -> Iterator[Page]:
        """
        :raises FileNotFoundError: of a folder that is not there
        :raises OSError: also in the middle: a listing that broke off is none
        """

    def read(self, path: bytes, version: bytes, offset: int, size: int) -> Data:
        """Fewer at the end of the file.

        :raises ChangedError: when it has another version by now
        """

    def read_replaced(self, path: bytes, version: bytes, offset: int, size: int) -> Data:
        """The same of a version that was replaced since, or whose file is gone, by a source that keeps such.

        :raises ChangedError: when it does not
        """
        return self.read(path, version, offset, size)

    def store(self, path: bytes, descriptor: int, size: int, kept: Kept = NOTHING, over: bytes | None = None) -> Found:
        """The first bytes of an open file become the file.

        :param over: the version that it may replace, b"" for none at all; None replaces whatever is there
        :raises ChangedError: when another is there
        """

    def patch(
        self, path: bytes, _descriptor: int, _parts: Sequence[Part], _version: bytes, _kept: Kept = NOTHING,
        _over: bytes | None = None,
    ) -> Found:  # fmt: skip
        """As `store`, of a file of which some is as in a version that is there. Only where ``abilities.patches`` says so.

        :param _parts: all of the file, in order
        :raises ChangedError: also when that version is not there any more
        """
        raise OSError(errno.EOPNOTSUPP, "this source takes files whole", path)

    def send_behind(self, path: bytes, _descriptor: int) -> int:
        """Of an open file that is still written, a part which is not likely to change any more. Nobody sees it until the file is stored,
        which looks whether it is still so, and sends it again where it is not. Only where ``abilities.behind`` says so.

        :returns: how many bytes were sent, 0 when there is no such part yet
        """
        raise OSError(errno.EOPNOTSUPP, "this source takes files whole", path)

    def drop_behind(self, path: bytes) -> None:
        """Nobody stores what was sent of it."""
        raise OSError(errno.EOPNOTSUPP, "this source takes files whole", path)

    def make_folder(self, path: bytes, kept: Kept = NOTHING) -> Found:
        """
        :raises FileExistsError:
        """

    def remove(self, path: bytes) -> None:
        """A file or link."""

    def remove_folder(self, path: bytes) -> None:
        """An empty one."""

    def rename(self, old: bytes, new: bytes) -> None:
        """Replaces what POSIX lets be replaced."""

    def rename_folder(self, old: bytes, new: bytes, _steps: int) -> None:
        """The same of a folder. Where it takes many steps, what they are is noted in an open file, which is empty at first: asked again
        with it, it goes on, and replaces nothing that others put there meanwhile. When it fails and is undone, the file is empty again.
        """
        self.rename(old, new)

    def link(self, path: bytes, target: bytes) -> Found:
        """A symbolic one."""

    def add_name(self, path: bytes, new: bytes) -> Found:
        """Another name of a file, or of a link itself."""
        raise OSError(errno.EPERM, "a file of this source has one name", path, None, new)

    def target(self, path: bytes) -> bytes:
        """Of a symbolic link."""

    def keep(self, path: bytes, kept: Kept) -> Found: ...

    def xattrs(self, path: bytes) -> Xattrs:
        """Of a file or folder."""
        return self.find(path).xattrs or {}

    def sync(self, path: bytes) -> None:
        """What was stored there, or changed in a folder, is there also when the machine has died. Only where ``abilities.syncs`` says so."""
        raise OSError(errno.EOPNOTSUPP, "what this source has lasts", path)

    def space(self) -> Room | None:
        """None of one that has no end, or does not tell."""
        return None

    def close(self) -> None: ...


class ChangedError(OSError):
    """The file has another version than the one that was asked for."""

    def __init__(self, path: bytes) -> None:
        super().__init__(errno.ESTALE, "it was replaced meanwhile", path)

    def __reduce__(self) -> tuple[type[ChangedError], tuple[bytes]]:
        return ChangedError, (self.filename,)


class StuckError(OSError):
    """Whoever is asked waits for what never comes, in all of its threads: only another process can go on."""

    def __init__(self, what: str) -> None:
        super().__init__(errno.EIO, what)


class RefusedError(OSError):
    """The source takes a request for wrong, or does not know what it asks for."""


def parent(path: bytes) -> bytes:
    return path.rpartition(b"/")[0]


def is_name(name: bytes) -> bool:
    """Whether a file may have it."""
    return name not in (b"", b".", b"..") and len(name) <= LONGEST_NAME and b"\0" not in name and b"/" not in name


def require_name(path: bytes) -> None:
    """Of what is made there, where a source's own words would not say what is wrong.

    :raises OSError:
    """
    name = path.rpartition(b"/")[2]
    if not is_name(name):
        number = errno.ENAMETOOLONG if len(name) > LONGEST_NAME else errno.EINVAL
        raise OSError(number, f"a name has 1 to {LONGEST_NAME} bytes and is neither . nor ..", path)


def require_text(path: bytes) -> str:
    """
    :raises OSError: of what no source can have whose names are text
    """
    try:
        return path.decode()
    except UnicodeDecodeError:
        raise OSError(errno.EILSEQ, "names are text in UTF-8 there", path) from None


def on_empty(act: Callable[[], None], remove_unfinished: Callable[[], bool]) -> None:
    """What wants a folder to be empty. To users it is, also while it has what somebody left who died before it had a name of its own.

    :param remove_unfinished: says whether the folder had nothing else
    """
    try:
        act()
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or not remove_unfinished():
            raise
        act()
