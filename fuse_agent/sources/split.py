# SPDX-License-Identifier: Apache-2.0
"""A source of which the most frequent questions are asked right here, and all others of a helper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .base import NOTHING
from .far import FarSource
from .objects import ObjectSource
from .rates import gates
from .s3.credentials import Credentials, Keeper
from .s3.near import ElsewhereError, NearStore
from .s3.options import PATIENT, read
from .s3.providers import is_near, provider_of
from .siblings import Siblings

if TYPE_CHECKING:
    from .base import Data, Found, Kept, Tell
    from .make import Wanted
    from .objects import Options

# Seconds for which keys of the helper are not asked for again; it renews them by itself, earlier than they end.
_HOLDS: Final = 5.0


class _Asked:
    """Keys of the helper."""

    def __init__(self, far: FarSource) -> None:
        self._far = far

    def credentials(self) -> Credentials:
        return Credentials(*self._far.credentials(), holds=_HOLDS)


class SplitSource(FarSource):
    def __init__(self, wanted: Wanted, options: Options, tell: Tell) -> None:
        bucket = read(wanted.url, wanted.properties)
        provider = provider_of(bucket, wanted.secrets) if is_near(bucket, wanted.secrets) else _Asked(self)
        store = NearStore(bucket, Keeper(provider), PATIENT, tell, gates(wanted.rates))
        self._siblings = Siblings()
        self._near = ObjectSource(store, wanted.path.strip("/"), options)
        super().__init__(wanted, tell, self._near.abilities)

    def find(self, path: bytes) -> Found:
        """A file, or that there is nothing."""
        try:
            return self._near.find(path)
        except ElsewhereError:
            return super().find(path)

    def store(self, path: bytes, descriptor: int, size: int, kept: Kept = NOTHING, over: bytes | None = None) -> Found:
        try:
            return self._near.store(path, descriptor, size, kept, over)
        except ElsewhereError as error:
            found: Found = self._ask("store", path, size, kept, over, error.mark, descriptors=(descriptor,))
            return found

    def remove(self, path: bytes) -> None:
        try:
            self._near.is_removable(path)
        except ElsewhereError:
            with self._siblings.changing():
                super().remove(path)
            return
        try:
            self._near.erase_only(path)
        except ElsewhereError:  # it may be gone, which is not to be told as a failure
            with self._siblings.changing():
                self._ask("erase", path)
            return
        above, _slash, name = path.rpartition(b"/")
        if above and (look := self._siblings.removed(above, name)):
            self._siblings.saw(look, self._ask("keep_folder", above))

    def remove_folder(self, path: bytes) -> None:
        with self._siblings.changing():
            super().remove_folder(path)

    def rename(self, old: bytes, new: bytes) -> None:
        with self._siblings.changing():
            super().rename(old, new)

    def rename_folder(self, old: bytes, new: bytes, steps: int) -> None:
        with self._siblings.changing():
            super().rename_folder(old, new, steps)

    def find_file(self, path: bytes) -> Found:
        try:
            return self._near.find_file(path)
        except ElsewhereError:
            return super().find_file(path)

    def find_new(self, path: bytes) -> Found:
        try:
            return self._near.find_new(path)
        except ElsewhereError:
            return super().find_new(path)

    def read(self, path: bytes, version: bytes, offset: int, size: int) -> Data:
        try:
            return self._near.read(path, version, offset, size)
        except ElsewhereError:
            return super().read(path, version, offset, size)

    def space(self) -> None:
        """A bucket has no end: nobody need be asked."""

    def close(self) -> None:
        self._near.close()
        super().close()
