# SPDX-License-Identifier: Apache-2.0
"""A bucket of a real server as a source, and what large, many and odd objects are to it."""

from __future__ import annotations

import errno
import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from paddleflow_fuse.metrics import Request
from paddleflow_fuse.sources import objects
from paddleflow_fuse.sources.base import ChangedError, Source, quiet
from paddleflow_fuse.sources.make import Wanted, make
from paddleflow_fuse.sources.objects import ObjectSource
from paddleflow_fuse.sources.s3.multipart import Sizes
from paddleflow_fuse.sources.s3.options import Options
from paddleflow_fuse.sources.s3.store import S3Store

from tests.support.minio import KMS_KEY, Minio
from tests.support.source_suite import SourceSuite, XattrSuite, content, failing, names, store

MIB = 1 << 20
_OK = 200


class Requests(Counter[str]):
    """How many were answered, by S3's names. A server that has too much to do sends some away, which are made again."""

    def __call__(self, one: Request) -> None:
        if one.code == _OK:
            self[one.name] += 1


def split(bucket: Options, server: Minio, **properties: Any) -> Source:
    assert bucket.credentials is not None
    keys = {"accessKey": bucket.credentials.key, "secretKey": bucket.credentials.secret}
    given = {"endpoint": server.url, "s3ForcePathStyle": True, **keys, **properties}
    return make(Wanted(f"s3://{bucket.bucket}", given, ""), quiet)


@pytest.fixture
def requests() -> Requests:
    return Requests()


@pytest.fixture
def there(bucket: Options, requests: Requests) -> Iterator[S3Store]:
    made = S3Store(bucket, sizes=Sizes(put=5 * MIB, copy=5 * MIB), on_request=requests)
    yield made
    made.close()


@pytest.fixture
def source(there: S3Store) -> Iterator[ObjectSource]:
    made = ObjectSource(there)
    yield made
    made.close()


class TestPlain(SourceSuite):
    pass


class TestSplit(SourceSuite):
    """As a worker has it: asked here and in a helper."""

    @pytest.fixture
    def source(self, bucket: Options, server: Minio) -> Iterator[Source]:
        made = split(bucket, server)
        yield made
        made.close()


class TestSplitKept(XattrSuite):
    @pytest.fixture
    def source(self, bucket: Options, server: Minio) -> Iterator[Source]:
        made = split(bucket, server, persistAttributes=True)
        yield made
        made.close()


class TestKept(XattrSuite):
    @pytest.fixture
    def source(self, bucket: Options) -> Iterator[Source]:
        source = ObjectSource(S3Store(bucket), "below/here", objects.Options(persist=True))
        yield source
        source.close()


@contextmanager
def staged(data: bytes) -> Iterator[int]:
    descriptor = os.memfd_create("staged")
    try:
        os.write(descriptor, data)
        yield descriptor
    finally:
        os.close(descriptor)


def begun(server: Minio, bucket: Options, key: str) -> list[str]:
    """Uploads of a key that nobody ended."""
    told = server.client.list_multipart_uploads(Bucket=bucket.bucket, Prefix=key)
    return [one["UploadId"] for one in told.get("Uploads", ())]


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


@pytest.mark.parametrize("size", [3 * MIB, 5 * MIB + 1, 40 * 10**6])
def test_large_files_are_stored_and_read_whole(there: S3Store, requests: Requests, size: int) -> None:
    data = noise(size)
    with staged(data) as descriptor:
        made = there.put("large", descriptor, size, {"pfs-mode": "416"})
    assert there.head("large") == made
    assert (made.size, made.metadata) == (size, {"pfs-mode": "416"})
    assert there.get("large", made.version, 0, size + 1) == data
    assert there.get("large", made.version, size - 7, 20 * MIB) == data[-7:]
    parts = -(-size // (8 * MIB)) if size > 5 * MIB else 0
    assert (requests["UploadPart"], requests["PutObject"]) == (parts, 0 if parts else 1)


def test_a_small_file_is_read_by_one_request(there: S3Store, requests: Requests) -> None:
    with staged(b"small") as descriptor:
        made = there.put("small", descriptor, 5, {})
    requests.clear()
    assert there.get("small", made.version, 0, MIB) == b"small"
    assert requests == {"GetObject": 1}


def test_what_was_received_is_not_copied(there: S3Store) -> None:
    with staged(b"x" * MIB) as descriptor:
        there.put("a", descriptor, MIB, {})
    assert isinstance(there.get("a", b"", 0, MIB), memoryview)


def test_who_expects_a_version_replaces_no_other_in_parts(there: S3Store, server: Minio, bucket: Options) -> None:
    size = 6 * MIB
    with staged(noise(size)) as descriptor:
        first = there.put("a", descriptor, size, {}, b"")
        for over in (b"", b"another"):
            with pytest.raises(ChangedError):
                there.put("a", descriptor, size, {}, over)
        there.put("a", descriptor, size, {}, first.version)
        with pytest.raises(ChangedError):  # what is not there any more
            there.put("gone", descriptor, 10, {}, first.version)
        with pytest.raises(ChangedError):
            there.put("gone", descriptor, size, {}, first.version)
    assert [begun(server, bucket, key) for key in ("a", "gone")] == [[], []]


def test_nothing_of_an_upload_that_failed_stays(there: S3Store, server: Minio, bucket: Options) -> None:
    with staged(b"x" * 6 * MIB) as descriptor, failing(errno.EIO):
        there.put("short", descriptor, 7 * MIB, {})
    assert begun(server, bucket, "short") == []
    assert [keys.objects for keys in there.list("")] == [[]]


def test_an_upload_is_ended_also_when_it_is_gone(there: S3Store, server: Minio, bucket: Options) -> None:
    upload, other = (
        server.client.create_multipart_upload(Bucket=bucket.bucket, Key="key")["UploadId"] for _one in range(2)
    )
    for _time in range(2):
        there.abort("key", upload)
        assert begun(server, bucket, "key") == [other]


def test_a_large_file_is_copied_in_parts_with_what_is_kept_of_it(there: S3Store, requests: Requests) -> None:
    data = noise(17 * MIB)
    with staged(data) as descriptor:
        there.put("a", descriptor, len(data), {"pfs-uid": "5"})
    there.copy("a", "b c/ä")
    there.copy("a", "d", {"pfs-uid": "6"})
    assert requests["UploadPartCopy"] == 6
    assert there.get("b c/ä", b"", 0, len(data)) == data
    assert [there.head(key).metadata for key in ("b c/ä", "d")] == [{"pfs-uid": "5"}, {"pfs-uid": "6"}]


ODD = (
    "a b",
    "a+b",
    "100%",
    "%41",
    "ä/größe",
    "日本",
    "tab\there",
    "bell\x07",
    "line\nend",
    "a?b#c&d=e",
    "'\"\\<>",
    "~!*()",
    "x" * 250,
)


@pytest.mark.parametrize("name", ODD)
def test_keys_are_what_they_are(there: S3Store, name: str) -> None:
    with staged(name.encode()) as descriptor:
        made = there.put(name, descriptor, len(name.encode()), {"pfs-uid": "5"})
    assert there.head(name) == made
    assert there.get(name, made.version, 0, 999) == name.encode()
    assert [[one.key for one in keys.objects] for keys in there.list("")] == [[name]]
    there.copy(name, f"{name}-copy")
    there.copy(f"{name}-copy", f"{name}-copy", {"pfs-uid": "6"})
    assert there.head(f"{name}-copy").metadata == {"pfs-uid": "6"}
    there.delete([name, f"{name}-copy"])
    assert [keys.objects for keys in there.list("")] == [[]]


def test_a_key_that_ends_with_a_slash_is_another(there: S3Store) -> None:
    with staged(b"file") as descriptor:
        there.put("a", descriptor, 4, {})
        there.put("a/", descriptor, 0, {"pfs-mode": "448"})
    assert (there.head("a").size, there.head("a/").size) == (4, 0)
    assert there.head("a/").metadata == {"pfs-mode": "448"}
    there.copy("a/", "b/")
    there.delete(["a/"])
    assert there.get("a", b"", 0, 9) == b"file"
    assert [(len(keys.objects), keys.prefixes) for keys in there.list("", "/")] == [(1, ["b/"])]


def test_a_name_that_the_store_refuses_is_refused(source: ObjectSource) -> None:
    with failing(errno.EINVAL):
        store(source, b"a//b", b"x")
    with failing(errno.EINVAL):
        store(source, b"a/../b", b"x")


def test_many_names_take_as_many_pages_as_they_must(there: S3Store, source: ObjectSource, requests: Requests) -> None:
    wanted = [b"folder/%04d" % index for index in range(2500)]
    with staged(b"") as descriptor, ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda path: there.put(path.decode(), descriptor, 0, {}), wanted))
    requests.clear()
    pages = [[one.name for one in page.listed] for page in source.list(b"folder")]
    assert [len(page) for page in pages] == [1000, 1000, 500]
    assert [b"folder/" + name for page in pages for name in page] == wanted
    assert requests == {"ListObjectsV2": 3}
    requests.clear()
    there.delete([path.decode() for path in wanted])
    assert requests == {"DeleteObjects": 3}
    assert [keys.objects for keys in there.list("")] == [[]]


def test_a_folder_of_many_files_is_renamed(source: ObjectSource, requests: Requests) -> None:
    for index in range(300):
        store(source, b"old/%d" % index, b"%d" % index)
    requests.clear()
    source.rename(b"old", b"new")
    assert names(source) == [b"new"]
    assert len(names(source, b"new")) == 300
    assert content(source, b"new/217") == b"217"
    assert (requests["CopyObject"], requests["DeleteObjects"], requests["DeleteObject"]) == (300, 1, 0)


def test_a_bucket_that_is_not_there_is_told(bucket: Options) -> None:
    lost = ObjectSource(S3Store(bucket._replace(bucket="not-there")))
    for act in (
        lambda: list(lost.list(b"")),
        lambda: lost.find(b""),
        lambda: lost.find(b"a"),
        lambda: lost.find_file(b"a"),
    ):
        with pytest.raises(
            OSError, match=r"'not-there' failed with 404 NoSuchBucket.*create the bucket, or corr"
        ) as told:
            act()
        assert told.value.errno == errno.EIO  # what is not there would be taken for removed
    lost.close()


# --- what a store has beside reading and writing -------------------------------------------------


def test_a_version_that_was_replaced_or_removed_is_read_on_where_the_store_keeps_it(
    there: S3Store, server: Minio, bucket: Options
) -> None:
    server.client.put_bucket_versioning(Bucket=bucket.bucket, VersioningConfiguration={"Status": "Enabled"})
    source = ObjectSource(there)
    first = store(source, b"sub/a", b"first")
    store(source, b"sub/a", b"other")
    store(source, b"sub/ab", b"first")  # of the same content, and another's
    with pytest.raises(ChangedError):
        source.read(b"sub/a", first.version, 0, 5)
    assert source.read_replaced(b"sub/a", first.version, 1, 3) == b"irs"
    source.remove(b"sub/a")
    assert source.read_replaced(b"sub/a", first.version, 0, 5) == b"first"
    with pytest.raises(ChangedError):
        source.read_replaced(b"sub/a", b"unheard-of", 0, 5)
    source.close()


def test_without_versions_what_was_replaced_is_gone(there: S3Store) -> None:
    source = ObjectSource(there)
    first = store(source, b"a", b"first")
    store(source, b"a", b"other")
    with pytest.raises(ChangedError):
        source.read_replaced(b"a", first.version, 0, 5)
    source.close()


ROLE = "arn:minio:iam:::role/whichever"


def test_keys_are_lent_by_sts_and_narrowed(server: Minio, bucket: Options) -> None:
    reading = {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": ["arn:aws:s3:::*"]}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [reading]})
    server.client.put_object(Bucket=bucket.bucket, Key="a", Body=b"content")
    lent = {"sts": True, "duration": 900, "roleArn": ROLE}
    for more, allowed in (({}, True), ({"acl": policy}, False)):
        source = split(bucket, server, **lent, **more)
        assert content(source, b"a") == b"content"
        assert source.find_file(b"a").size == 7
        if allowed:
            store(source, b"b", b"b")
        else:
            with failing(errno.EACCES):
                store(source, b"c", b"c")
        source.close()


def test_who_is_lent_nothing_is_told_at_the_first_question(server: Minio, bucket: Options) -> None:
    source = split(bucket, server, sts=True, duration=900, roleArn=ROLE, secretKey="planted-wrong")
    with pytest.raises(PermissionError, match="lends no keys") as told:
        source.find(b"")
    assert "planted-wrong" not in str(told.value)
    source.close()


@pytest.mark.parametrize("how", [{"encryption": "SSE-S3"}, {"encryption": "SSE-KMS", "kmsKeyId": KMS_KEY}])
def test_objects_are_encrypted_as_was_said(server: Minio, bucket: Options, how: dict[str, str]) -> None:
    source = split(bucket, server, **how)
    store(source, b"a", b"content")
    source.rename(b"a", b"b")
    assert content(source, b"b") == b"content"
    head = server.client.head_object(Bucket=bucket.bucket, Key="b")
    assert head["ServerSideEncryption"] == ("aws:kms" if "kmsKeyId" in how else "AES256")
    assert head.get("SSEKMSKeyId", "").endswith(how.get("kmsKeyId", ""))
    source.close()


def test_objects_have_their_class_and_a_checksum(server: Minio, bucket: Options) -> None:
    source = split(bucket, server, storageClass="REDUCED_REDUNDANCY", checksums=True, requesterPays=True)
    for name, size in ((b"small", 10), (b"large", 17 * MIB)):
        store(source, name, noise(size))
        assert content(source, name) == noise(size)
        head = server.client.head_object(Bucket=bucket.bucket, Key=name.decode(), ChecksumMode="ENABLED")
        assert (head["StorageClass"], bool(head["ChecksumSHA256"])) == ("REDUCED_REDUNDANCY", True)
    source.close()


def test_a_key_of_1024_bytes_is_a_file_like_any_other(there: S3Store) -> None:
    source = ObjectSource(there)
    path = b"/".join([b"x" * 200] * 4 + [b"y" * 220])
    assert len(path) == 1024
    store(source, path, b"deep")
    assert content(source, path) == b"deep"
    assert names(source, path.rpartition(b"/")[0]) == [b"y" * 220]
    with failing(errno.ENAMETOOLONG):
        store(source, path + b"z", b"too deep")
    source.close()
