# SPDX-License-Identifier: Apache-2.0
"""Keys of a bucket that change while it is in use, and what a mount of a real bucket makes of what others write to it."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from paddleflow_fuse.sources.base import Source, quiet
from paddleflow_fuse.sources.make import Wanted, make
from paddleflow_fuse.sources.s3.options import Options
from paddleflow_fuse.sources.s3.vaulted import VaultCredentials

from tests.support.agent_command import command
from tests.support.granted import until
from tests.support.minio import KEYS, Minio
from tests.support.mounted import mounted
from tests.support.places import file
from tests.support.source_suite import content, failing
from tests.support.sshd import PASSWORD, ROOT, sshd
from tests.support.vault import Real, real

MIB = 1 << 20


@contextmanager
def opened(bucket: Options, server: Minio, secrets: Path) -> Iterator[Source]:
    source = make(
        Wanted(f"s3://{bucket.bucket}", {"endpoint": server.url, "s3ForcePathStyle": True}, "", str(secrets)), quiet
    )
    try:
        yield source
    finally:
        source.close()


def write(path: Path, **held: Any) -> Path:
    """As who renews keys does."""
    path.with_suffix(".new").write_text(json.dumps(held))
    path.with_suffix(".new").rename(path)
    return path


def keys(key: str = KEYS.key, secret: str = KEYS.secret) -> dict[str, str]:
    return {"accessKey": key, "secretKey": secret}


def test_keys_that_are_refused_fail_until_there_are_others(
    server: Minio, bucket: Options, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    server.client.put_object(Bucket=bucket.bucket, Key="a", Body=b"content")
    secrets = write(tmp_path / "keys.json", **keys())
    with opened(bucket, server, secrets) as source:
        assert content(source, b"a") == b"content"
        for wrong in (keys(secret="planted-wrong"), keys(key="nobody")):
            write(secrets, **wrong)
            for _time in range(3):
                with failing(errno.EACCES):
                    source.find_file(b"a")
                with failing(errno.EACCES):
                    list(source.list(b""))
            write(secrets, **keys())
            assert content(source, b"a") == b"content"
    said = caplog.text + capfd.readouterr().err
    assert "planted-wrong" not in said
    told = [record.message for record in caplog.records if "correct secretKey" in record.message]
    assert len(told) <= 2, told  # one of each question


def test_who_has_a_file_open_reads_on_when_it_is_replaced(server: Minio, bucket: Options, tmp_path: Path) -> None:
    """Section 14: the version that was opened, where the store keeps versions."""
    server.client.put_bucket_versioning(Bucket=bucket.bucket, VersioningConfiguration={"Status": "Enabled"})
    old, new = os.urandom(9 * MIB), os.urandom(9 * MIB + 1)
    server.client.put_object(Bucket=bucket.bucket, Key="file", Body=old)
    held = {"endpoint": server.url, "s3ForcePathStyle": True, **keys()}
    quick: dict[str, Any] = dict.fromkeys(
        ("attributes_hold", "names_hold", "kernel_attributes_hold", "kernel_names_hold"), 0.1
    )
    wanted = {"kind": "s3", "url": f"s3://{bucket.bucket}", "properties": held}
    with (
        mounted(tmp_path, wanted, block=MIB, read_ahead=0, **quick) as mount,
        file(mount.point / "file", os.O_RDONLY) as one,
    ):
        assert os.pread(one, 100, 0) == old[:100]
        server.client.put_object(Bucket=bucket.bucket, Key="file", Body=new)
        until("it is seen", lambda: (mount.point / "file").stat().st_size == len(new))
        assert os.pread(one, 100, 5 * MIB) == old[5 * MIB :][:100]
        assert (mount.point / "file").read_bytes() == new
        server.client.delete_object(Bucket=bucket.bucket, Key="file")
        until("it is gone", lambda: not (mount.point / "file").exists())
        assert os.pread(one, 100, 8 * MIB) == old[8 * MIB :][:100]
        assert os.fstat(one).st_size == len(old)


@pytest.fixture(scope="module")
def vault() -> Iterator[Real]:
    with real() as running:
        running.engine("secret", 2)
        yield running


@pytest.mark.extended
@pytest.mark.parametrize("method", ["token", "approle"])
def test_keys_of_vault_are_used_and_replaced(
    server: Minio, bucket: Options, vault: Real, tmp_path: Path, method: str
) -> None:
    path, place = f"team/{method}", f"secret/data/team/{method}"
    vault.put("secret", path, {"id": KEYS.key, "key": KEYS.secret})
    server.client.put_object(Bucket=bucket.bucket, Key="a", Body=b"content")
    connection = {"url": vault.url}
    if method == "token":
        connection |= {"token": vault.lend(3600, place)}
    else:
        role, secret = vault.approle("agent", place)
        connection |= {"auth_method": "approle", "role_id": role, "secret_id": secret}
    pointer = {"path": path, "keys": {"accessKey": "id", "secretKey": "key"}}
    secrets = write(tmp_path / "keys.json", vault=pointer, vault_connection=connection)
    with opened(bucket, server, secrets) as source:
        assert content(source, b"a") == b"content"
        assert [one.name for page in source.list(b"") for one in page.listed] == [b"a"]
    vault.put("secret", path, {"id": "other", "key": "planted-other"})
    assert VaultCredentials(secrets).credentials()[:2] == ("other", "planted-other")
    with opened(bucket, server, secrets) as source, failing(errno.EACCES):
        source.find(b"")


@pytest.mark.extended
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may start a server with users of its own")
def test_a_server_of_sftp_is_entered_by_a_login_of_vault(vault: Real, tmp_path: Path) -> None:
    vault.put("secret", "team/server", {"word": PASSWORD})
    connection = {"url": vault.url, "token": vault.lend(3600, "secret/data/team/server")}
    pointer = {"path": "team/server", "keys": {"password": "word"}}
    with sshd() as there, command(tmp_path) as agent:
        root = os.fsdecode(there.options().root)
        address = f"sftp://127.0.0.1:{there.port}{root}"
        given = {"user": ROOT, "hostKey": there.host_key}
        agent.mount(address, options=given, secrets={"vault": pointer, "vault_connection": connection})
        (agent.point / "file").write_bytes(b"content")
        assert Path(root, "file").read_bytes() == b"content"
        assert PASSWORD not in agent.said()
        written = [path for path in agent.run.rglob("*") if path.is_file()]
        assert [path for path in written if PASSWORD in path.read_text()] == []
        agent("umount", str(agent.point))
        vault.put("secret", "team/server", {"word": "planted-other"})
        refused = agent.mount(
            address, options=given, secrets={"vault": pointer, "vault_connection": connection}, code=1
        )
        assert "does not let the user in with this password" in refused
        assert "planted" not in refused


@pytest.mark.extended
def test_a_token_of_vault_is_renewed_and_one_that_was_revoked_is_told(vault: Real, tmp_path: Path) -> None:
    vault.put("secret", "team/renewed", {"id": "a", "key": "b"})
    token = vault.lend(20, "secret/data/team/renewed")
    pointer = {"path": "team/renewed", "keys": {"accessKey": "id", "secretKey": "key"}}
    secrets = write(tmp_path / "keys.json", vault=pointer, vault_connection={"url": vault.url, "token": token})
    until("half of it is over", lambda: vault.left(token) < 10)
    VaultCredentials(secrets).credentials()
    assert vault.left(token) > 10
    vault.revoke(token)
    with pytest.raises(PermissionError, match="whether the token is still valid"):
        VaultCredentials(secrets).credentials()
