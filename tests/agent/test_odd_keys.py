# SPDX-License-Identifier: Apache-2.0
"""Keys that no file can have, or that no other program would give a file, through a real mount of a bucket: what can be reached is
what it is called, and the rest is neither told of nor in anybody's way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from paddleflow_fuse.sources.s3.options import Options

from tests.support.agent_command import Command
from tests.support.granted import until
from tests.support.minio import KEYS, Minio

LONG = "/".join(["d" * 200] * 4 + ["e" * 220])  # 1,024 bytes, as many as a key may have
# Of a name of 256 bytes, and of keys whose parts are no names: the first part of each that no file has, in the folder where it lies.
HIDDEN = {
    "double//slash": "double//", "/begins": "/", "ends//": "ends//", "a/../b": "a/../", "..": "..", "../above": "../",
    "a/./b": "a/./", "./here": "./", "x" * 256: "x" * 256, "long/" + "y" * 300: "long/" + "y" * 300, "z" * 1024: "z" * 1024,
    "nul\x00x": "nul\x00x",
}  # fmt: skip
ODD = ["control\x01\x1f\x7f", "back\\slash", " spaces ", "\u00fc\u00e9", "e\u0301", "line\u2028", "-rf", "dot.", LONG]
SOON = {"entry-cache-expire": "0.1", "meta-cache-expire": "0.1"}


class Bucket:
    """Of a server that takes any key, as S3 does."""

    def __init__(self, url: str, client: Any) -> None:
        self.url, self.name, self.client = url, "odd-keys", client
        client.create_bucket(Bucket=self.name)

    def put(self, key: str) -> None:
        self.client.put_object(Bucket=self.name, Key=key, Body=key.encode()[:100])

    def keys(self) -> set[str]:
        return {one["Key"] for one in self.client.list_objects_v2(Bucket=self.name).get("Contents", [])}


@pytest.fixture
def lenient() -> Iterator[Bucket]:
    command = [sys.executable, "-m", "tests.support.moto_server"]
    make: Any = boto3.client
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        keys = {"aws_access_key_id": KEYS.key, "aws_secret_access_key": KEYS.secret}
        yield Bucket(url, make("s3", endpoint_url=url, region_name="us-east-1", **keys))
        server.stdin.close()
        server.wait(30)


def walked(folder: bytes) -> set[bytes]:
    """Paths of files below."""
    return {
        os.path.relpath(os.path.join(above, name), folder)
        for above, _folders, names in os.walk(folder)
        for name in names
    }


def test_what_no_file_can_be_is_left_out_counted_and_in_nobodys_way(agent: Command, lenient: Bucket) -> None:
    for key in (*HIDDEN, *ODD, "plain", "a/plain", "long/plain", "both", "both/within"):
        lenient.put(key)
    before = lenient.keys()
    agent.mount_bucket(Options(lenient.name, lenient.url, credentials=KEYS), options=SOON)
    root = os.fsencode(agent.point)
    seen = {"plain", "a/plain", "long/plain", "both/within", *ODD}
    assert walked(root) == {key.encode() for key in seen}
    for key in seen:
        with open(os.path.join(root, key.encode()), "rb") as one:
            assert one.read() == key.encode()[:100]
    files = agent.status()["worker"]["files"]
    assert (files["hidden_names"], files["shadowed_names"], files["shadowed"]) == (len(HIDDEN), 1, ["both"])
    assert {name[:100] for name in files["hidden"]} <= {name[:100] for name in HIDDEN.values()}
    assert agent.said().count("is left out of listings: rename it at the source to see it") == 1
    # What is changed here leaves them where they are; a folder that holds one is not empty.
    (agent.point / "a" / "plain").unlink()
    (agent.point / "plain").rename(agent.point / "moved")
    with pytest.raises(OSError, match="not empty"):
        (agent.point / "a").rmdir()
    assert lenient.keys() == before - {"a/plain", "plain"} | {"moved"}


def test_odd_names_are_made_read_moved_and_removed(agent: Command, server: Minio, bucket: Options) -> None:
    """By the keys that a real server takes, in both directions."""

    def keys() -> list[str]:
        found = server.client.list_objects_v2(Bucket=bucket.bucket)
        return sorted(one["Key"] for one in found.get("Contents", []))

    odd = [name for name in ODD if name != LONG]
    theirs, ours = odd[::2], odd[1::2]
    for key in theirs:
        server.client.put_object(Bucket=bucket.bucket, Key=key, Body=key.encode())
    agent.mount_bucket(bucket, options=SOON)
    root = os.fsencode(agent.point)
    for key in ours:
        Path(os.fsdecode(os.path.join(root, key.encode()))).write_bytes(key.encode())
    assert keys() == sorted(odd)
    assert sorted(os.listdir(root)) == sorted(key.encode() for key in odd)
    for key in odd:
        path = os.path.join(root, key.encode())
        with open(path, "rb") as one:
            assert one.read() == key.encode()
        os.rename(path, path + b" moved")
    assert keys() == sorted(f"{key} moved" for key in odd)
    # Another makes what cannot be reached beside a folder, which is counted when it is listed.
    server.client.put_object(Bucket=bucket.bucket, Key="both", Body=b"file")
    server.client.put_object(Bucket=bucket.bucket, Key="both/", Body=b"")
    until("the folder is there", lambda: os.path.isdir(os.path.join(root, b"both")))
    assert b"both" in os.listdir(root)
    assert agent.status()["worker"]["files"]["shadowed"] == ["both"]
    for key in odd:
        os.unlink(os.path.join(root, key.encode() + b" moved"))
    assert keys() == ["both", "both/"]
