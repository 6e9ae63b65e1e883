# SPDX-License-Identifier: Apache-2.0
"""Where the same cases run: a plain folder, which says whether what we expect is right, and mounts of ours."""

from __future__ import annotations

import errno
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.support.granted import until
from tests.support.mounted import Mounted, mounted

_COUNT = itertools.count()


class Kind(NamedTuple):
    """
    :ivar source: None is a plain folder
    :ivar keeps: owners, modes and times
    :ivar lacks: what cases may need that its session has not
    """

    source: str | None = None
    keeps: bool = True
    passthrough: int = 1
    session: str = "direct"
    lacks: frozenset[str] = frozenset()


KINDS: Final = {
    "plain": Kind(),
    "memory": Kind("memory", keeps=False),
    "memory-without-passthrough": Kind("memory", keeps=False, passthrough=0),
    "persist": Kind("memory"),
    "local": Kind("local"),
    "local-without-passthrough": Kind("local", passthrough=0),
    # What lists names and is unsure of them, and keeps modes: all that this session does otherwise.
    "persist-by-pyfuse3": Kind("memory", passthrough=0, session="pyfuse3", lacks=frozenset({"fallocate"})),
}


class Place(NamedTuple):
    """
    :ivar root: an empty folder, where a test may do what it likes
    """

    root: Path
    name: str
    mount: Mounted | None

    @property
    def kind(self) -> Kind:
        return KINDS[self.name]


@contextmanager
def opened(name: str, folder: Path, **settings: Any) -> Iterator[tuple[Path, Mounted | None]]:
    """
    :param folder: an empty one
    """
    kind = KINDS[name]
    if kind.source is None:
        yield folder, None
        return
    source: dict[str, Any] = {"kind": kind.source, "persist": kind.keeps}
    if kind.source == "local":
        (folder / "root").mkdir()
        source = {"kind": "local", "root": str(folder / "root")}
    how: dict[str, Any] = {"passthrough": kind.passthrough, "disk": bool(kind.passthrough), "session": kind.session}
    with mounted(folder, source, **how, **settings) as mount:
        yield mount.point, mount
        until("all that was written is stored", lambda: not any(mount.staging.iterdir()))


class Places:
    """One mount of each kind, that the tests of a file share; each has a folder of its own in it."""

    def __init__(self, base: Path, stack: ExitStack, **settings: Any) -> None:
        self._base, self._stack, self._settings = base, stack, settings
        self._opened: dict[str, tuple[Path, Mounted | None]] = {}

    def take(self, name: str) -> Place:
        if name not in self._opened:
            (self._base / name).mkdir()
            self._opened[name] = self._stack.enter_context(opened(name, self._base / name, **self._settings))
        root, mount = self._opened[name]
        own = root / str(next(_COUNT))
        own.mkdir()
        return Place(own, name, mount)


def descriptor(path: Path | str | bytes, flags: int, mode: int = 0o666) -> Iterator[int]:
    """That is closed also when a test fails: an open one would keep a mount."""
    one = os.open(path, flags, mode)
    try:
        yield one
    finally:
        try:
            os.close(one)
        except OSError as error:
            if error.errno != errno.EBADF:  # the test closed it
                raise


file = contextmanager(descriptor)


def make(root: Path, what: str) -> Path:
    """A file or a folder of that name."""
    path = root / what
    if what == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"content")
    return path


def python(code: str, *args: object) -> str:
    """What a program in a process of its own printed."""
    command = [sys.executable, "-I", "-S", "-c", code, *[str(one) for one in args]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


def python_as(user: int, folder: Path, code: str, *args: object, groups: tuple[int, ...] = ()) -> str:
    """The same by a user that is not root, who is in the folder already: the way to it may be closed to him."""
    become = f"import os, sys; os.chdir({str(folder)!r}); os.setgroups({list(groups)}); os.setgid({user}); os.setuid({user})\n"
    return python(become + code, *args)


def client(code: str, *args: object) -> subprocess.Popen[str]:
    """Another process, which may wait."""
    # Whoever starts tests in the background has it ignored by all of them.
    begin = "import os, signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    command = [sys.executable, "-I", "-S", "-c", begin + code, *[str(one) for one in args]]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
