# SPDX-License-Identifier: Apache-2.0
"""Secrets are nowhere but where they have to be, and a store that is away does not fill the log."""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import boto3
import pytest
from paddleflow_fuse.sources.s3.options import Options

from tests.support.agent_command import Command
from tests.support.minio import KEYS, Minio, minio
from tests.support.shown import assert_nowhere
from tests.support.vault import SECRET_ID, stand_in

READERS = 300
WRONG = "neither-this-nor-that-0123456789"
TALKS = {"log-level": "DEBUG"}


def test_no_secret_is_shown_anywhere(agent: Command, server: Minio, bucket: Options) -> None:
    """While it lists, reads, writes and fails, and all of it is logged."""
    agent.mount_bucket(bucket, options=TALKS)
    (agent.point / "file").write_bytes(b"content")
    assert (agent.point / "file").read_bytes() == b"content"
    assert os.listdir(agent.point) == ["file"]
    server.client.delete_bucket_policy(Bucket=bucket.bucket)
    with pytest.raises(PermissionError):
        os.mkfifo(agent.point / "pipe")
    assert " debug MKNOD of node" in agent.said()
    assert_nowhere(agent, (KEYS.secret, "Signature=", "Security-Token"))


def test_keys_that_are_wrong_are_told_without_them(agent: Command, bucket: Options) -> None:
    said = agent.mount_bucket(bucket, options=TALKS, secrets={"accessKey": KEYS.key, "secretKey": WRONG}, code=1)
    assert WRONG not in said
    assert WRONG not in agent.said()
    assert said.count("correct secretKey") == 1, said


def test_keys_that_became_wrong_are_told_by_the_status_until_there_are_others(
    agent: Command, server: Minio, bucket: Options
) -> None:
    for name in ("first", "second"):
        server.client.put_object(Bucket=bucket.bucket, Key=name, Body=b"content")
    agent.mount_bucket(bucket)
    assert agent.status()["worker"]["refused"] == ""
    secrets = agent.folder / "secrets.json"
    right = secrets.read_text()
    secrets.write_text(json.dumps({**json.loads(right), "secretKey": WRONG}))
    with pytest.raises(PermissionError):
        (agent.point / "first").read_bytes()
    assert "failed with 403" in agent.status()["worker"]["refused"]
    assert "its store refused what it was asked last" in agent("status", str(agent.point)).stdout
    secrets.write_text(right)
    assert (agent.point / "second").read_bytes() == b"content"
    assert agent.status()["worker"]["refused"] == ""


def test_a_store_that_is_away_is_a_few_lines_however_many_read(agent: Command, tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    with ExitStack() as stack:
        server = stack.enter_context(minio(tmp_path / "server"))
        bucket = server.bucket()
        for index in range(50):
            server.client.put_object(Bucket=bucket.bucket, Key=f"file-{index}", Body=b"x" * 1000)
        agent.mount_bucket(bucket, options={"deadline": "5"})
        assert len(os.listdir(agent.point)) == 50
        before = len(agent.said().splitlines())
        stack.close()  # it goes away
        with ThreadPoolExecutor(100) as pool:
            failed = list(pool.map(lambda index: failure(agent.point / f"file-{index % 50}"), range(READERS)))
    assert all(failed)
    lines = agent.said().splitlines()[before:]
    assert 1 <= len(lines) <= 30, "\n".join(lines[:40])
    assert any(server.url.rpartition(":")[2] in line or bucket.bucket in line for line in lines), lines
    subprocess.run(["umount", "--lazy", str(agent.point)], check=True)


def failure(path: Path) -> int:
    try:
        path.read_bytes()
    except OSError as error:
        return error.errno or 0
    return 0


def lent(server: Minio) -> dict[str, str]:
    """Other keys each time, for a while."""
    make: Any = boto3.client
    sts = make(
        "sts",
        endpoint_url=server.url,
        region_name="us-east-1",
        aws_access_key_id=KEYS.key,
        aws_secret_access_key=KEYS.secret,
    )
    found = sts.assume_role(RoleArn="arn:aws:iam::1:role/any", RoleSessionName="any", DurationSeconds=900)[
        "Credentials"
    ]
    return {
        "accessKey": found["AccessKeyId"],
        "secretKey": found["SecretAccessKey"],
        "sessionToken": found["SessionToken"],
    }


def test_keys_that_are_lent_are_replaced_under_a_mount_and_shown_nowhere(
    agent: Command, server: Minio, bucket: Options
) -> None:
    first, wrong, second = lent(server), {"accessKey": KEYS.key, "secretKey": WRONG}, lent(server)
    agent.mount_bucket(bucket, options=TALKS, secrets=first)
    for number, held in enumerate((first, wrong, second)):
        file = agent.folder / "secrets.json"
        new = file.with_suffix(".new")
        new.touch(mode=0o600)
        new.write_text(json.dumps(held))
        new.rename(file)
        server.client.put_object(Bucket=bucket.bucket, Key=f"{number}", Body=b"there")
        if held is wrong:
            with pytest.raises(PermissionError):
                (agent.point / "0").write_bytes(b"refused")
            with pytest.raises(PermissionError):
                (agent.point / f"{number}").read_bytes()
        else:
            assert (agent.point / f"{number}").read_bytes() == b"there"
            (agent.point / f"{number}").write_bytes(b"written")
            assert server.client.get_object(Bucket=bucket.bucket, Key=f"{number}")["Body"].read() == b"written"
    secret = [held[name] for held in (first, second) for name in ("secretKey", "sessionToken")]
    assert_nowhere(agent, [*secret, WRONG, "Signature=", "Security-Token"])


@pytest.mark.parametrize("method", ["token", "approle"])
def test_what_vault_is_asked_with_and_what_it_lends_is_shown_nowhere(
    agent: Command, server: Minio, bucket: Options, method: str
) -> None:
    """Also while it refuses, and all of it is logged."""
    with stand_in() as vault:
        vault.engine("secret", 2)
        vault.put("secret", "team/corpus", {"id": KEYS.key, "key": KEYS.secret})
        connection = {"url": vault.url}
        if method == "token":
            connection |= {"token": vault.token}
        else:
            role, secret = vault.approle("agent", "secret/data/team/corpus")
            connection |= {"auth_method": "approle", "role_id": role, "secret_id": secret}
        pointer = {"path": "team/corpus", "keys": {"accessKey": "id", "secretKey": "key"}}
        secrets = {"vault": pointer, "vault_connection": connection}
        agent.mount_bucket(bucket, options=TALKS, secrets=secrets)
        (agent.point / "file").write_bytes(b"content")
        assert server.client.get_object(Bucket=bucket.bucket, Key="file")["Body"].read() == b"content"
        assert os.listdir(agent.point) == ["file"]
        assert [seen for seen in vault.seen if seen.header("X-Vault-Token")]
        lent = [token for token in vault.tokens if token != vault.token]
        assert_nowhere(agent, [vault.token, SECRET_ID, *lent, KEYS.secret, "Signature="])
        agent("umount", str(agent.point))
        vault.tokens.clear()
        vault.logins.clear()
        refused = agent.mount_bucket(bucket, options=TALKS, secrets=secrets, code=1)
    for text in (refused, agent.said()):
        assert not [word for word in (vault.token, SECRET_ID, *lent, KEYS.secret) if word in text]
