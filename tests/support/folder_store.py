# SPDX-License-Identifier: Apache-2.0
"""A store of objects that outlives who uses it: a file for each. And one whose user is killed at a request of its own."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from paddleflow_fuse.sources.base import ChangedError, Part
from paddleflow_fuse.sources.objects import Keys, Object, Store

Answer = TypeVar("Answer")


class FolderStore(Store):
    patches = 256 << 10

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._threads = threading.Lock()

    def head(self, key: str) -> Object:
        return self._read(key)[0]

    def list(self, prefix: str, delimiter: str = "", most: int = 0) -> Iterator[Keys]:
        objects: list[Object] = []
        prefixes: dict[str, None] = {}
        for key in sorted(bytes.fromhex(path.name).decode() for path in self._folder.iterdir() if "." not in path.name):
            head, found, _rest = key[len(prefix) :].partition(delimiter) if delimiter else ("", "", "")
            if not key.startswith(prefix) or (most and len(objects) + len(prefixes) == most):
                continue
            if found:
                prefixes[prefix + head + delimiter] = None
            else:
                objects.append(self.head(key)._replace(metadata={}))
        yield Keys(objects, list(prefixes))

    def get(self, key: str, version: bytes, offset: int, size: int) -> bytes:
        found, data = self._read(key)
        if version not in (b"", found.version):
            raise ChangedError(key.encode())
        return data[offset : offset + size]

    def put(
        self, key: str, descriptor: int, size: int, metadata: Mapping[str, str], over: bytes | None = None
    ) -> Object:
        with self._alone():
            try:
                there = self.head(key).version
            except FileNotFoundError:
                there = b""
            if over not in (None, there):
                raise ChangedError(key.encode())
            return self._write(key, os.pread(descriptor, size, 0) if size else b"", metadata)

    def patch(
        self, key: str, descriptor: int, parts: Sequence[Part], version: bytes, metadata: Mapping[str, str],
        over: bytes | None = None,
    ) -> Object:  # fmt: skip
        with self._alone():
            there, before = self._read(key)
            if there.version != version or over not in (None, version):
                raise ChangedError(key.encode())
            data = [
                before[part.offset : part.offset + part.size]
                if part.copied
                else os.pread(descriptor, part.size, part.offset)
                for part in parts
            ]
            return self._write(key, b"".join(data), metadata)

    def copy(self, old: str, new: str, metadata: Mapping[str, str] | None = None) -> None:
        with self._alone():
            found, data = self._read(old)
            self._write(new, data, found.metadata if metadata is None else metadata)

    def delete(self, keys: Sequence[str]) -> None:
        with self._alone():
            for key in keys:
                self._path(key).unlink(missing_ok=True)

    def close(self) -> None:
        pass

    def tree(self) -> dict[str, bytes]:
        return {item.key: self._read(item.key)[1] for page in self.list("") for item in page.objects}

    def add(self, key: str, data: bytes = b"") -> Object:
        with self._alone():
            return self._write(key, data, {})

    def _path(self, key: str) -> Path:
        return self._folder / key.encode().hex()

    def _read(self, key: str) -> tuple[Object, bytes]:
        try:
            head, _line, data = self._path(key).read_bytes().partition(b"\n")
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, "no object has this key", key) from None
        told = json.loads(head)
        return Object(key, len(data), told["mtime"], told["version"].encode(), told["metadata"]), data

    def _write(self, key: str, data: bytes, metadata: Mapping[str, str]) -> Object:
        mtime, version = time.time_ns() // 10**9 * 10**9, os.urandom(8).hex()
        head = {"mtime": mtime, "version": version, "metadata": dict(metadata)}
        unfinished = self._path(key).with_suffix(".new")
        unfinished.write_bytes(json.dumps(head).encode() + b"\n" + data)
        unfinished.rename(self._path(key))
        return Object(key, len(data), mtime, version.encode(), dict(metadata))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Among all processes."""
        with self._threads, (self._folder / "lock.").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


class Doom:
    """Who dies, and when: said by a test, in a folder that those who may die look into."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._made, self._at = folder / "made", folder / "at"

    def say(
        self, request: int, when: str, name: str = "", *, all_die: bool = False, then: tuple[str, str] | None = None
    ) -> None:
        """
        :param request: from now on, the first is 1
        :param name: that it has; else all are counted
        :param when: ``before`` or ``after`` it is done
        :param all_die: the supervisor too
        :param then: a key and what another puts there right then
        """
        self.spare()
        unfinished = self._at.with_suffix(".new")
        unfinished.write_text(
            json.dumps({"name": name, "request": request, "when": when, "all": all_die, "then": then})
        )
        unfinished.rename(self._at)

    def spare(self) -> None:
        self._at.unlink(missing_ok=True)
        self._made.write_text("")

    @property
    def is_met(self) -> bool:
        return not self._at.exists()

    @property
    def requests(self) -> list[str]:
        """Since somebody was doomed or spared."""
        return self._made.read_text().split() if self._made.exists() else []

    def next(self, name: str) -> None:
        with self._made.open("a") as file:
            file.write(f"{name}\n")

    def meet(self, name: str, when: str, store: FolderStore) -> None:
        try:
            said = json.loads(self._at.read_text())
        except FileNotFoundError:
            return
        made = [one for one in self.requests if said["name"] in ("", one)]
        if (said["request"], said["when"]) == (len(made), when) and said["name"] in ("", name):
            self._at.unlink()  # nobody dies twice
            if said["then"]:
                store.add(said["then"][0], said["then"][1].encode())
            if said["all"]:
                os.kill(os.getppid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()


class DoomedStore(Store):
    patches = FolderStore.patches

    def __init__(self, folder: Path, doom: Doom) -> None:
        self._store, self._doom, self._order = FolderStore(folder), doom, threading.Lock()

    def head(self, key: str) -> Object:
        return self._do("head", lambda: self._store.head(key))

    def list(self, prefix: str, delimiter: str = "", most: int = 0) -> Iterator[Keys]:
        yield from self._do("list", lambda: list(self._store.list(prefix, delimiter, most)))

    def get(self, key: str, version: bytes, offset: int, size: int) -> bytes:
        return self._do("get", lambda: self._store.get(key, version, offset, size))

    def put(
        self, key: str, descriptor: int, size: int, metadata: Mapping[str, str], over: bytes | None = None
    ) -> Object:
        return self._do("put", lambda: self._store.put(key, descriptor, size, metadata, over))

    def patch(
        self, key: str, descriptor: int, parts: Sequence[Part], version: bytes, metadata: Mapping[str, str],
        over: bytes | None = None,
    ) -> Object:  # fmt: skip
        for _part in parts:  # each a request, of which nobody sees anything until the last
            self._do("part", lambda: None)
        return self._do("put", lambda: self._store.patch(key, descriptor, parts, version, metadata, over))

    def copy(self, old: str, new: str, metadata: Mapping[str, str] | None = None) -> None:
        self._do("copy", lambda: self._store.copy(old, new, metadata))

    def delete(self, keys: Sequence[str]) -> None:
        """One by one, as of a batch some may be done."""
        for key in keys:
            self._do("delete", partial(self._store.delete, [key]))

    def close(self) -> None:
        self._store.close()

    def _do(self, name: str, act: Callable[[], Answer]) -> Answer:
        with self._order:
            self._doom.next(name)
            self._doom.meet(name, "before", self._store)
            try:
                return act()
            finally:
                self._doom.meet(name, "after", self._store)
