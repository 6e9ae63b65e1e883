# SPDX-License-Identifier: Apache-2.0
"""A bucket as a source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects import ObjectSource

if TYPE_CHECKING:
    from ..objects import Options
    from .credentials import Credentials
    from .store import S3Store


class BucketSource(ObjectSource):
    def __init__(self, store: S3Store, root: str, options: Options) -> None:
        super().__init__(store, root, options)
        self._bucket = store

    def keys(self) -> Credentials:
        """With which it is opened now, for who asks it some things by himself.

        :raises PermissionError: when there are none
        """
        return self._bucket.keys()
