# SPDX-License-Identifier: Apache-2.0
"""Keys that lie in Vault: by which login they are had, when they change, and what is told when they cannot be had."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paddleflow_fuse.cli import mount
from paddleflow_fuse.configuration import OptionsError
from paddleflow_fuse.sources.s3.credentials import Keeper
from paddleflow_fuse.sources.s3.options import read
from paddleflow_fuse.sources.s3.providers import is_near, provider_of
from paddleflow_fuse.sources.s3.vaulted import VaultCredentials

from tests.support.vault import StandIn, stand_in

KEYS = {"accessKey": "id", "secretKey": "key"}
POINTER = {"path": "team/corpus", "keys": KEYS}
PROPERTIES = {"endpoint": "http://store.example", "s3ForcePathStyle": True}


@pytest.fixture
def standing() -> Iterator[StandIn]:
    with stand_in() as found:
        found.engine("secret", 2)
        found.put("secret", "team/corpus", {"id": "planted-id", "key": "planted-key"})
        yield found


@pytest.fixture
def file(tmp_path: Path, standing: StandIn) -> Path:
    return written(tmp_path, vault=POINTER, vault_connection={"url": standing.url, "token": standing.token})


def written(folder: Path, **held: Any) -> Path:
    path = folder / "secrets.json"
    path.write_text(json.dumps(held), encoding="utf-8")
    return path


def test_keys_are_read_where_the_file_points_and_read_again(file: Path, standing: StandIn) -> None:
    now = [1000.0]
    keeper = Keeper(VaultCredentials(file), lambda: now[0])
    assert keeper.current()[:3] == ("planted-id", "planted-key", "")
    standing.put("secret", "team/corpus", {"id": "other-id", "key": "planted-other", "unused": "x"})
    now[0] = 1059
    assert keeper.current().key == "planted-id"
    now[0] = 1061
    assert keeper.current().key == "other-id"


def test_vault_may_be_away_for_a_while(file: Path, standing: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    now = [1000.0]
    keeper = Keeper(VaultCredentials(file), lambda: now[0])
    keeper.current()
    standing.seal()
    for moment in (1100, 1110, 1120):
        now[0] = moment
        assert keeper.current().key == "planted-id"
    assert [record.message.count("is sealed: unseal it") for record in caplog.records] == [1]
    assert "planted" not in caplog.text
    with pytest.raises(PermissionError, match="is sealed"):
        Keeper(VaultCredentials(file)).current()


@pytest.mark.parametrize("method", ["approle", "kubernetes"])
def test_a_login_is_made_and_ended_each_time(tmp_path: Path, standing: StandIn, method: str) -> None:
    place = "secret/data/team/corpus"
    if method == "approle":
        role, secret = standing.approle("agent", place)
        login = {"role_id": role, "secret_id": secret}
    else:
        standing.kubernetes("agent", "planted-account", place)
        login = {"role_id": "agent", "jwt": "planted-account"}
    path = written(tmp_path, vault=POINTER, vault_connection={"url": standing.url, "auth_method": method, **login})
    for _twice in range(2):
        assert VaultCredentials(path).credentials().key == "planted-id"
    assert list(standing.tokens) == [standing.token]  # no other is left


def test_where_vault_is_may_be_said_by_the_environment(
    tmp_path: Path, standing: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULT_ADDR", standing.url)
    monkeypatch.setenv("VAULT_TOKEN", standing.token)
    assert VaultCredentials(written(tmp_path, vault=POINTER)).credentials().key == "planted-id"


@pytest.mark.parametrize(
    ("pointer", "connection", "text"),
    [
        ({**POINTER, "path": "team/none"}, {}, "has nothing at secret/data/team/none"),
        ({**POINTER, "engineMountPoint": "none"}, {}, "does not permit to read none"),
        (POINTER, {"token": "planted-other"}, "check the place, whether the token is still valid"),
        ({**POINTER, "keys": {**KEYS, "secretKey": "none"}}, {}, "accessKey and secretKey must be in it"),
        (POINTER, {"auth_method": "approle"}, "needs a role: set role_id of vault_connection"),
    ],
)
def test_what_cannot_be_had_is_told_without_a_secret(
    tmp_path: Path, standing: StandIn, pointer: dict[str, Any], connection: dict[str, str], text: str
) -> None:
    held = {"vault": pointer, "vault_connection": {"url": standing.url, "token": standing.token, **connection}}
    with pytest.raises(PermissionError, match=text) as told:
        VaultCredentials(written(tmp_path, **held)).credentials()
    assert "planted" not in str(told.value)


def test_a_file_that_does_not_point_there_any_more_is_told(tmp_path: Path) -> None:
    with pytest.raises(PermissionError, match="does not point to Vault any more"):
        VaultCredentials(written(tmp_path, accessKey="a", secretKey="b")).credentials()


def test_the_worker_leaves_vault_to_the_helper(file: Path, tmp_path: Path) -> None:
    bucket = read("s3://bucket", PROPERTIES)
    assert not is_near(bucket, str(file))
    assert isinstance(provider_of(bucket, str(file)), VaultCredentials)
    plain = tmp_path / "plain.json"
    plain.write_text('{"accessKey": "a", "secretKey": "b"}')
    assert is_near(bucket, str(plain))
    assert not is_near(bucket, None)
    lent = read("s3://bucket", {**PROPERTIES, "sts": True})
    assert not is_near(lent, str(plain))


def test_a_mount_takes_a_file_that_points_to_vault_and_writes_none_of_it_down(file: Path, tmp_path: Path) -> None:
    made = mount.write(tmp_path / "run", "s3://bucket", tmp_path / "point", PROPERTIES, file)
    told = json.loads(made.read_text())
    assert told["files"]["secrets"] == str(file)
    assert told["files"]["options"] == PROPERTIES


@pytest.mark.parametrize(
    ("held", "text"),
    [
        ({"vault": {"path": "a"}}, "vault.keys is missing"),
        ({"vault": POINTER, "accessKey": "planted"}, "accessKey is given beside vault. Leave one of them out"),
        ({"vault": {**POINTER, "keys": {"planted": "x"}}}, "vault.keys.planted is not known here"),
    ],
)
def test_a_file_that_points_wrongly_is_refused_at_the_mount(tmp_path: Path, held: dict[str, Any], text: str) -> None:
    with pytest.raises(OptionsError, match=text):
        mount.write(tmp_path / "run", "s3://bucket", tmp_path / "point", PROPERTIES, written(tmp_path, **held))
