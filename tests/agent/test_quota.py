# SPDX-License-Identifier: Apache-2.0
"""Who writes more than a quota allows is told so at the latest when he closes: that of a bucket, and that of the disk where it is staged."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from paddleflow_fuse.sources.s3.options import Options

from tests.support.agent_command import Command
from tests.support.granted import until
from tests.support.minio import KEYS, Minio
from tests.support.places import file
from tests.support.source_suite import failing

MIB = 1 << 20


def limit(server: Minio, bucket: str, size: int) -> None:
    """By MinIO's own API; 0 for none."""
    body = json.dumps({"quota": size, "quotatype": "hard"}).encode()
    sign: Any = S3SigV4Auth  # none of these has annotations
    keys: Any = Credentials
    request: Any = AWSRequest
    asked = request("PUT", f"{server.url}/minio/admin/v3/set-bucket-quota?bucket={bucket}", data=body)
    sign(keys(KEYS.key, KEYS.secret), "s3", "us-east-1").add_auth(asked)
    ready = urllib.request.Request(asked.url, body, dict(asked.headers.items()), method="PUT")
    with urllib.request.urlopen(ready, timeout=30) as answer:
        assert answer.status == 200


def test_a_file_that_is_over_the_quota_of_its_bucket_fails_at_its_close_and_is_stored_when_there_is_room(
    agent: Command, server: Minio, bucket: Options
) -> None:
    agent.mount_bucket(bucket)
    server.client.put_object(Bucket=bucket.bucket, Key="file", Body=b"old")
    limit(server, bucket.bucket, MIB)
    data = os.urandom(2 * MIB)
    with file(agent.point / "small", os.O_WRONLY | os.O_CREAT) as small:
        os.write(small, b"within")
    one = os.open(agent.point / "file", os.O_WRONLY | os.O_TRUNC)
    assert os.write(one, data) == len(data)
    with failing(errno.EDQUOT):
        os.fsync(one)
    with failing(errno.EDQUOT):
        os.close(one)

    def stored(name: str) -> bytes:
        found: bytes = server.client.get_object(Bucket=bucket.bucket, Key=name)["Body"].read()
        return found

    assert stored("small") == b"within"
    assert stored("file") != data
    assert (agent.point / "file").read_bytes() == data, "nothing that was written is lost"
    until("it is told", lambda: "raise the bucket's quota" in agent.said())
    limit(server, bucket.bucket, 0)
    # It is tried again after pauses that grow, to a minute at most.
    until("it is stored after all", lambda: stored("file") == data, 120)


@contextmanager
def disk_with_quota(folder: Path, size: int) -> Iterator[Path]:
    """A Btrfs, whose quotas are root's as well."""
    image, root = folder / "disk.img", folder / "disk"
    root.mkdir()
    with image.open("wb") as out:
        out.truncate(1024 * MIB)
    subprocess.run(["mkfs.btrfs", "--quiet", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, root], check=True)
    try:
        for words in (
            ["quota", "enable", root],
            ["subvolume", "create", root / "limited"],
            ["qgroup", "limit", str(size), root / "limited"],
        ):
            subprocess.run(["btrfs", *map(str, words)], check=True, capture_output=True)
        yield root / "limited"
    finally:
        subprocess.run(["umount", "--lazy", root], check=True)
        image.unlink()


@pytest.mark.extended
@pytest.mark.parametrize("passthrough", ["true", "false"])
def test_what_a_quota_of_the_disk_cut_off_is_not_stored(
    agent: Command, source: Path, tmp_path: Path, passthrough: str
) -> None:
    with disk_with_quota(tmp_path, 64 * MIB) as disk:
        agent.cache = disk / "cache"
        agent.mount(f"local:/{source}", passthrough=passthrough)
        for name in ("whole", "torn"):
            (source / name).write_bytes(b"old")
        (agent.point / "whole").write_bytes(b"w" * MIB)
        with file(agent.point / "torn", os.O_RDONLY):
            one = os.open(agent.point / "torn", os.O_WRONLY | os.O_TRUNC)
            with failing(errno.EDQUOT):
                for _step in range(100):
                    os.write(one, os.urandom(MIB))
            with pytest.raises(OSError, match=r"quota|No space"):
                os.close(one)
        assert (source / "torn").read_bytes() == (agent.point / "torn").read_bytes() == b"old"
        assert (source / "whole").read_bytes() == b"w" * MIB
        until("there is room", lambda: written(agent.point / "torn", b"new"))
        assert (source / "torn").read_bytes() == b"new"
        agent("umount", str(agent.point))


def written(path: Path, data: bytes) -> bool:
    try:
        path.write_bytes(data)
    except OSError as error:
        if error.errno not in (errno.EDQUOT, errno.ENOSPC):
            raise
        return False
    return True
