# SPDX-License-Identifier: Apache-2.0
"""What is stored and removed by one request in the process that serves a mount, and what is left to the helper."""

from __future__ import annotations

import pytest
from paddleflow_fuse.metrics import Request
from paddleflow_fuse.sources.base import UNTOLD, ChangedError
from paddleflow_fuse.sources.s3.credentials import Fixed, Keeper
from paddleflow_fuse.sources.s3.near import ElsewhereError, NearStore
from paddleflow_fuse.sources.s3.options import PATIENT

from tests.support.kube_stub import Step, answer, reset
from tests.support.s3_stub import KEYS, found, refused, stored

from .conftest import Tried


@pytest.fixture
def told() -> list[Request]:
    return []


@pytest.fixture
def near(tried: Tried, told: list[Request]) -> NearStore:
    return NearStore(tried.stub.options, Keeper(Fixed(KEYS)), PATIENT, told.append)


def mark(tried: Tried) -> str:
    """Of the write that was seen last."""
    return next(text for seen in reversed(tried.stub.seen) if (text := seen.header("x-amz-meta-pfs-write")))


@pytest.mark.parametrize("over", [None, b"", b"v1"])
def test_a_small_file_is_stored_by_one_request(
    tried: Tried, near: NearStore, staged: int, told: list[Request], over: bytes | None
) -> None:
    tried.stub.steps += [stored("v2")]
    made = near.put("key", staged, 3, {"pfs-mode": "420"}, over)
    assert (made.version, made.size, made.metadata) == (b"v2", 3, {"pfs-mode": "420"})
    assert made.mtime_ns == UNTOLD
    (seen,) = tried.stub.seen
    assert (seen.method, seen.body, seen.header("x-amz-meta-pfs-mode")) == ("PUT", b"abc", "420")
    assert seen.header("If-None-Match") == ("*" if over == b"" else "")
    assert seen.header("If-Match") == ('"v1"' if over else "")
    assert bool(seen.header("x-amz-meta-pfs-write")) is (over is not None)
    assert [(one.name, one.code, one.sent) for one in told] == [("PutObject", 200, 3)]


@pytest.mark.parametrize("over", [b"", b"v1"])
def test_another_s_version_is_not_replaced(tried: Tried, near: NearStore, staged: int, over: bytes) -> None:
    tried.stub.steps += [refused(412, "PreconditionFailed")]
    with pytest.raises(ChangedError):
        near.put("key", staged, 3, {}, over)
    assert tried.stub.asked() == ["PUT"]


@pytest.mark.parametrize("failure", [reset, refused(503, "SlowDown"), refused(409, "OperationAborted")])
def test_a_write_of_which_nothing_is_known_is_known_again_by_who_tries_it_next(
    tried: Tried, near: NearStore, staged: int, failure: Step
) -> None:
    for others, expected in ((False, b"v2"), (True, None)):
        tried.stub.steps += [failure]
        with pytest.raises(ElsewhereError) as raised:
            near.put("key", staged, 3, {}, b"v1")
        assert raised.value.mark == mark(tried)
        there = found(3, "v2", pfs_write="another" if others else raised.value.mark)
        tried.stub.steps += [refused(412, "PreconditionFailed"), there, *([] if others else [there])]
        store = tried.store()
        if expected:
            assert store.put("key", staged, 3, {}, b"v1", raised.value.mark).version == expected
            assert mark(tried) == raised.value.mark
        else:
            with pytest.raises(ChangedError):
                store.put("key", staged, 3, {}, b"v1", raised.value.mark)


@pytest.mark.parametrize("refusal", [refused(501, "NotImplemented"), refused(400, "InvalidArgument")])
def test_a_store_that_refuses_conditions_is_tried_once(
    tried: Tried, near: NearStore, staged: int, refusal: Step
) -> None:
    tried.stub.steps += [refusal, stored("v2"), refused(503, "SlowDown")]
    for _time in range(2):
        with pytest.raises(ElsewhereError):
            near.put("key", staged, 3, {}, b"")
    assert near.put("key", staged, 3, {}).version == b"v2"
    for over in (None, b""):
        with pytest.raises(ElsewhereError):
            near.put("key", staged, 3, {}, over)
    assert tried.stub.asked() == ["PUT", "PUT", "PUT"]


@pytest.mark.parametrize("code", ["ExpiredToken", "RequestTimeout", "BadDigest"])
def test_what_has_another_reason_says_nothing_of_conditions(
    tried: Tried, near: NearStore, staged: int, code: str
) -> None:
    tried.stub.steps += [refused(400, code), stored("v2")]
    with pytest.raises(ElsewhereError):
        near.put("key", staged, 3, {}, b"")
    assert near.put("key", staged, 3, {}, b"").version == b"v2"


@pytest.mark.parametrize("step", [answer(204, b""), refused(404, "NoSuchKey")])
def test_one_is_removed_by_one_request(tried: Tried, near: NearStore, step: Step, told: list[Request]) -> None:
    tried.stub.steps += [step]
    near.delete(["folder/key"])
    assert [(seen.method, seen.path) for seen in tried.stub.seen] == [("DELETE", "/bucket/folder/key")]
    assert [one.name for one in told] == ["DeleteObject"]


def test_a_removal_that_failed_is_tried_elsewhere(tried: Tried, near: NearStore) -> None:
    tried.stub.steps += [refused(503, "SlowDown")]
    for key in ("key", "odd//key"):
        with pytest.raises(ElsewhereError):
            near.delete([key])
    assert tried.stub.asked() == ["DELETE"]
