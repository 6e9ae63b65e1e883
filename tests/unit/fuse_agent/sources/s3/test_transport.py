# SPDX-License-Identifier: Apache-2.0
"""How a bucket is reached: over TLS, with keys, and with how much at a time."""

from __future__ import annotations

import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from paddleflow_fuse.sources.base import quiet
from paddleflow_fuse.sources.objects import Keys
from paddleflow_fuse.sources.rates import Gate, Gates
from paddleflow_fuse.sources.s3 import multipart
from paddleflow_fuse.sources.s3.credentials import FileCredentials, Fixed, Keeper
from paddleflow_fuse.sources.s3.multipart import Sizes
from paddleflow_fuse.sources.s3.near import ElsewhereError, NearStore
from paddleflow_fuse.sources.s3.options import PATIENT, Patience
from paddleflow_fuse.sources.s3.store import S3Store

from tests.support.kube_stub import PATIENCE, Handler, Seen, Step, answer
from tests.support.s3_stub import KEYS, Stub, found, part, refused, s3_stub, stored

from .conftest import Tried


@pytest.fixture
def encrypted(tmp_path: Path) -> Iterator[Stub]:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
         "-subj", "/CN=store", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", tmp_path / "key", "-out", tmp_path / "crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    with s3_stub(context=context) as stub:
        yield stub


@pytest.mark.parametrize("key", ["key", "odd//"])
def test_a_certificate_is_verified_unless_it_is_not_to_be(encrypted: Stub, key: str) -> None:
    strict = S3Store(encrypted.options, patience=Patience(tries=3))
    with pytest.raises(OSError, match=r"UntrustedCertificate.*or set insecureSkipVerify"):
        strict.get(key, b"", 0, 1)
    strict.close()
    assert encrypted.seen == []
    encrypted.steps += [part(b"a", 1)]
    lax = S3Store(encrypted.options._replace(verify=False))
    assert lax.get(key, b"", 0, 1) == b"a"
    lax.close()


def test_missing_keys_are_no_missing_file(tried: Tried, tmp_path: Path) -> None:
    store = tried.store(provider=FileCredentials(tmp_path / "none"))
    for act in (lambda: store.head("key"), lambda: store.get("odd//", b"", 0, 1), lambda: store.delete(["key"])):
        with pytest.raises(PermissionError, match=r"there are no keys for the bucket: .*none"):
            act()
    assert tried.stub.seen == []


def test_so_many_parts_are_on_their_way_at_a_time_and_no_more(tried: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipart, "_PARTS", ((1 << 40, 10),))
    meeting, ninth = threading.Barrier(8), threading.Event()
    lock, now, most = threading.Lock(), 0, 0

    def choose(seen: Seen) -> Step:
        if seen.method == "POST":
            begun = answer(200, b"<R><UploadId>u</UploadId></R>")
            return begun if "uploads" in seen.query else answer(200, b"<R><ETag>&quot;v2&quot;</ETag></R>")
        return found(160, "v2") if seen.method == "HEAD" else sent

    def sent(handler: Handler) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        if now > 8:
            ninth.set()
            meeting.abort()
        else:
            meeting.wait(PATIENCE)  # fewer than so many would wait for ever
            ninth.wait(0.2)  # more would come meanwhile
        with lock:
            now -= 1
        stored("p")(handler)

    monkeypatch.setattr(tried.stub, "choose", choose)
    data = os.urandom(160)
    descriptor = os.memfd_create("staged")
    os.write(descriptor, data)
    made = tried.store(sizes=Sizes(put=10)).put("key", descriptor, 160, {})
    os.close(descriptor)
    assert (made.version, most) == (b"v2", 8)
    sent_parts = {int(seen.query["partNumber"]): seen.body for seen in tried.stub.seen if seen.method == "PUT"}
    assert b"".join(sent_parts[number] for number in sorted(sent_parts)) == data


def test_who_waits_for_a_store_is_let_go_when_it_is_closed(tried: Tried) -> None:
    begun = threading.Event()
    told: list[str] = []

    def busy(handler: Handler) -> None:
        answer(503, b"", {"Retry-After": "50"})(handler)
        begun.set()

    tried.stub.steps += [busy]
    store = S3Store(tried.stub.options)

    def list_all() -> None:
        try:
            list(store.list(""))
        except OSError as error:
            told.append(str(error))

    reader = threading.Thread(target=list_all)
    reader.start()
    assert begun.wait(PATIENCE)
    store.close()
    reader.join(PATIENCE)
    assert not reader.is_alive()
    assert len(told) == 1
    assert "was given up" in told[0]


class Counted(Gate):
    def __init__(self) -> None:
        super().__init__()
        self.passed = 0

    def admit(self, size: int) -> None:
        self.passed += size


def test_what_is_read_and_sent_passes_the_gates_once_however_often_it_is_tried(tried: Tried) -> None:
    read, write = Counted(), Counted()
    store = tried.store(gates=Gates(read, write), sizes=Sizes(put=8))
    begun = answer(200, b"<R><UploadId>upload-1</UploadId></R>")
    complete = answer(200, b"<R><ETag>&quot;v2&quot;</ETag></R>")
    descriptor = os.memfd_create("staged")
    os.write(descriptor, b"123456789")
    tried.stub.steps += [refused(503, "SlowDown"), part(b"abc", 3)]
    store.get("key", b"", 0, 3)
    assert (read.passed, write.passed) == (3, 0)
    tried.stub.steps += [refused(503, "SlowDown"), stored(), found(3)]
    store.put("key", descriptor, 3, {})
    assert (read.passed, write.passed) == (3, 3)
    tried.stub.steps += [begun, refused(503, "SlowDown"), stored(), complete, found(9)]
    store.put("key", descriptor, 9, {})
    os.close(descriptor)
    assert (read.passed, write.passed) == (3, 12)
    near_read, near_write = Counted(), Counted()
    near = NearStore(tried.stub.options, Keeper(Fixed(KEYS)), PATIENT, quiet, Gates(near_read, near_write))
    tried.stub.steps += [part(b"abc", 3)]
    near.get("key", b"", 0, 3)
    tried.stub.steps += [stored()]
    staged = os.memfd_create("staged")
    os.write(staged, b"abc")
    assert near.put("key", staged, 3, {}).size == 3
    os.close(staged)
    assert (near_read.passed, near_write.passed) == (3, 3)


def test_what_cannot_be_told_near_is_asked_elsewhere(tried: Tried) -> None:
    near = NearStore(tried.stub.options, Keeper(Fixed(KEYS)), PATIENT, quiet)
    listing = "<ListBucketResult><IsTruncated>false</IsTruncated>{}</ListBucketResult>"
    there = "<Contents><Key>key/a</Key><LastModified>2026-01-01T00:00:00Z</LastModified><ETag>v</ETag><Size>1</Size></Contents>"
    tried.stub.steps += [answer(200, listing.format("").encode()), answer(200, listing.format(there).encode())]
    assert list(near.list("key/", most=1)) == [Keys([], [])]
    for ask in (
        lambda: list(near.list("key/", most=1)),
        lambda: list(near.list("a//b/", most=1)),
        lambda: near.put("key", -1, 2 << 20, {}),
    ):
        with pytest.raises(ElsewhereError):
            ask()
    staged = os.memfd_create("staged")
    tried.stub.steps += [refused(503, "SlowDown")]
    with pytest.raises(ElsewhereError):
        near.put("key", staged, 0, {})
    os.close(staged)
    tried.stub.steps += [refused(404, "NoSuchKey")]
    with pytest.raises(FileNotFoundError):
        near.head("key")
