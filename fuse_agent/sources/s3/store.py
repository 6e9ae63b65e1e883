# SPDX-License-Identifier: Apache-2.0
"""A bucket as a store of objects. Each call may come from any thread; none waits for another."""

from __future__ import annotations

import errno
import logging
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Final

from ..base import ChangedError, quiet
from ..objects import Keys, Object, Store
from ..rates import OPEN
from .attempts import Attempts
from .behind import Behind
from .clients import boto
from .conditions import Conditions
from .credentials import Keeper
from .failures import GarbledError
from .journal import NOWHERE
from .multipart import SIZES, Multipart, Sizes, holds
from .options import BEHIND, LONGEST_KEY, PATCHES, PATIENT, Patience
from .providers import provider_of
from .quick import WRITE, Quick, new_mark, plain, quoted, seconds, version_of, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..base import Data, Part, Tell
    from ..rates import Gates
    from .behind import Growing
    from .credentials import Credentials, Provider
    from .journal import Journal
    from .options import Options

_LOG = logging.getLogger(__name__)
_PAGE: Final = 1000  # of listings and deletions
_NAMES: Final = 1000
_PARTS: Final = 8  # on their way at a time
_CONNECTIONS: Final = 80  # those of a rename, and the parts
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ufffe\uffff]")


class S3Store(Store):
    patches, behind, longest = PATCHES, BEHIND, LONGEST_KEY

    def __init__(
        self,
        options: Options,
        provider: Provider | None = None,
        *,
        journal: Journal = NOWHERE,
        gates: Gates = OPEN,
        patience: Patience = PATIENT,
        sizes: Sizes = SIZES,
        on_request: Tell = quiet,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        """
        :param provider: of keys; without one those of the options, or else those that boto3 finds
        :param on_request: told of each request, by S3's name of it
        :param wait: lets seconds pass between two tries, and says whether to give up
        """
        keeper = Keeper(provider or provider_of(options))
        self._bucket, self._sizes, self._keeper = options.bucket, sizes, keeper
        self._copies_quickly = not options.objects.storage_class  # which obstore says of what it stores alone
        self._quick = Quick(options, keeper, patience)
        self._boto = boto(options, keeper, patience, _CONNECTIONS)
        self._attempts = Attempts(options.bucket, keeper, patience, on_request, wait=wait)
        self._pool = ThreadPoolExecutor(_PARTS, thread_name_prefix="parts")
        self._multipart = Multipart(self._boto, options.bucket, self._attempts, self._pool, journal, gates.write)
        self._behind = Behind(self._multipart, sizes.first)
        self._conditions = Conditions(options.bucket, self._version, on_request)
        self._gates = gates
        self._names: dict[tuple[str, bytes], str] = {}  # of versions that were replaced
        self._journal, self._left = journal, journal.left()

    def keys(self) -> Credentials:
        """With which the bucket is opened now.

        :raises PermissionError:
        """
        return self._keeper.current()

    def close(self) -> None:
        self._attempts.close()
        self._pool.shutdown(cancel_futures=True)
        self._boto.close()
        self._gates.close()

    # --- what is there -----------------------------------------------------------------------

    def head(self, key: str) -> Object:
        found = self._head(key)
        return found._replace(metadata={name: text for name, text in found.metadata.items() if name != WRITE})

    def list(self, prefix: str, delimiter: str = "", most: int = 0) -> Iterator[Keys]:
        given: dict[str, Any] = {"Bucket": self._bucket, "Prefix": prefix, "Delimiter": delimiter}
        left = most
        while True:
            given["MaxKeys"] = min(left, _PAGE) if most else _PAGE
            page = self._attempts.run("ListObjectsV2", prefix, lambda _before: self._boto.list_objects_v2(**given))
            objects = [
                Object(one["Key"], one["Size"], seconds(one["LastModified"]), version_of(one.get("ETag")))
                for one in page.get("Contents", ())
            ]
            prefixes = [one["Prefix"] for one in page.get("CommonPrefixes", ())]
            yield Keys(objects, prefixes)
            left -= len(objects) + len(prefixes)
            if not page.get("IsTruncated") or (most and left <= 0):
                return
            if not page.get("NextContinuationToken"):
                raise OSError(
                    errno.EIO, f"a listing of bucket {self._bucket!r} broke off: the store says neither how it goes on"
                    " nor that it ends; see whether it knows ListObjectsV2",
                )  # fmt: skip
            given["ContinuationToken"] = page["NextContinuationToken"]

    def get(self, key: str, version: bytes, offset: int, size: int) -> Data:
        if not size:
            return b""

        def act(before: int) -> Data:
            if before or not plain(key):
                return self._get(key, version, offset, size)
            return self._quick.get(key, version, offset, size)

        self._gates.read.admit(size)
        try:
            return self._attempts.run("GetObject", key, act)
        except OSError as error:
            if error.errno == errno.ERANGE:
                return b""
            raise

    def get_replaced(self, key: str, version: bytes, offset: int, size: int) -> Data:
        if not size:
            return b""
        name = self._replaced(key, version)
        self._gates.read.admit(size)
        return self._attempts.run(
            "GetObject", key, lambda _before: self._get(key, version, offset, size, VersionId=name)
        )

    # --- what is changed ---------------------------------------------------------------------

    def put(
        self, key: str, descriptor: int, size: int, metadata: Mapping[str, str], over: bytes | None = None,
        mark: str = "",
    ) -> Object:  # fmt: skip
        """
        :param mark: of a try of the same elsewhere, of which nobody knows whether it was done
        """
        return self._conditions.keep(
            key, over, lambda over: self._put_over(key, descriptor, size, metadata, over, mark)
        )

    def _put_over(
        self, key: str, descriptor: int, size: int, metadata: Mapping[str, str], over: bytes | None, tried: str
    ) -> Object:
        parted = size > self._sizes.put
        grown = self._grown(key, descriptor, size, metadata)
        mark = grown.mark if grown else tried or (new_mark() if parted or over is not None else "")
        marked = {**metadata, WRITE: mark} if mark else dict(metadata)
        version = b""
        tries = 1
        try:
            if grown:
                version = version_of(self._behind.finish(key, grown, descriptor, size, **_condition(over)))
            elif parted:
                version = version_of(self._multipart.upload(key, descriptor, size, marked, **_condition(over)))
            else:
                data = whole(descriptor, size)
                self._gates.write.admit(size)

                def act(before: int) -> bytes:
                    nonlocal tries
                    tries = before + 1
                    return self._put(key, data, marked, over, before)

                version = self._attempts.run("PutObject", key, act, sent=size)
        except OSError as error:
            # An answer that was lost looks like another's write to whoever asks again.
            if not (parted or (isinstance(error, ChangedError) and (tried or tries > 1))):
                raise
            ours = self._ours(key, mark)
            if ours is None and grown and isinstance(error, FileNotFoundError):
                # Somebody ended the upload, which may have been begun long ago.
                return self._put_over(key, descriptor, size, metadata, over, tried)
            if ours is None:
                raise
            version = ours.version
        return self._stored(key, size, metadata, version)

    def send_behind(self, key: str, descriptor: int) -> int:
        return self._behind.send(key, descriptor)

    def drop_behind(self, key: str) -> None:
        self._behind.drop(key)

    def patch(
        self, key: str, descriptor: int, parts: Sequence[Part], version: bytes, metadata: Mapping[str, str],
        over: bytes | None = None,
    ) -> Object:  # fmt: skip
        return self._conditions.keep(
            key, over, lambda over: self._patch_over(key, descriptor, parts, version, metadata, over)
        )

    def _patch_over(
        self, key: str, descriptor: int, parts: Sequence[Part], version: bytes, metadata: Mapping[str, str],
        over: bytes | None,
    ) -> Object:  # fmt: skip
        mark = new_mark()
        marked = {**metadata, WRITE: mark}
        try:
            made = version_of(
                self._multipart.patch(key, descriptor, parts, quoted(version), marked, **_condition(over))
            )
        except OSError:
            ours = self._ours(key, mark)
            if ours is None:
                raise
            made = ours.version
        return self._stored(key, sum(part.size for part in parts), metadata, made)

    def copy(self, old: str, new: str, metadata: Mapping[str, str] | None = None) -> None:
        there = self._head(old)
        if there.size > self._sizes.copy:
            kept = there.metadata if metadata is None else metadata
            self._multipart.copy(old, new, quoted(there.version), there.size, kept)
            return

        def act(before: int) -> None:
            if metadata is None and not before and self._copies_quickly and plain(old) and plain(new):
                self._quick.copy(old, new)
                return
            replaced = {} if metadata is None else {"Metadata": dict(metadata), "MetadataDirective": "REPLACE"}
            source = {"Bucket": self._bucket, "Key": old}
            self._boto.copy_object(Bucket=self._bucket, Key=new, CopySource=source, **replaced)

        self._attempts.run("CopyObject", new, act)

    def delete(self, keys: Sequence[str]) -> None:
        # XML cannot say every key.
        single = [key for key in keys if _CONTROL.search(key)] if len(keys) > 1 else list(keys)
        many = [key for key in keys if key not in set(single)]
        for start in range(0, len(many), _PAGE):
            self._delete_batch(many[start : start + _PAGE])
        for key in single:
            self._delete(key)

    # --- uploads that were begun -------------------------------------------------------------

    def abort(self, key: str, upload: str) -> None:
        """Also one that is not there any more."""
        self._multipart.abort(key, upload)

    def end_left(self) -> None:
        """Those of whoever had the journal before us, and died over them. What cannot be ended now is at the next start."""
        for one in self._left:
            try:
                self.abort(one.key, one.upload)
            except OSError as error:
                _LOG.warning("an upload that was left behind could not be ended: %s", error)
            else:
                _LOG.info("an upload that was left behind is ended key=%r", one.key)

    # --- below -------------------------------------------------------------------------------

    def _head(self, key: str, tries: int = 0) -> Object:
        def act(before: int) -> Object:
            if before or not plain(key):
                found = self._boto.head_object(Bucket=self._bucket, Key=key)
                size, metadata = found["ContentLength"], found["Metadata"]
                return Object(key, size, seconds(found["LastModified"]), version_of(found.get("ETag")), metadata)
            return self._quick.head(key)

        return self._attempts.run("HeadObject", key, act, tries)

    def _version(self, key: str) -> bytes:
        try:
            return self._head(key).version
        except FileNotFoundError:
            return b""

    def _replaced(self, key: str, version: bytes) -> str:
        """What the store calls a version that is not the newest.

        :raises ChangedError: when it keeps none, or does not tell
        """
        name = self._names.get((key, version))
        if name is None:
            try:
                name = next(self._kept(key, version), None)
            except OSError as error:
                _LOG.debug("versions of %r are not told: %s", key, error)
            if name is None:
                raise ChangedError(key.encode())
            if len(self._names) >= _NAMES:
                self._names.clear()
            self._names[key, version] = name
        return name

    def _kept(self, key: str, version: bytes) -> Iterator[str]:
        given: dict[str, Any] = {"Bucket": self._bucket, "Prefix": key}
        while True:
            page = self._attempts.run(
                "ListObjectVersions", key, lambda _before: self._boto.list_object_versions(**given), tries=2
            )
            found = page.get("Versions", ())
            yield from (
                one["VersionId"] for one in found if one["Key"] == key and version_of(one.get("ETag")) == version
            )
            # In the order of keys: behind the last of ours are others'.
            if not page.get("IsTruncated") or (found and found[-1]["Key"] != key):
                return
            given.update(KeyMarker=page["NextKeyMarker"], VersionIdMarker=page["NextVersionIdMarker"])

    def _get(self, key: str, version: bytes, offset: int, size: int, **more: str) -> bytes:
        condition = {**more, **({"IfMatch": quoted(version)} if version else {})}
        answer = self._boto.get_object(
            Bucket=self._bucket, Key=key, Range=f"bytes={offset}-{offset + size - 1}", **condition
        )
        with closing(answer["Body"]) as body:  # entered itself, it gives what is below, which fails otherwise
            if version and version_of(answer.get("ETag")) != version:
                raise ChangedError(key.encode())
            told = re.fullmatch(rf"bytes {offset}-(\d+)/(\d+|\*)", answer.get("ContentRange", ""))
            if told is None and not (offset == 0 and answer["ContentLength"] <= size):
                raise GarbledError("it holds another part of the object than was asked for")
            data: bytes = body.read()
        wanted = int(told[1]) + 1 - offset if told else answer["ContentLength"]
        end = int(told[2]) if told and told[2] != "*" else offset + size
        if len(data) != wanted or wanted < min(size, end - offset):
            raise GarbledError(f"it ended after {len(data)} bytes")
        return data

    def _put(self, key: str, data: bytes, metadata: dict[str, str], over: bytes | None, before: int) -> bytes:
        if before or not plain(key):
            answer = self._boto.put_object(
                Bucket=self._bucket, Key=key, Body=data, Metadata=metadata, **_condition(over)
            )
            return version_of(answer["ETag"])
        return self._quick.put(key, data, metadata, over)

    def _grown(self, key: str, descriptor: int, size: int, metadata: Mapping[str, str]) -> Growing | None:
        """What was sent of it while it was written, where that is of use."""
        if size > self._sizes.put:
            holds(descriptor, size)
            if not metadata:
                return self._behind.take(key)
        self._behind.drop(key)
        return None

    def _ours(self, key: str, mark: str) -> Object | None:
        with suppress(OSError):
            there = self._head(key, tries=1)
            return there if there.metadata.get(WRITE) == mark else None
        return None

    def _stored(self, key: str, size: int, metadata: Mapping[str, str], version: bytes) -> Object:
        """What a find will say of it. No store tells the time of an object that it takes; when it cannot be asked for that either,
        the object is there all the same."""
        made = int(time.time()) * 10**9
        with suppress(OSError):
            there = self._head(key, tries=1)
            if there.version == version:
                made = there.mtime_ns
        return Object(key, size, made, version, dict(metadata))

    def _delete(self, key: str) -> None:
        with suppress(FileNotFoundError):
            self._attempts.run(
                "DeleteObject", key, lambda _before: self._boto.delete_object(Bucket=self._bucket, Key=key)
            )

    def _delete_batch(self, keys: Sequence[str]) -> None:
        named = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
        try:
            answer = self._attempts.run(
                "DeleteObjects", keys[0], lambda _before: self._boto.delete_objects(Bucket=self._bucket, Delete=named)
            )
            failed: Sequence[str] = [error["Key"] for error in answer.get("Errors", ())]
        except PermissionError:  # BOS refuses it to keys that it lent
            failed = keys
        for key in failed:  # which one by one is either done, or refused with its own reason
            self._delete(key)


def _condition(over: bytes | None) -> dict[str, str]:
    if over is None:
        return {}
    return {"IfMatch": quoted(over)} if over else {"IfNoneMatch": "*"}
