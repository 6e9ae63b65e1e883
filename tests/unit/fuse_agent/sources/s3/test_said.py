# SPDX-License-Identifier: Apache-2.0
"""What is said to a store with each request: how objects are encrypted, who pays, and where they lie. Both clients say the same."""

from __future__ import annotations

import base64
import hashlib
import os
from typing import Any

import pytest
from paddleflow_fuse.sources.s3.multipart import Sizes
from paddleflow_fuse.sources.s3.options import Objects, read
from paddleflow_fuse.sources.s3.store import S3Store

from tests.support.kube_stub import Step, answer
from tests.support.s3_stub import found, listed, part, stored

from .conftest import Tried

RAW = bytes(range(32))
KEY = base64.b64encode(RAW).decode()
SUM = base64.b64encode(hashlib.md5(RAW, usedforsecurity=False).digest()).decode()
SSE, KMS = "x-amz-server-side-encryption", "x-amz-server-side-encryption-aws-kms-key-id"
CUSTOMER = "x-amz-server-side-encryption-customer"
COPIED = "x-amz-copy-source-server-side-encryption-customer"
BEGUN = answer(200, b"<R><UploadId>upload-1</UploadId></R>")
COMPLETE = answer(200, b"<R><ETag>&quot;v2&quot;</ETag></R>")
MADE = answer(200, b"<R><ETag>&quot;v2&quot;</ETag><LastModified>2015-10-21T07:28:00.000Z</LastModified></R>")


def opened(tried: Tried, **said: Any) -> S3Store:
    return tried.store(options=tried.stub.options._replace(objects=Objects(**said)), sizes=Sizes(put=8))


def everything(tried: Tried, store: S3Store, key: str) -> dict[str, dict[str, str]]:
    """The headers of each operation, by its name."""
    names = [
        "head",
        "get",
        "put",
        "after put",
        "head of copy",
        "copy",
        "begin",
        "part",
        "complete",
        "after parts",
        "list",
    ]
    steps: list[Step] = [
        found(3),
        part(b"abc", 3),
        stored(),
        found(3),
        found(3),
        MADE,
        BEGUN,
        stored(),
        COMPLETE,
        found(9),
        listed([]),
    ]
    tried.stub.steps += steps
    descriptor = os.memfd_create("staged")
    os.write(descriptor, b"abc" * 3)
    store.head(key)
    store.get(key, b"", 0, 3)
    store.put(key, descriptor, 3, {})
    store.copy(key, f"to {key}")
    store.put(key, descriptor, 9, {})
    list(store.list(""))
    os.close(descriptor)
    seen = tried.stub.seen[-len(steps) :]
    return {name: {head.lower(): value for head, value in one.headers} for name, one in zip(names, seen, strict=True)}


KEYS = pytest.mark.parametrize("key", ["key", "odd//"])


@KEYS
def test_who_says_nothing_says_nothing(tried: Tried, key: str) -> None:
    for one in everything(tried, opened(tried), key).values():
        assert not [
            name for name in one if "encryption" in name or name in ("x-amz-request-payer", "x-amz-storage-class")
        ]


@KEYS
def test_the_store_encrypts_with_its_own_key(tried: Tried, key: str) -> None:
    told = everything(tried, opened(tried, encryption="SSE-S3"), key)
    assert {name for name, one in told.items() if one.get(SSE) == "AES256"} == {"put", "copy", "begin"}


@KEYS
def test_the_store_encrypts_with_a_key_of_its_key_service(tried: Tried, key: str) -> None:
    told = everything(tried, opened(tried, encryption="SSE-KMS", kms_key="a-key"), key)
    saying = {name for name, one in told.items() if (one.get(SSE), one.get(KMS)) == ("aws:kms", "a-key")}
    assert saying == {"put", "copy", "begin"}


@KEYS
def test_who_has_the_key_shows_it_each_time(tried: Tried, key: str) -> None:
    told = everything(tried, opened(tried, encryption="SSE-C", customer_key=KEY), key)
    shown = {
        name for name, one in told.items()
        if (one.get(f"{CUSTOMER}-algorithm"), one.get(f"{CUSTOMER}-key"), one.get(f"{CUSTOMER}-key-md5")) == ("AES256", KEY, SUM)
    }  # fmt: skip
    assert shown == set(told) - {"list", "complete"}
    assert told["copy"][f"{COPIED}-key"] == KEY
    assert SSE not in told["put"]


@KEYS
def test_who_pays_says_so_each_time(tried: Tried, key: str) -> None:
    told = everything(tried, opened(tried, requester_pays=True), key)
    assert {one.get("x-amz-request-payer") for one in told.values()} == {"requester"}


@KEYS
def test_new_objects_have_their_class(tried: Tried, key: str) -> None:
    told = everything(tried, opened(tried, storage_class="STANDARD_IA"), key)
    assert {name for name, one in told.items() if one.get("x-amz-storage-class") == "STANDARD_IA"} == {
        "put",
        "copy",
        "begin",
    }


@KEYS
def test_new_objects_have_a_checksum(tried: Tried, key: str) -> None:
    told = everything(tried, opened(tried, checksums=True), key)
    wanted = base64.b64encode(hashlib.sha256(b"abc").digest()).decode()
    assert told["put"]["x-amz-checksum-sha256"] == wanted
    assert told["begin"]["x-amz-checksum-algorithm"] == "SHA256"


def test_properties_are_what_is_said() -> None:
    given = {"endpoint": "e", "accessKey": "a", "secretKey": "b", "encryption": "SSE-C", "customerKey": KEY}
    objects = read("s3://bucket", {**given, "requesterPays": True, "checksums": True, "storageClass": "COLD"}).objects
    assert objects[:] == ("SSE-C", "", KEY, True, True, "COLD")
    assert KEY not in repr(read("s3://bucket", given))
