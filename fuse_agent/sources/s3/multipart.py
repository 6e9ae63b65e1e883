# SPDX-License-Identifier: Apache-2.0
"""Large objects, in parts: sent from an open file without being held in memory, or copied within the store."""

from __future__ import annotations

import errno
import os
from concurrent.futures import wait
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .bodies import Copy, Slice
from .journal import Begun
from .options import BEHIND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from ..base import Part as Known
    from ..rates import Gate
    from .attempts import Attempts
    from .journal import Journal

    Act = Callable[[str, "Part"], Mapping[str, Any]]

_MIB, _GIB = 1 << 20, 1 << 30
# The largest object of each size of parts: no object has more than 10,000.
_PARTS: Final = ((8 * _GIB, 8 * _MIB), (256 * _GIB, 64 * _MIB), (2048 * _GIB, 512 * _MIB))


# Of a part, by which it is known again.
_TOLD: Final = ("ETag", "ChecksumSHA256")


class Sizes(NamedTuple):
    """Objects above are handled in parts."""

    put: int = 16 * _MIB
    copy: int = 256 * _MIB  # S3 itself wants it above 5 GiB, but says nothing for as long as one copy takes
    first: int = BEHIND // 2  # parts of a file that still grows; later ones are larger


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


class Sent(NamedTuple):
    """Of a part, what the store has.

    :ivar sum: SHA-256
    :ivar told: by the store, by which it is known again
    """

    size: int
    sum: str
    told: Mapping[str, Any]


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
        holds(descriptor, size)
        return self._all(key, list(parts(size)), metadata, partial(self.send, key, descriptor), **over)

    def patch(
        self, key: str, descriptor: int, wanted: Sequence[Known], version: str, metadata: Mapping[str, str], **over: str
    ) -> str:
        """
        :param version: the quoted etag of what some parts are copied from
        :returns: the new etag
        """
        holds(descriptor, sum(part.size for part in wanted))
        copied = frozenset(number for number, part in enumerate(wanted, 1) if part.copied)

        def act(upload: str, part: Part) -> Mapping[str, Any]:
            if part.number in copied:
                return self._copy(key, key, version, upload, part)
            return self.send(key, descriptor, upload, part)

        numbered = [Part(number, one.offset, one.size) for number, one in enumerate(wanted, 1)]
        return self._all(key, numbered, metadata, act, **over)

    def copy(self, old: str, new: str, version: str, size: int, metadata: Mapping[str, str]) -> None:
        """
        :param version: the quoted etag of what is copied
        """
        self._all(new, list(parts(size)), metadata, partial(self._copy, old, new, version))

    def begin(self, key: str, metadata: Mapping[str, str], tries: int = 0) -> str:
        begun = self._run(
            "CreateMultipartUpload",
            key,
            lambda: self._boto.create_multipart_upload(Bucket=self._bucket, Key=key, Metadata=dict(metadata)),
            tries,
        )
        upload = str(begun["UploadId"])
        self._journal.begun(Begun(key, upload))
        return upload

    def send(self, key: str, descriptor: int, upload: str, part: Part) -> Mapping[str, Any]:
        self._gate.admit(part.size)
        return _told(self._sent(key, upload, part, lambda: Slice(descriptor, part.offset, part.size)))

    def send_copy(self, key: str, descriptor: int, upload: str, part: Part) -> Sent:
        """As it is at one moment, by one try: who writes goes on meanwhile."""
        self._gate.admit(part.size)
        copy = Copy(os.pread(descriptor, part.size, part.offset))
        told = self._sent(key, upload, part, copy.again, tries=1)
        return Sent(len(copy), copy.sum or sha256(copy.getbuffer()).hexdigest(), _told(told))

    def _sent(self, key: str, upload: str, part: Part, body: Callable[[], object], tries: int = 0) -> Any:
        def act() -> Any:
            return self._boto.upload_part(
                Bucket=self._bucket, Key=key, UploadId=upload, PartNumber=part.number, Body=body()
            )

        return self._run("UploadPart", key, act, tries, part.size)

    def _copy(self, old: str, new: str, version: str, upload: str, part: Part) -> Mapping[str, Any]:
        def act() -> Any:
            return self._boto.upload_part_copy(
                Bucket=self._bucket, Key=new, UploadId=upload, PartNumber=part.number,
                CopySource={"Bucket": self._bucket, "Key": old}, CopySourceIfMatch=version,
                CopySourceRange=f"bytes={part.offset}-{part.offset + part.size - 1}",
            )  # fmt: skip

        return _told(self._run("UploadPartCopy", new, act)["CopyPartResult"])

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
        self, key: str, wanted: Sequence[Part], metadata: Mapping[str, str], act: Act, **over: str
    ) -> str:  # fmt: skip
        return self.finish(key, self.begin(key, metadata), wanted, act, **over)

    def finish(self, key: str, upload: str, wanted: Sequence[Part], act: Act, **over: str) -> str:
        """What was begun; it is ended in any case.

        :param act: has the store have a part, and says by what it is known
        :returns: the new etag
        """
        try:
            done = self._parts(upload, wanted, act)
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

    def _parts(self, upload: str, wanted: Sequence[Part], act: Act) -> list[dict[str, Any]]:
        def one(part: Part) -> dict[str, Any]:
            return {"PartNumber": part.number, **act(upload, part)}

        work = [self._pool.submit(one, part) for part in wanted]
        try:
            return [each.result() for each in work]
        finally:  # none is on its way when the upload is ended
            for each in work:
                each.cancel()
            wait(work)

    def _run(self, operation: str, key: str, act: Callable[[], Any], tries: int = 0, sent: int = 0) -> Any:
        return self._attempts.run(operation, key, lambda _before: act(), tries, sent)


def _told(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: answer[name] for name in _TOLD if name in answer}


def holds(descriptor: int, size: int) -> None:
    """
    :raises OSError: of one that is shorter
    """
    staged = os.fstat(descriptor).st_size
    if staged < size:
        raise OSError(errno.EIO, f"the staged file has {staged} bytes, but should have {size}")
