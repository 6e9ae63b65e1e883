# SPDX-License-Identifier: Apache-2.0
"""A bucket as a source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base import NOTHING
from ..objects import ObjectSource

if TYPE_CHECKING:
    from ..base import Found, Kept
    from ..objects import Options
    from .credentials import Credentials
    from .store import S3Store


class BucketSource(ObjectSource):
    def __init__(self, store: S3Store, root: str, options: Options) -> None:
        super().__init__(store, root, options)
        self._bucket = store

    def store(
        self, path: bytes, descriptor: int, size: int, kept: Kept = NOTHING, over: bytes | None = None, mark: str = ""
    ) -> Found:
        """
        :param mark: of a try of the same elsewhere, of which nobody knows whether it was done
        """
        metadata = self._metadata(kept)
        return self._found(self._bucket.put(self._key(path), descriptor, size, metadata, over, mark))

    def keys(self) -> Credentials:
        """With which it is opened now, for who asks it some things by himself.

        :raises PermissionError: when there are none
        """
        return self._bucket.keys()
