# SPDX-License-Identifier: Apache-2.0
"""Stores that take no conditional writes."""

from __future__ import annotations

import errno

import pytest
from paddleflow_fuse.cli.show import status
from paddleflow_fuse.metrics import Metrics, Request
from paddleflow_fuse.sources.base import ChangedError, Part, RefusedError
from paddleflow_fuse.sources.s3.conditions import LACKS
from paddleflow_fuse.sources.s3.multipart import Sizes

from tests.support.kube_stub import Step, answer
from tests.support.s3_stub import found, refused, stored
from tests.support.source_suite import failing

from .conftest import Tried

REFUSALS = [refused(501, "NotImplemented"), refused(400, "InvalidArgument"), refused(400)]
BEGUN = answer(200, b"<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
COMPLETE = answer(200, b"<CompleteMultipartUploadResult><ETag>&quot;v2&quot;</ETag></CompleteMultipartUploadResult>")
GONE = refused(404)


def conditions(tried: Tried) -> list[str]:
    """Of what was written, each."""
    names = ("If-None-Match", "If-Match")
    told = [{name.title(): text for name, text in seen.headers} for seen in tried.stub.seen if seen.method == "PUT"]
    return [next((one[name] for name in names if name in one), "") for one in told]


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize(("over", "there"), [(b"", GONE), (b"v1", found(3, "v1"))])
def test_it_is_looked_before_and_said_once(
    tried: Tried, staged: int, refusal: Step, over: bytes, there: Step, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[Request] = []
    store = tried.store(on_request=told.append)
    tried.stub.steps += [refusal, there, stored("v2"), found(3, "v2")]
    assert store.put("key", staged, 3, {}, over).version == b"v2"
    tried.stub.steps += [there, stored("v2"), found(3, "v2")]
    assert store.put("key", staged, 3, {}, over).version == b"v2"
    assert [bool(one) for one in conditions(tried)] == [True, False, False]
    assert [one.lacks for one in told if one.lacks] == [LACKS]
    assert [record.message.count("takes no conditional writes") for record in caplog.records] == [1]


@pytest.mark.parametrize(("over", "there"), [(b"", found(3, "other")), (b"v1", found(3, "other")), (b"v1", GONE)])
def test_what_another_wrote_is_not_replaced(tried: Tried, staged: int, over: bytes, there: Step) -> None:
    tried.stub.steps += [REFUSALS[0], there]
    with pytest.raises(ChangedError):
        tried.store().put("key", staged, 3, {}, over)
    assert len(conditions(tried)) == 1


def test_what_is_refused_for_what_it_is_says_nothing_of_conditions(tried: Tried, staged: int) -> None:
    store = tried.store()
    tried.stub.steps += [refused(400, "InvalidArgument"), GONE, refused(400, "InvalidArgument")]
    with pytest.raises(RefusedError, match="InvalidArgument"):
        store.put("key", staged, 3, {}, b"")
    tried.stub.steps += [stored("v2"), found(3, "v2")]
    store.put("key", staged, 3, {}, b"")
    assert [bool(one) for one in conditions(tried)] == [True, False, True]


@pytest.mark.parametrize(
    "code", ["MetadataTooLarge", "BadDigest", "XMinioAdminBucketQuotaExceeded", "ExpiredToken", "KeyTooLongError"]
)
def test_what_has_another_reason_is_not_tried_without(tried: Tried, staged: int, code: str) -> None:
    tried.stub.steps += [refused(400, code)]
    with pytest.raises(OSError, match=code):
        tried.store().put("key", staged, 3, {}, b"")


@pytest.mark.parametrize("how", ["put", "patch"])
def test_what_is_sent_in_parts_is_sent_again(tried: Tried, staged: int, how: str) -> None:
    sent = [BEGUN, stored("part")]
    look = [GONE] if how == "put" else [found(3, "v1")]
    tried.stub.steps += [*sent, REFUSALS[0], answer(204, b""), found(3, "v1"), *look, *sent, COMPLETE, found(3, "v2")]
    store = tried.store(sizes=Sizes(put=2))
    parts = [Part(0, 3, False)]
    made = store.put("key", staged, 3, {}, b"") if how == "put" else store.patch("key", staged, parts, b"v1", {}, b"v1")
    assert made.version == b"v2"


def test_a_write_without_condition_is_refused_as_it_was(tried: Tried, staged: int) -> None:
    tried.stub.steps += [REFUSALS[0]]
    with failing(errno.EIO):
        tried.store().put("key", staged, 3, {})


def test_the_status_says_it() -> None:
    metrics = Metrics()
    for _twice in range(2):
        metrics.request(Request("", 0, lacks=LACKS))
    assert metrics.lacks == {LACKS}
    assert metrics.samples() == Metrics().samples()
    told = {
        "serves": True, "worker_pid": 2, "pid": 1, "restarts": 0, "failures": 0, "ends": False,
        "mount": {"point": "/mnt", "lacks": []}, "worker": {"lacks": sorted(metrics.lacks)},
    }  # fmt: skip
    assert f"without {LACKS}" in status(told)
