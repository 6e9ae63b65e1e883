# SPDX-License-Identifier: Apache-2.0
"""Who has a folder of the cache: one at a time, and nothing of it lies in a folder of somebody else.

The lock belongs to a descriptor, and so to every process that has a copy of it: a folder stays with a mount while the process that
serves it is replaced.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import stat
import threading
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from ..boot import boot_id
from .errors import ForeignError, HeldError, UnsavedError
from .store import names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

OWNER, STAGING = "owner", "staging"
# Of what tells of a staged file, and lies beside it.
BESIDE: Final = (".json", ".map", ".new")
_MARK: Final = "folder of a PaddleFlow cache"
# What we make there, in the order in which it goes; OWNER goes last, since it says that the folder is ours.
OURS: Final = (
    "state", "state.new", "objects", "filling", "index", "index-wal", "index-shm", "index-journal",
    "names-well", "names", "names-wal", "names-shm", "names-journal", "rates", "uploads", STAGING,
)  # fmt: skip
# What is made anew by who writes, stores or counts, after all was removed by hand.
_ANEW: Final = frozenset((STAGING, "uploads", "rates"))
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FILE = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Claim:
    """
    :ivar root: a descriptor of the folder
    :ivar descriptor: that has the lock; whoever has a copy of it has it too
    :ivar renewed: is told of another descriptor
    """

    def __init__(self, folder: Path, root: int, descriptor: int, who: Mapping[str, Any]) -> None:
        self.folder, self.root, self.descriptor, self.who = folder, root, descriptor, who
        self.renewed: Callable[[int], None] = lambda _descriptor: None
        self._lock = threading.Lock()

    @classmethod
    def adopt(cls, folder: Path, descriptor: int) -> Claim:
        """From a process that went, or hands it over; the descriptor is the claim's from now on.

        :raises HeldError: when the descriptor has not the lock, and somebody else has
        :raises ForeignError: when it is of another folder
        """
        root = _open(folder)
        try:
            if not _same(root, descriptor):
                raise ForeignError(
                    f"The lock that was handed over is not that of {folder}, which was removed or made anew meanwhile: "
                    "claim the folder instead."
                )
            _lock(folder, descriptor)
            who = {**_read(descriptor), "pid": os.getpid()}
            # As on a disk that is read-only by now: the lock counts, and this is for who reads it.
            with suppress(OSError):
                _write(descriptor, who)
        except BaseException:
            os.close(root)
            raise
        return cls(folder, root, descriptor, who)

    def stands(self) -> bool:
        """Whether the folder is still the one that was claimed."""
        try:
            now = (self.folder / OWNER).stat(follow_symlinks=False)
        except OSError:
            return False
        return os.path.samestat(now, os.fstat(self.descriptor))

    def renew(self) -> None:
        """After the folder was removed by somebody; whoever comes second finds it done.

        :raises HeldError:
        :raises ForeignError:
        """
        with self._lock:
            if self.stands():
                return
            again = claim(self.folder, self.who)
            self.release()
            self.root, self.descriptor = again.root, again.descriptor
        self.renewed(self.descriptor)

    def clear(self, told: Callable[[], None] = lambda: None) -> bool:
        """Removes all that is ours, and the folder; what was written and is stored nowhere else stays, and with it the folder.

        :param told: is called again and again as it goes on
        :return: whether the folder is gone
        """
        for name in OURS:
            if name != STAGING:
                _remove(self.root, name, told)
        if _unsaved(self.root):
            return False
        _remove(self.root, STAGING, told)
        with suppress(OSError):  # something that is not ours is there
            if set(names_in(self.root)) == {OWNER}:
                os.unlink(OWNER, dir_fd=self.root)
            self.folder.rmdir()
            return True
        return False

    def release(self) -> None:
        """Whoever has a copy of the descriptor keeps the folder."""
        os.close(self.root)
        os.close(self.descriptor)


def claim(folder: Path, who: Mapping[str, Any]) -> Claim:
    """
    :param who: what others are told: the mount point as `mount`, and whatever helps; never a secret
    :raises HeldError:
    :raises ForeignError: when what lies there is not ours
    """
    with suppress(FileExistsError):  # also a link to nowhere, which is refused below
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as opened:
        root = _open(folder)
        opened.callback(os.close, root)
        names = names_in(root)
        if set(names) - _ANEW and OWNER not in names:
            raise ForeignError(
                f"{folder} holds {names[0]} and is no cache: name an empty folder, or one that is not there."
            )
        os.fchmod(root, 0o700)
        descriptor = _open_owner(folder, root)
        opened.callback(os.close, descriptor)
        before = _read(descriptor)
        if before.get("mark") != _MARK and (before or os.fstat(descriptor).st_size or set(names) - {OWNER, *_ANEW}):
            raise ForeignError(f"{folder} holds a file {OWNER} that is not of a cache: name another folder.")
        _lock(folder, descriptor)
        if not _same(root, descriptor):
            raise ForeignError(f"{folder} was removed while it was claimed: try again.")
        who = {**who, "mark": _MARK, "pid": os.getpid(), "boot": boot_id()}
        _write(descriptor, who)
        os.fsync(root)
        opened.pop_all()
    return Claim(folder, root, descriptor, who)


def clean(folder: Path) -> None:
    """Removes a folder of ours, which nobody holds, with all that is in it. One that is not there is clean.

    :raises HeldError:
    :raises ForeignError: when what lies there is not ours
    :raises UnsavedError: when it holds files that users wrote and that are stored nowhere else
    """
    try:
        _open_and_close(folder)
    except FileNotFoundError:
        return
    before = owner_of(folder)
    held = claim(folder, {"mount": "nothing: it is being removed"})
    try:
        strange = sorted(set(names_in(held.root)) - {*OURS, OWNER})
        if strange:
            raise ForeignError(f"{folder} holds {strange[0]}, which is not of the cache: move it away first.")
        unsaved = _unsaved(held.root)
        if unsaved:
            raise UnsavedError(
                f"{folder / STAGING} holds {unsaved} files that were written and are stored nowhere else: mount the file system "
                "again, which stores them, or move them away."
            )
        before = {}
        held.clear()
    finally:
        if before:
            _write(held.descriptor, before)
        held.release()


@contextmanager
def borrowed(folder: Path, doing: str) -> Iterator[Claim]:
    """A cache that is there, for a while; afterwards it says again whose it was.

    :raises HeldError:
    :raises ForeignError: when there is none
    """
    before = owner_of(folder)
    if not before:
        raise ForeignError(f"{folder} is no cache: name a folder that holds a file {OWNER} of ours, or one above it.")
    held = claim(folder, {"mount": f"nothing: it is being {doing}"})
    try:
        yield held
    finally:
        _write(held.descriptor, before)
        held.release()


def owner_of(folder: Path) -> dict[str, Any]:
    """What the last who had it said of himself; nothing of what is no cache."""
    try:
        descriptor = os.open(folder / OWNER, _LOOK)
    except OSError:
        return {}
    try:
        found = _read(descriptor)
    except OSError:  # a pipe, or a folder
        return {}
    finally:
        os.close(descriptor)
    return found if found.get("mark") == _MARK else {}


def is_held(folder: Path) -> bool:
    """Whether somebody has it at the moment."""
    try:
        descriptor = os.open(folder / OWNER, _LOOK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def beside(folder: Path) -> list[Path]:
    """Caches of the same files, of mounts with other options, that nobody holds."""
    found = sorted(owner.parent for owner in folder.parent.glob(f"*/{OWNER}"))
    return [one for one in found if one != folder and owner_of(one) and not is_held(one)]


def _open(folder: Path) -> int:
    try:
        root = os.open(folder, _FOLDER)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise ForeignError(f"{folder} is a link or no folder: name the folder itself.") from None
        raise
    if os.fstat(root).st_uid != os.geteuid():
        os.close(root)
        raise ForeignError(
            f"{folder} belongs to another user than {os.geteuid()}, who runs this: name a folder of his own."
        )
    return root


def _open_and_close(folder: Path) -> None:
    os.close(_open(folder))


def _open_owner(folder: Path, root: int) -> int:
    try:
        descriptor = os.open(OWNER, _FILE | os.O_CREAT, 0o600, dir_fd=root)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise ForeignError(f"{folder / OWNER} is no file of a cache: name another folder.") from None
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        os.close(descriptor)
        raise ForeignError(f"{folder / OWNER} is no file of ours: name another folder.")
    return descriptor


def _lock(folder: Path, descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise HeldError(folder, _read(descriptor)) from None


def _same(root: int, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(OWNER, dir_fd=root, follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _read(descriptor: int) -> dict[str, Any]:
    """The first line, since who was killed while writing leaves the end of what was there."""
    try:
        found = json.loads(os.pread(descriptor, 1 << 16, 0).partition(b"\n")[0])
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _write(descriptor: int, who: Mapping[str, Any]) -> None:
    line = json.dumps(who).encode() + b"\n"
    os.pwrite(descriptor, line, 0)
    os.ftruncate(descriptor, len(line))
    os.fsync(descriptor)


def _unsaved(root: int) -> int:
    try:
        staging = os.open(STAGING, _FOLDER, dir_fd=root)
    except FileNotFoundError:
        return 0
    try:
        walked = os.fwalk(".", dir_fd=staging)
        return sum(not name.endswith(BESIDE) for _path, _folders, files, _fd in walked for name in files)
    finally:
        os.close(staging)


def _remove(root: int, name: str, told: Callable[[], None]) -> None:
    """Nothing that a link leads to."""
    try:
        if not stat.S_ISDIR(os.stat(name, dir_fd=root, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=root)
            return
    except FileNotFoundError:
        return
    inner = os.open(name, _FOLDER, dir_fd=root)
    try:
        for one in names_in(inner):
            told()
            if stat.S_ISDIR(os.stat(one, dir_fd=inner, follow_symlinks=False).st_mode):
                shutil.rmtree(one, dir_fd=inner)
            else:
                os.unlink(one, dir_fd=inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=root)
