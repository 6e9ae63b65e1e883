# SPDX-License-Identifier: Apache-2.0
"""A MinIO with its data in a folder of its own, on a loopback port."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import time
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from paddleflow_fuse.sources.s3.credentials import Credentials
from paddleflow_fuse.sources.s3.options import Options

from tests.support.binaries import built

KEYS = Credentials("planted-key", "planted-secret")
PATIENCE = 60.0
# By which it encrypts what it is told to.
KMS_KEY = "planted-kms"
_NUMBERS = itertools.count(1)


class Minio:
    """
    :ivar client: boto3's, of its administrator
    """

    def __init__(self, url: str) -> None:
        self.url = url
        make: Any = boto3.client
        configure: Any = Config
        self.client = make(
            "s3", endpoint_url=url, region_name="us-east-1", config=configure(s3={"addressing_style": "path"}),
            aws_access_key_id=KEYS.key, aws_secret_access_key=KEYS.secret,
        )  # fmt: skip

    def bucket(self) -> Options:
        """A new one, opened by options."""
        name = f"bucket-{next(_NUMBERS)}"
        self.client.create_bucket(Bucket=name)
        return Options(name, self.url, path_style=True, credentials=KEYS)


@contextlib.contextmanager
def minio(folder: Path, port: int = 0) -> Iterator[Minio]:
    """It is killed at the end. Made again with that folder and port, it is the same.

    :param port: 0 for any
    """
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "MINIO_UPDATE": "off", "MINIO_BROWSER": "off",
        "MINIO_KMS_SECRET_KEY": f"{KMS_KEY}:{b64encode(bytes(32)).decode()}",
        "MINIO_ROOT_USER": KEYS.key, "MINIO_ROOT_PASSWORD": KEYS.secret,
    }  # fmt: skip
    log = folder / "log"
    # It says which port it has.
    command = [str(built("minio") / "minio"), "server", "--address", f"127.0.0.1:{port}", str(folder / "data")]
    with log.open("wb") as output, subprocess.Popen(command, env=environment, stdout=output, stderr=output) as server:
        try:
            yield Minio(_ready(server, log))
        finally:
            server.kill()
            server.wait(PATIENCE)


def _ready(server: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < deadline:
        text = log.read_text(encoding="utf-8", errors="replace")
        url = next((word for word in text.split() if word.startswith("http://127.0.0.1:")), "")
        with contextlib.suppress(OSError):
            if url and urllib.request.urlopen(f"{url}/minio/health/ready", timeout=PATIENCE).status == 200:
                return url
        time.sleep(0.02)  # it announces nothing to whoever started it
    raise RuntimeError(f"MinIO did not become ready: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
