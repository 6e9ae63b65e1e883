# SPDX-License-Identifier: Apache-2.0
"""Large objects, in parts: sent from an open file without being held in memory, or copied within the store."""

from __future__ import annotations

import errno
import io
import os
from concurrent.futures import wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .journal import Begun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from ..base import Part as Known
    from ..rates import Gate
    from .attempts import Attempts
    from .journal import Journal

_MIB, _GIB = 1 << 20, 1 << 30
# The largest object of each size of parts: no object has more than 10,000.
_PARTS: Final = ((8 * _GIB, 8 * _MIB), (256 * _GIB, 64 * _MIB), (2048 * _GIB, 512 * _MIB))


# Of a part, by which it is known again.
_TOLD: Final = ("ETag", "ChecksumSHA256")


class Sizes(NamedTuple):
    """Objects above are handled in parts."""

    put: int = 16 * _MIB
    copy: int = 256 * _MIB  # S3 itself wants it above 5 GiB, but says nothing for as long as one copy takes


SIZES = Sizes()


def part_size(size: int) -> int:
    return next((part for most, part in _PARTS if size <= most), _GIB)


class Part(NamedTuple):
    number: int
    offset: int
    size: int


def parts(size: int) -> Iterator[Part]:
    step = part_size(size)
    for number, offset in enumerate(range(0, size, step), 1):
        yield Part(number, offset, min(step, size - offset))


class Unfinished(NamedTuple):
    """An upload that was begun."""

    key: str
    upload: str
    begun_ns: int


class Multipart:
    def __init__(
        self, boto: Any, bucket: str, attempts: Attempts, pool: Executor, journal: Journal, gate: Gate
    ) -> None:
        """
        :param pool: has as many threads as parts may be on their way
        """
        self._boto, self._bucket, self._attempts, self._pool = boto, bucket, attempts, pool
        self._journal, self._gate = journal, gate

    def upload(self, key: str, descriptor: int, size: int, metadata: Mapping[str, str], **over: str) -> str:
        """
        :param over: boto3's conditions
        :returns: the new etag
        """
        _holds(descriptor, size)

        def act(upload: str, part: Part) -> Any:
            return self._send(key, upload, part, descriptor)

        return self._all(key, list(parts(size)), metadata, act, frozenset(), **over)

    def patch(
        self, key: str, descriptor: int, wanted: Sequence[Known], version: str, metadata: Mapping[str, str], **over: str
    ) -> str:
        """
        :param version: the quoted etag of what some parts are copied from
        :returns: the new etag
        """
        _holds(descriptor, sum(part.size for part in wanted))
        copied = frozenset(number for number, part in enumerate(wanted, 1) if part.copied)

        def act(upload: str, part: Part) -> Any:
            if part.number in copied:
                return self._copy(key, key, upload, part, version)
            return self._send(key, upload, part, descriptor)

        numbered = [Part(number, one.offset, one.size) for number, one in enumerate(wanted, 1)]
        return self._all(key, numbered, metadata, act, copied, **over)

    def copy(self, old: str, new: str, version: str, size: int, metadata: Mapping[str, str]) -> None:
        """
        :param version: the quoted etag of what is copied
        """
        wanted = list(parts(size))
        copied = frozenset(part.number for part in wanted)
        self._all(new, wanted, metadata, lambda upload, part: self._copy(old, new, upload, part, version), copied)

    def _send(self, key: str, upload: str, part: Part, descriptor: int) -> Any:
        body = Slice(descriptor, part.offset, part.size)
        return self._boto.upload_part(Bucket=self._bucket, Key=key, UploadId=upload, PartNumber=part.number, Body=body)

    def _copy(self, old: str, new: str, upload: str, part: Part, version: str) -> Any:
        answer = self._boto.upload_part_copy(
            Bucket=self._bucket, Key=new, UploadId=upload, PartNumber=part.number,
            CopySource={"Bucket": self._bucket, "Key": old}, CopySourceIfMatch=version,
            CopySourceRange=f"bytes={part.offset}-{part.offset + part.size - 1}",
        )  # fmt: skip
        return answer["CopyPartResult"]

    def abort(self, key: str, upload: str, tries: int = 0) -> None:
        """Also one that is not there any more."""
        with suppress(FileNotFoundError):
            self._run(
                "AbortMultipartUpload",
                key,
                lambda: self._boto.abort_multipart_upload(Bucket=self._bucket, Key=key, UploadId=upload),
                tries,
            )
        self._journal.ended(Begun(key, upload))

    def _all(
        self, key: str, wanted: Sequence[Part], metadata: Mapping[str, str], act: Callable[[str, Part], Any],
        copied: frozenset[int], **over: str,
    ) -> str:  # fmt: skip
        begun = self._run(
            "CreateMultipartUpload",
            key,
            lambda: self._boto.create_multipart_upload(Bucket=self._bucket, Key=key, Metadata=dict(metadata)),
        )
        upload = str(begun["UploadId"])
        self._journal.begun(Begun(key, upload))
        try:
            done = self._parts(key, upload, wanted, act, copied)
            answer = self._run(
                "CompleteMultipartUpload",
                key,
                lambda: self._boto.complete_multipart_upload(
                    Bucket=self._bucket, Key=key, UploadId=upload, MultipartUpload={"Parts": done}, **over
                ),
            )
        except BaseException:
            # The failure itself is what is told; an upload that stays is for `unfinished`.
            with suppress(OSError):
                self.abort(key, upload, tries=1)
            raise
        self._journal.ended(Begun(key, upload))
        return str(answer["ETag"])

    def _parts(
        self, key: str, upload: str, wanted: Sequence[Part], act: Callable[[str, Part], Any], copied: frozenset[int]
    ) -> list[dict[str, Any]]:
        def one(part: Part) -> dict[str, Any]:
            is_copied = part.number in copied
            sent = 0 if is_copied else part.size
            self._gate.admit(sent)
            operation = "UploadPartCopy" if is_copied else "UploadPart"
            told = self._run(operation, key, lambda: act(upload, part), sent=sent)
            return {"PartNumber": part.number, **{name: told[name] for name in _TOLD if name in told}}

        work = [self._pool.submit(one, part) for part in wanted]
        try:
            return [each.result() for each in work]
        finally:  # none is on its way when the upload is ended
            for each in work:
                each.cancel()
            wait(work)

    def _run(self, operation: str, key: str, act: Callable[[], Any], tries: int = 0, sent: int = 0) -> Any:
        return self._attempts.run(operation, key, lambda _before: act(), tries, sent)


def _holds(descriptor: int, size: int) -> None:
    staged = os.fstat(descriptor).st_size
    if staged < size:
        raise OSError(errno.EIO, f"the staged file has {staged} bytes, but should have {size}")


class Slice(io.RawIOBase):
    """A part of an open file, which others may read elsewhere at the same time."""

    def __init__(self, descriptor: int, offset: int, size: int) -> None:
        super().__init__()
        self._descriptor, self._offset, self._size, self._place = descriptor, offset, size, 0

    def __len__(self) -> int:
        return self._size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        self._place = max(0, start + offset)
        return self._place

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)[: max(0, self._size - self._place)]
        done = os.preadv(self._descriptor, [view], self._offset + self._place) if view else 0
        self._place += done
        return done
