# SPDX-License-Identifier: Apache-2.0
"""A store that fails: what is asked how often, and what a user is told. A key that ends with two slashes goes by the other client."""

from __future__ import annotations

import errno
import os

import pytest
from paddleflow_fuse.sources.base import ChangedError
from paddleflow_fuse.sources.s3.credentials import Credentials
from paddleflow_fuse.sources.s3.multipart import Sizes
from paddleflow_fuse.sources.s3.options import Patience

from tests.support import kube_stub
from tests.support.kube_stub import Step, answer, reset
from tests.support.ports import held_port
from tests.support.s3_stub import Stalled, cut, found, listed, part, refused, stored, torn
from tests.support.source_suite import failing

from .conftest import Tried

KEYS = pytest.mark.parametrize("key", ["key", "odd//"])


@KEYS
def test_what_is_busy_is_asked_again(tried: Tried, key: str) -> None:
    tried.stub.steps += [refused(503, "SlowDown"), refused(500, "InternalError"), part(b"abc", 3)]
    assert tried.store().get(key, b"v1", 0, 10) == b"abc"
    assert tried.requests == [("GetObject", 503, False), ("GetObject", 500, True), ("GetObject", 200, True)]
    first, second = tried.waits
    assert 0.05 <= first <= 0.1 <= second <= 0.2


@KEYS
def test_what_stays_busy_is_given_up(tried: Tried, key: str) -> None:
    tried.stub.steps += [refused(503, "SlowDown", "too many")] * 4
    with pytest.raises(
        OSError, match=r"GetObject of '\S+' in bucket 'bucket' failed after 4 tries with 503 SlowDown: too many; see"
    ) as told:
        tried.store().get(key, b"", 0, 10)
    assert told.value.errno == errno.EIO
    assert len(tried.stub.seen) == 4


@pytest.mark.parametrize(("after", "least"), [("0", 0.1), ("1", 1.0), ("7", 7.0), ("soon", 1.0)])
def test_who_asks_for_time_is_given_it(tried: Tried, after: str, least: float) -> None:
    """obstore, which has the first try, does not say for how long."""
    tried.stub.steps += [refused(429), refused(429, Retry_After=after), part(b"abc", 3)]
    assert tried.store().get("key", b"", 0, 10) == b"abc"
    assert tried.waits[0] == 1.0
    assert least <= tried.waits[1] <= least + 0.2
    tried.stub.steps += [refused(429, Retry_After=after), part(b"abc", 3)]
    tried.store().get("odd//", b"", 0, 10)
    assert least / 2 <= tried.waits[2] <= least + 0.2


def test_who_asks_for_too_much_time_is_not_waited_for(tried: Tried) -> None:
    tried.stub.steps += [refused(503, "SlowDown", Retry_After="99")]
    with failing(errno.EIO):
        list(tried.store().list(""))
    assert (len(tried.stub.seen), tried.waits) == (1, [])


@KEYS
@pytest.mark.parametrize("step", [reset, cut(b"ab", 3), torn(b"ab", 3)])
def test_an_answer_that_breaks_off_is_asked_for_again(tried: Tried, key: str, step: Step) -> None:
    tried.stub.steps += [step, step, part(b"abc", 3)]
    assert tried.store().get(key, b"v1", 0, 10) == b"abc"
    assert len(tried.stub.seen) == 3
    tried.stub.steps += [step] * 4
    with failing(errno.EIO):
        tried.store().get(key, b"v1", 0, 10)
    assert len(tried.stub.seen) == 7


@KEYS
def test_an_answer_that_stops_is_cut_off(tried: Tried, key: str) -> None:
    stalled = Stalled(b"ab", 3)
    tried.stub.steps += [stalled, part(b"abc", 3), stalled, stalled]
    store = tried.store(patience=Patience(tries=2, silence=0.2))
    try:
        assert store.get(key, b"v1", 0, 10) == b"abc"
        with failing(errno.EIO):
            store.get(key, b"v1", 0, 10)
    finally:
        stalled.over.set()
    assert len(tried.stub.seen) == 4


@KEYS
@pytest.mark.parametrize(
    ("step", "code", "text"),
    [
        (refused(403, "AccessDenied"), errno.EACCES, "403 AccessDenied: because; let these keys do this"),
        (refused(403, "RequestTimeTooSkewed"), errno.EACCES, "set this machine's clock"),
        (refused(403, "InvalidObjectState"), errno.EIO, "restore it from the archive"),
        (refused(404, "NoSuchKey"), errno.ENOENT, "see whether it was removed"),
        (refused(404, "NoSuchBucket"), errno.EIO, "create the bucket, or correct"),  # its files are not gone
        (refused(403, "QuotaExceeded"), errno.EDQUOT, "raise the bucket's quota"),
        (refused(507, "XMinioStorageFull"), errno.ENOSPC, "give the store more room"),
        (refused(400, "XMinioAdminBucketQuotaExceeded"), errno.EDQUOT, "raise the bucket's quota"),
        (refused(400, "KeyTooLongError"), errno.ENAMETOOLONG, "take a shorter name"),
        (refused(400, "MetadataTooLarge"), errno.E2BIG, "fewer or shorter extended attributes"),
        (refused(400, "InvalidArgument"), errno.EIO, "400 InvalidArgument: because; see whether the store is well"),
        (refused(507, "StorageFull"), errno.ENOSPC, "give the store more room"),
        (refused(501, "NotImplemented"), errno.EIO, "501 NotImplemented"),
    ],
)
def test_what_is_refused_is_asked_once_and_told(tried: Tried, key: str, step: Step, code: int, text: str) -> None:
    tried.stub.steps += [step]
    with pytest.raises(OSError, match=text) as told:
        tried.store().get(key, b"", 0, 10)
    assert (told.value.errno, len(tried.stub.seen)) == (code, 1)
    assert f"{key!r} in bucket 'bucket'" in str(told.value)


@KEYS
def test_another_version_is_told(tried: Tried, key: str) -> None:
    tried.stub.steps += [refused(412, "PreconditionFailed"), part(b"abc", 3, etag="v2")]
    store = tried.store()
    for _both in range(2):  # also a store that knows no conditions
        with pytest.raises(ChangedError):
            store.get(key, b"v1", 0, 10)
    assert [seen.header("If-Match") for seen in tried.stub.seen] == ['"v1"'] * 2


@KEYS
def test_behind_the_end_there_is_nothing(tried: Tried, key: str) -> None:
    tried.stub.steps += [refused(416, "InvalidRange")]
    store = tried.store()
    assert store.get(key, b"v1", 10, 10) == b""
    assert store.get(key, b"v1", 10, 0) == b""
    assert len(tried.stub.seen) == 1


@KEYS
def test_another_part_than_was_asked_for_is_not_taken(tried: Tried, key: str) -> None:
    whole = answer(200, b"0123456789", {"ETag": '"v1"', "Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"})
    short = part(b"45", 10, 4)
    tried.stub.steps += [part(b"0123", 10), whole, short, part(b"4567", 10, 4)]
    assert tried.store().get(key, b"v1", 4, 4) == b"4567"
    tried.stub.steps += [whole, whole]  # obstore takes it for a failure
    assert tried.store().get("key", b"v1", 0, 10) == b"0123456789"


def test_what_cannot_be_reached_is_told(tried: Tried) -> None:
    with held_port() as port:
        store = tried.store(options=tried.stub.options._replace(endpoint=f"http://127.0.0.1:{port}"))
        for act in (lambda: store.get("key", b"", 0, 1), lambda: store.head("odd//"), lambda: store.delete(["key"])):
            with pytest.raises(TimeoutError, match=r"with no answer: .*see whether the endpoint is right"):
                act()
    assert tried.requests.count(("GetObject", 0, True)) == 3


def test_a_name_that_nobody_knows_is_told(tried: Tried) -> None:
    store = tried.store(
        options=tried.stub.options._replace(endpoint="http://store.invalid"), patience=Patience(tries=2)
    )
    for act in (lambda: store.get("key", b"", 0, 1), lambda: list(store.list(""))):
        with pytest.raises(TimeoutError, match=r"store\.invalid.*see whether the endpoint is right"):
            act()


class Rotating:
    """Other keys each time that they are asked for."""

    def __init__(self, *keys: str) -> None:
        self.keys = list(keys)

    def credentials(self) -> Credentials:
        key = self.keys.pop(0) if len(self.keys) > 1 else self.keys[0]
        return Credentials(key, "planted-secret", f"token-of-{key}", expires=4e9)


@KEYS
@pytest.mark.parametrize("step", [refused(400, "ExpiredToken"), refused(403, "InvalidAccessKeyId")])
def test_keys_that_are_refused_are_asked_for_anew(tried: Tried, key: str, step: Step) -> None:
    tried.stub.steps += [step, part(b"abc", 3), part(b"abc", 3)]
    store = tried.store(provider=Rotating("old", "new"))
    for _twice in range(2):
        assert store.get(key, b"", 0, 10) == b"abc"
    used = [seen.header("Authorization").split("Credential=")[1].split("/")[0] for seen in tried.stub.seen]
    assert used == ["old", "new", "new"]
    assert tried.stub.seen[1].header("X-Amz-Security-Token") == "token-of-new"
    assert tried.waits == []


def test_keys_that_stay_refused_are_not_asked_for_for_ever(tried: Tried) -> None:
    tried.stub.steps += [refused(400, "ExpiredToken")]
    with pytest.raises(PermissionError, match="400 ExpiredToken: because; renew the keys"):
        tried.store().get("key", b"", 0, 1)
    tried.stub.steps += [refused(403), refused(403)]  # a HEAD is not told why
    with failing(errno.EACCES):
        tried.store(provider=Rotating("one", "two", "three", "four")).head("key")


def test_a_listing_that_breaks_off_is_none(tried: Tried) -> None:
    tried.stub.steps += [listed(["a"], IsTruncated="true", NextContinuationToken="on"), *[refused(503, "SlowDown")] * 4]
    pages = tried.store().list("")
    assert [one.key for one in next(pages).objects] == ["a"]
    with failing(errno.EIO):
        next(pages)
    assert [seen.query.get("continuation-token") for seen in tried.stub.seen] == [None, *["on"] * 4]
    tried.stub.steps += [listed(["a"], IsTruncated="true")]
    with pytest.raises(OSError, match="see whether it knows ListObjectsV2"):
        list(tried.store().list(""))


@pytest.mark.parametrize("body", [b"Please log in", b"<html><p></html>", listed(["a"], when="soon")])
def test_an_answer_of_another_kind_is_not_taken(tried: Tried, body: bytes | Step) -> None:
    step = answer(200, body) if isinstance(body, bytes) else body
    tried.stub.steps += [step, listed(["a"])]
    assert [one.key for keys in tried.store().list("") for one in keys.objects] == ["a"]
    tried.stub.steps += [step] * 4
    with failing(errno.EIO):
        list(tried.store().list(""))


# --- what is written --------------------------------------------------------------------------


@pytest.fixture
def staged() -> int:
    descriptor = os.memfd_create("staged")
    os.write(descriptor, b"abc")
    return descriptor


@KEYS
def test_a_file_is_sent_again(tried: Tried, key: str, staged: int) -> None:
    tried.stub.steps += [refused(503, "SlowDown"), reset, stored("v2"), found(3, "v2")]
    made = tried.store().put(key, staged, 3, {"pfs-mode": "420"})
    os.close(staged)
    assert (made.version, made.size, made.mtime_ns) == (b"v2", 3, 1445412480 * 10**9)
    assert [seen.body for seen in tried.stub.seen] == [b"abc"] * 3 + [b""]
    assert {seen.header("x-amz-meta-pfs-mode") for seen in tried.stub.seen[:3]} == {"420"}


def test_a_file_that_was_stored_is_so_when_it_cannot_be_looked_at(tried: Tried, staged: int) -> None:
    tried.stub.steps += [stored("v2"), refused(503)]
    made = tried.store().put("key", staged, 3, {})
    os.close(staged)
    assert (made.version, made.mtime_ns % 10**9, made.mtime_ns > 0) == (b"v2", 0, True)


@KEYS
def test_another_s_version_is_not_replaced(tried: Tried, key: str, staged: int) -> None:
    conditions = [
        (b"v1", 412, "PreconditionFailed"),
        (b"v1", 404, "NoSuchKey"),
    ]
    for over, status, code in [*conditions, (b"", 412, "PreconditionFailed")]:
        tried.stub.steps += [refused(status, code)]
        with pytest.raises(ChangedError):
            tried.store().put(key, staged, 3, {}, over)
    os.close(staged)
    assert [seen.header("If-Match") for seen in tried.stub.seen] == ['"v1"'] * 2 + [""]
    assert tried.stub.seen[2].header("If-None-Match") == "*"


@KEYS
@pytest.mark.parametrize("over", [b"", b"v1"])
def test_who_met_another_s_request_is_not_told_that_it_was_replaced(
    tried: Tried, key: str, staged: int, over: bytes
) -> None:
    """Another may have removed it, or have failed."""
    conflict = refused(409, "ConditionalRequestConflict")
    tried.stub.steps += [conflict, conflict, stored("v2"), found(3, "v2")]
    assert tried.store().put(key, staged, 3, {}, over).version == b"v2"
    tried.stub.steps += [conflict] * 4
    with failing(errno.EIO):
        tried.store().put(key, staged, 3, {}, over)


def ours(tried: Tried, etag: str = "v2") -> Step:
    """A HEAD of what the first write that was seen left there."""

    def answer(handler: kube_stub.Handler) -> None:
        found(3, etag, pfs_write=marks(tried)[0])(handler)

    return answer


def marks(tried: Tried) -> list[str]:
    return [mark for seen in tried.stub.seen if (mark := seen.header("x-amz-meta-pfs-write"))]


@KEYS
def test_our_own_write_whose_answer_was_lost_is_known(tried: Tried, key: str, staged: int) -> None:
    tried.stub.steps += [reset, refused(412, "PreconditionFailed"), ours(tried), ours(tried)]
    made = tried.store().put(key, staged, 3, {}, b"v1")
    assert (made.version, made.metadata) == (b"v2", {})
    tried.stub.steps += [reset, refused(412, "PreconditionFailed"), found(3, "v3", pfs_write="another")]
    with pytest.raises(ChangedError):
        tried.store().put(key, staged, 3, {}, b"v1")
    os.close(staged)


BEGUN = answer(200, b"<R><UploadId>upload-1</UploadId></R>")
COMPLETE = answer(200, b"<R><ETag>&quot;v2&quot;</ETag></R>")
DONE = answer(204, b"")


def test_an_upload_that_fails_is_ended(tried: Tried, staged: int) -> None:
    tried.stub.steps += [BEGUN, refused(403, "AccessDenied"), DONE, refused(404)]
    with pytest.raises(PermissionError, match="UploadPart of 'key'"):
        tried.store(sizes=Sizes(put=2)).put("key", staged, 3, {})
    os.close(staged)
    assert tried.stub.asked() == ["POST", "PUT", "DELETE", "HEAD"]
    assert tried.stub.seen[2].query["uploadId"] == "upload-1"


def test_the_failure_is_told_also_when_the_upload_cannot_be_ended(tried: Tried, staged: int) -> None:
    tried.stub.steps += [BEGUN, *[refused(503, "SlowDown")] * 4, refused(500), refused(503)]
    with pytest.raises(OSError, match="UploadPart of 'key' in bucket 'bucket' failed after 4 tries with 503"):
        tried.store(sizes=Sizes(put=2)).put("key", staged, 3, {})
    os.close(staged)


def test_an_upload_whose_last_answer_was_lost_is_known(tried: Tried, staged: int) -> None:
    tried.stub.steps += [BEGUN, stored("p1"), reset, refused(404, "NoSuchUpload"), refused(404, "NoSuchUpload")]
    tried.stub.steps += [ours(tried), ours(tried)]
    made = tried.store(sizes=Sizes(put=2)).put("key", staged, 3, {}, b"v1")
    os.close(staged)
    assert made.version == b"v2"
    assert tried.stub.asked() == ["POST", "PUT", "POST", "POST", "DELETE", "HEAD", "HEAD"]
    assert tried.stub.seen[2].header("If-Match") == '"v1"'


def test_a_part_is_sent_again(tried: Tried, staged: int) -> None:
    tried.stub.steps += [BEGUN, reset, refused(500), stored("p1"), refused(503), COMPLETE, found(3, "v2")]
    assert tried.store(sizes=Sizes(put=2)).put("key", staged, 3, {}).version == b"v2"
    os.close(staged)
    assert [seen.body for seen in tried.stub.seen[1:4]] == [b"abc"] * 3


def test_a_copy_that_failed_behind_a_good_status_is_made_again(tried: Tried) -> None:
    failed = answer(200, b"<Error><Code>InternalError</Code><Message>m</Message></Error>")
    good = answer(200, b"<R><ETag>&quot;v2&quot;</ETag><LastModified>2015-10-21T07:28:00.000Z</LastModified></R>")
    tried.stub.steps += [found(3), failed, failed, good]
    tried.store().copy("a b", "c")
    assert tried.stub.asked() == ["HEAD", "PUT", "PUT", "PUT"]
    assert {seen.header("x-amz-copy-source") for seen in tried.stub.seen[1:]} == {"bucket/a%20b"}


def test_what_a_batch_could_not_remove_is_told(tried: Tried) -> None:
    errors = b"<DeleteResult><Error><Key>b</Key><Code>AccessDenied</Code></Error></DeleteResult>"
    tried.stub.steps += [answer(200, errors), refused(403, "AccessDenied")]
    with pytest.raises(PermissionError, match="DeleteObject of 'b'"):
        tried.store().delete(["a", "b"])
    tried.stub.steps += [refused(403, "AccessDenied"), DONE, refused(404, "NoSuchKey")]  # no batches at all
    tried.store().delete(["a", "b"])
    assert tried.stub.asked() == ["POST", "DELETE", "POST", "DELETE", "DELETE"]


def test_no_failure_tells_a_secret(tried: Tried) -> None:
    store = tried.store(patience=Patience(tries=1))
    for step in (refused(403, "SignatureDoesNotMatch"), refused(500), reset):
        for key in ("key", "odd//"):
            tried.stub.steps += [step]
            with pytest.raises(OSError) as told:  # noqa: PT011 (whichever)
                store.get(key, b"", 0, 1)
            assert "planted-secret" not in f"{told.value!r} {store!r} {tried.stub.options!r}"
