# SPDX-License-Identifier: Apache-2.0
"""Secrets of SFTP servers and HDFS clusters that lie in Vault; sources/s3 has those of buckets."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from paddleflow_fuse.cli import mount
from paddleflow_fuse.sources.base import quiet
from paddleflow_fuse.sources.make import Wanted, here
from paddleflow_fuse.sources.sftp.options import Login, VaultLogin

from tests.support.vault import StandIn, stand_in

KERBEROS = {"principal": "ann", "realm": "EXAMPLE", "kdc": "127.0.0.1:1", "nameNodePrincipal": "nn/localhost@EXAMPLE"}


@pytest.fixture
def standing() -> Iterator[StandIn]:
    with stand_in() as found:
        found.engine("secret", 2)
        found.put("secret", "team/server", {"word": "planted-one", "table": "BQI="})
        yield found


def pointed(folder: Path, standing: StandIn, **keys: str) -> Path:
    path = folder / "secrets.json"
    connection = {"url": standing.url, "token": standing.token}
    path.write_text(json.dumps({"vault": {"path": "team/server", "keys": keys}, "vault_connection": connection}))
    return path


def test_each_connection_to_a_server_asks_for_its_login(tmp_path: Path, standing: StandIn) -> None:
    logins = VaultLogin(pointed(tmp_path, standing, password="word"))
    assert logins.login() == Login("planted-one")
    standing.put("secret", "team/server", {"word": "planted-two"})
    assert logins.login() == Login("planted-two")


def test_vault_may_be_away_for_who_was_let_in_before(
    tmp_path: Path, standing: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    file = pointed(tmp_path, standing, password="word")
    logins = VaultLogin(file)
    logins.login()
    standing.seal()
    for _time in range(3):
        assert logins.login() == Login("planted-one")
    assert [record.message.count("is sealed: unseal it") for record in caplog.records] == [1]
    assert "planted" not in caplog.text
    with pytest.raises(PermissionError, match="is sealed"):
        VaultLogin(file).login()


@pytest.mark.parametrize("keys", [{"privateKey": "none"}, {"keyTabData": "table"}])
def test_a_login_that_is_not_there_is_told(tmp_path: Path, standing: StandIn, keys: dict[str, str]) -> None:
    with pytest.raises(PermissionError, match="password or privateKey") as refused:
        VaultLogin(pointed(tmp_path, standing, **keys)).login()
    assert "secret/team/server of Vault" in str(refused.value)


def test_a_server_is_entered_by_what_lies_in_vault(tmp_path: Path, standing: StandIn) -> None:
    """It is asked before the server is, which nobody is here."""
    wanted = {"user": "ann", "insecureSkipVerify": True}
    file = pointed(tmp_path, standing, password="word")
    with closing(here(Wanted("sftp://127.0.0.1:1/", wanted, "", str(file)), quiet)) as source:
        standing.seal()
        with pytest.raises(PermissionError, match="is sealed"):
            source.find(b"")


def test_the_key_table_of_a_cluster_may_lie_in_vault(tmp_path: Path, standing: StandIn) -> None:
    url = "hdfs://127.0.0.1:1/"
    file = pointed(tmp_path, standing, keyTabData="none")
    with pytest.raises(PermissionError, match="Kerberos needs keyTabData") as refused:
        here(Wanted(url, KERBEROS, "", str(file)), quiet)
    assert refused.value.errno == errno.EACCES
    pointed(tmp_path, standing, keyTabData="table")
    here(Wanted(url, KERBEROS, "", str(file)), quiet).close()
    made = mount.write(tmp_path / "run", url, tmp_path / "point", KERBEROS, file)
    assert "BQI=" not in made.read_text()
