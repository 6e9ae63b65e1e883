# SPDX-License-Identifier: Apache-2.0
"""A store of objects in memory, which ends with its process: for tests, and to try a mount without any server."""

from __future__ import annotations

import errno
import os
import threading
import time
from bisect import bisect_left, insort
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING

from .base import ChangedError
from .objects import Keys, Object, Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .base import Part

_PAGE = 1000


class MemoryStore(Store):
    patches = 256 << 10

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._data: dict[str, bytes] = {}
        self._objects: dict[str, Object] = {}
        self._keys: list[str] = []  # in order
        self._writes = 0

    def head(self, key: str) -> Object:
        with self._lock:
            return self._there(key)

    def list(self, prefix: str, delimiter: str = "", most: int = 0) -> Iterator[Keys]:
        with self._lock:
            listed = list(islice(self._names(prefix, delimiter), most or None))
        for start in range(0, max(len(listed), 1), _PAGE):
            page = listed[start : start + _PAGE]
            with self._lock:
                objects = [self._objects[name] for name, is_prefix in page if not is_prefix and name in self._objects]
            yield Keys(
                [item._replace(metadata={}) for item in objects], [name for name, is_prefix in page if is_prefix]
            )

    def _names(self, prefix: str, delimiter: str) -> Iterator[tuple[str, bool]]:
        """In order, each with whether it is a prefix."""
        place = bisect_left(self._keys, prefix)
        while place < len(self._keys) and (key := self._keys[place]).startswith(prefix):
            head, found, _rest = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            if found:
                yield prefix + head + delimiter, True
                place = bisect_left(self._keys, prefix + head + chr(ord(delimiter) + 1), place)
            else:
                yield key, False
                place += 1

    def get(self, key: str, version: bytes, offset: int, size: int) -> bytes:
        with self._lock:
            if version not in (b"", self._there(key).version):
                raise ChangedError(key.encode())
            return self._data[key][offset : offset + size]

    def put(
        self, key: str, descriptor: int, size: int, metadata: Mapping[str, str], over: bytes | None = None
    ) -> Object:
        data = os.pread(descriptor, size, 0) if size else b""
        with self._lock:
            there = self._objects[key].version if key in self._objects else b""
            if over not in (None, there):
                raise ChangedError(key.encode())
            return self._put(key, data, metadata)

    def patch(
        self, key: str, descriptor: int, parts: Sequence[Part], version: bytes, metadata: Mapping[str, str],
        over: bytes | None = None,
    ) -> Object:  # fmt: skip
        with self._lock:
            there = self._objects[key].version if key in self._objects else b""
            if there != version or over not in (None, there):
                raise ChangedError(key.encode())
            before = self._data[key]
            data = [
                before[part.offset : part.offset + part.size]
                if part.copied
                else os.pread(descriptor, part.size, part.offset)
                for part in parts
            ]
            return self._put(key, b"".join(data), metadata)

    def copy(self, old: str, new: str, metadata: Mapping[str, str] | None = None) -> None:
        with self._lock:
            kept = self._there(old).metadata if metadata is None else metadata
            self._put(new, self._data[old], kept)

    def delete(self, keys: Sequence[str]) -> None:
        with self._lock:
            for key in keys:
                if self._objects.pop(key, None):
                    del self._data[key], self._keys[bisect_left(self._keys, key)]

    def close(self) -> None:
        self._objects.clear()
        self._data.clear()
        self._keys.clear()

    def _there(self, key: str) -> Object:
        if key not in self._objects:
            raise FileNotFoundError(errno.ENOENT, "no object has this key", key)
        return self._objects[key]

    def _put(self, key: str, data: bytes, metadata: Mapping[str, str]) -> Object:
        self._writes += 1
        version = blake2b(data, digest_size=16, key=self._writes.to_bytes(8, "little")).hexdigest().encode()
        if key not in self._objects:
            insort(self._keys, key)
        self._data[key] = data
        self._objects[key] = Object(key, len(data), time.time_ns(), version, dict(metadata))
        return self._objects[key]
