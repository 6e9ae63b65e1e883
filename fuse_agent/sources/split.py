# SPDX-License-Identifier: Apache-2.0
"""A source of which the most frequent questions are asked right here, and all others of a helper."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from .far import FarSource
from .objects import ObjectSource
from .s3.credentials import Credentials, FileCredentials, Fixed, Keeper
from .s3.near import ElsewhereError, NearStore
from .s3.options import PATIENT, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from .base import Data, Found
    from .make import Wanted
    from .objects import Options
    from .s3.credentials import Provider

# Seconds for which keys that the helper found are taken for good; it renews them by itself, earlier than they end.
_GOOD: Final = 60.0


class _Asked:
    """Keys of the helper."""

    def __init__(self, far: FarSource) -> None:
        self._far = far

    def credentials(self) -> Credentials:
        return Credentials(*self._far.credentials(), expires=time.time() + _GOOD)


class SplitSource(FarSource):
    def __init__(self, wanted: Wanted, options: Options, tell: Callable[[str, int, bool], None]) -> None:
        super().__init__(wanted, tell)
        bucket = read(wanted.url, wanted.properties)
        provider: Provider = _Asked(self)
        if wanted.secrets:
            provider = FileCredentials(wanted.secrets)
        elif bucket.credentials is not None:
            provider = Fixed(bucket.credentials)
        store = NearStore(bucket, Keeper(provider), PATIENT, tell)
        self._near = ObjectSource(store, wanted.path.strip("/"), options)

    def find_file(self, path: bytes) -> Found:
        try:
            return self._near.find_file(path)
        except ElsewhereError:
            return super().find_file(path)

    def read(self, path: bytes, version: bytes, offset: int, size: int) -> Data:
        try:
            return self._near.read(path, version, offset, size)
        except ElsewhereError:
            return super().read(path, version, offset, size)

    def close(self) -> None:
        self._near.close()
        super().close()
