# SPDX-License-Identifier: Apache-2.0
"""Keys that change while they are in use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from paddleflow_fuse.sources.s3.chain import ChainCredentials
from paddleflow_fuse.sources.s3.credentials import Credentials, FileCredentials, Keeper

from tests.support.s3_stub import part

from .conftest import Tried


def write(path: Path, **keys: str) -> None:
    """As a Secret's volume does: another file takes the place."""
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(keys))
    temporary.rename(path)


def test_a_file_that_was_changed_takes_effect_at_the_next_request(tmp_path: Path, tried: Tried) -> None:
    path = tmp_path / "keys"
    write(path, accessKey="old", secretKey="planted-old")
    store = tried.store(provider=FileCredentials(path))
    for name in ("old", "new"):
        write(path, accessKey=name, secretKey=f"planted-{name}", sessionToken=f"token-{name}")
        for key in ("key", "odd//"):
            tried.stub.steps += [part(b"a", 1)]
            assert store.get(key, b"", 0, 1) == b"a"
    said = [(seen.header("Authorization"), seen.header("X-Amz-Security-Token")) for seen in tried.stub.seen]
    assert [(text.split("Credential=")[1].split("/")[0], token) for text, token in said] == [
        ("old", "token-old"), ("old", "token-old"), ("new", "token-new"), ("new", "token-new"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "[]", '{"accessKey": "a"}', '{"accessKey": "a", "secretKey": 5}', '{"planted-secret']
)
def test_a_file_that_holds_no_keys_is_told_without_what_it_holds(tmp_path: Path, text: str) -> None:
    path = tmp_path / "keys"
    path.write_text(text)
    with pytest.raises(PermissionError, match="accessKey and secretKey") as told:
        FileCredentials(path).credentials()
    assert told.value.filename == str(path)
    assert "planted-secret" not in str(told.value)


def test_a_file_that_is_gone_or_broken_for_a_while_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "keys"
    with pytest.raises(FileNotFoundError):
        FileCredentials(path).credentials()
    write(path, accessKey="a", secretKey="planted-a")
    provider = FileCredentials(path)
    before = provider.credentials()
    path.write_text("{")
    assert provider.credentials() == before
    path.unlink()
    assert provider.credentials() == before
    assert "the keys that were read before are used" in caplog.text
    write(path, accessKey="b", secretKey="planted-b")
    assert provider.credentials().key == "b"


class Lender:
    """Lends keys for a hundred seconds each."""

    def __init__(self) -> None:
        self.now, self.asked, self.fails = 1000.0, 0, False

    def credentials(self) -> Credentials:
        self.asked += 1
        if self.fails:
            raise PermissionError("nothing is lent today")
        return Credentials(f"key-{self.asked}", "planted", "", self.now + 100)


def test_keys_are_asked_for_before_they_end_and_no_more_often_than_needed() -> None:
    lender = Lender()
    keeper = Keeper(lender, lambda: lender.now)
    for now, key in ((1000, "key-1"), (1019, "key-1"), (1021, "key-2"), (1040, "key-2"), (1042, "key-3")):
        lender.now = now
        assert keeper.current().key == key


def test_keys_that_cannot_be_renewed_serve_until_they_end(caplog: pytest.LogCaptureFixture) -> None:
    lender = Lender()
    keeper = Keeper(lender, lambda: lender.now)
    keeper.current()
    lender.now, lender.fails = 1060, True
    assert keeper.current().key == "key-1"
    assert "good for 40 s more" in caplog.text
    asked = lender.asked
    lender.now = 1064
    assert keeper.current().key == "key-1"
    assert lender.asked == asked  # whoever has none today is left alone for a while
    for now in (1100, 1101, 1120):
        lender.now = now
        with pytest.raises(PermissionError, match="nothing is lent today"):
            keeper.current()
    assert len(caplog.records) == 1  # told once
    lender.now, lender.fails = 1130, False
    assert keeper.current().key.startswith("key-")  # by itself
    assert keeper.current().expires == 1230


class Once:
    """What lies somewhere, and is not there any more."""

    def __init__(self) -> None:
        self.there, self.asked = True, 0

    def credentials(self) -> Credentials:
        self.asked += 1
        if not self.there:
            raise PermissionError("it is away")
        return Credentials("key", "planted", holds=60)


def test_keys_without_an_end_serve_on_when_who_keeps_them_is_away(caplog: pytest.LogCaptureFixture) -> None:
    once, now = Once(), [1000.0]
    keeper = Keeper(once, lambda: now[0])
    keeper.current()
    once.there = False
    for moment, asked in ((1059, 1), (1060, 2), (1064, 2), (1066, 3), (99999, 4)):
        now[0] = moment
        assert (keeper.current().key, once.asked) == ("key", asked)
    assert [record.message for record in caplog.records] == [
        "it is away: the keys in use are good until they are refused"
    ]


def test_who_gives_refused_keys_again_is_not_asked_by_each_request() -> None:
    once, now = Once(), [1000.0]
    keeper = Keeper(once, lambda: now[0])
    refused = keeper.current()
    for moment, asked in ((1001, 2), (1002, 2), (1007, 3)):
        now[0] = moment
        assert not keeper.renewed(refused)
        assert once.asked == asked


def test_what_was_refused_is_compared_with_what_there_is_now() -> None:
    lender = Lender()
    keeper = Keeper(lender, lambda: lender.now)
    first = keeper.current()
    assert keeper.renewed(first)
    assert keeper.current().key == "key-2"
    still = Keeper(Still())
    assert not still.renewed(still.current())


class Still:
    def credentials(self) -> Credentials:
        return Credentials("key", "planted")


def test_who_gives_no_keys_uses_those_that_boto3_finds(tried: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "found")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token-found")
    tried.stub.steps += [part(b"a", 1)] * 2
    store = tried.store(options=tried.stub.options._replace(credentials=None))
    for key in ("key", "odd//"):
        store.get(key, b"", 0, 1)
    assert {seen.header("X-Amz-Security-Token") for seen in tried.stub.seen} == {"token-found"}
    assert all("Credential=found/" in seen.header("Authorization") for seen in tried.stub.seen)


def test_keys_that_are_given_are_not_mixed_with_what_the_environment_has(
    tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token-of-another")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    tried.stub.steps += [part(b"a", 1)] * 2
    store = tried.store()
    for key in ("key", "odd//"):
        store.get(key, b"", 0, 1)
    assert {seen.header("X-Amz-Security-Token") for seen in tried.stub.seen} == {""}


def test_a_machine_without_keys_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(PermissionError, match="give accessKey and secretKey"):
        ChainCredentials().credentials()
    monkeypatch.setenv("AWS_PROFILE", "none")
    with pytest.raises(PermissionError, match="those of this machine cannot be had"):
        ChainCredentials().credentials()
