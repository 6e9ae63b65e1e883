# SPDX-License-Identifier: Apache-2.0
"""Keys that are lent for a while."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from paddleflow_fuse.sources.s3.credentials import Credentials, Fixed, Keeper
from paddleflow_fuse.sources.s3.lent import BosLent, StsLent, bce_signature
from paddleflow_fuse.sources.s3.options import Lent, read

from tests.support.kube_stub import Step, answer, reset
from tests.support.s3_stub import KEYS, Stub, part, refused, s3_stub

from .conftest import Tried

ROLE = "arn:minio:iam:::role/whichever"
ENDS = 4_000_000_000
GIVEN = {"endpoint": "https://store.example:9000", "accessKey": "key", "secretKey": "planted-secret", "sts": True}


def lending(operation: str, key: str = "lent-key", ends: int = ENDS) -> Step:
    when = datetime.fromtimestamp(ends, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    inner = (
        f"<Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>planted-lent</SecretAccessKey>"
        f"<SessionToken>planted-token</SessionToken><Expiration>{when}</Expiration></Credentials>"
    )
    name = f"{operation}Response"
    space = 'xmlns="https://sts.amazonaws.com/doc/2011-06-15/"'
    return answer(200, f"<{name} {space}><{operation}Result>{inner}</{operation}Result></{name}>".encode())


def asked(stub: Stub, **more: object) -> Lent:
    return Lent(stub.options.endpoint, "us-east-1", 3600)._replace(**more)  # type: ignore[arg-type]


def said(stub: Stub) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(stub.seen[-1].body.decode()).items()}


def test_a_role_is_taken_on_with_a_policy() -> None:
    with s3_stub(lending("AssumeRole")) as stub:
        found = StsLent(asked(stub, role=ROLE, policy="{}"), Fixed(KEYS)).credentials()
        assert found == Credentials("lent-key", "planted-lent", "planted-token", ENDS)
        wanted = {"Action": "AssumeRole", "DurationSeconds": "3600", "RoleArn": ROLE, "Policy": "{}"}
        assert wanted.items() <= said(stub).items()
        assert "Credential=planted-key/" in stub.seen[0].header("Authorization")


def test_without_a_role_it_is_a_session_of_the_same_user() -> None:
    with s3_stub(lending("GetSessionToken")) as stub:
        assert StsLent(asked(stub), Fixed(KEYS)).credentials().key == "lent-key"
        assert said(stub)["Action"] == "GetSessionToken"


def test_a_token_of_a_file_stands_in_for_keys_and_is_read_each_time(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with s3_stub(lending("AssumeRoleWithWebIdentity"), lending("AssumeRoleWithWebIdentity")) as stub:
        lent = StsLent(asked(stub, role=ROLE, token_file=str(file)), Fixed(KEYS))
        for token in ("planted-one", "planted-two"):
            file.write_text(f"{token}\n")
            lent.credentials()
            assert said(stub)["WebIdentityToken"] == token
            assert stub.seen[-1].header("Authorization") == ""


@pytest.mark.parametrize("step", [refused(403, "AccessDenied"), refused(500), reset])
def test_who_lends_nothing_is_told_without_a_secret(step: Step) -> None:
    with s3_stub(*[step] * 9) as stub, pytest.raises(PermissionError, match="lends no keys") as told:
        StsLent(asked(stub, role=ROLE), Fixed(KEYS)).credentials()
    assert "planted-secret" not in str(told.value)


def test_a_token_file_that_is_not_there_is_no_missing_file(tmp_path: Path) -> None:
    keeper = Keeper(StsLent(Lent("http://127.0.0.1:9", "r", 900, token_file=str(tmp_path / "none")), Fixed(KEYS)))
    with pytest.raises(PermissionError, match="there are no keys for the bucket"):
        keeper.current()


def test_others_are_asked_for_when_a_fifth_is_over_and_used_at_once(tried: Tried) -> None:
    steps = [lending("AssumeRole", "one", 5000), part(b"a", 1), lending("AssumeRole", "two", 9000), part(b"a", 1)]
    tried.stub.steps += steps
    now = [1000.0]
    keeper = Keeper(StsLent(asked(tried.stub, role=ROLE), Fixed(KEYS)), lambda: now[0])
    assert keeper.current().key == "one"
    store = tried.store(provider=keeping(keeper))
    store.get("key", b"", 0, 1)
    now[0] = 1799
    assert keeper.current().key == "one"
    now[0] = 1801
    store.get("key", b"", 0, 1)
    keys = [seen.header("Authorization").split("Credential=")[1].split("/")[0] for seen in tried.stub.seen]
    assert keys == ["planted-key", "one", "planted-key", "two"]


class keeping:  # noqa: N801 (reads as a word)
    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def credentials(self) -> Credentials:
        return self._keeper.current()._replace(expires=None)


def test_bos_lends_in_its_own_words() -> None:
    body = {
        "accessKeyId": "lent-key", "secretAccessKey": "planted-lent", "sessionToken": "planted-token",
        "createTime": "2096-10-02T06:06:40Z", "expiration": "2096-10-02T07:06:40Z", "userId": "u",
    }  # fmt: skip
    with s3_stub(answer(200, body), refused(403, "AccessDenied"), answer(200, b"[]")) as stub:
        lent = BosLent(asked(stub, policy='{"a": 1}', bos=True), Fixed(KEYS), lambda: 0)
        found = lent.credentials()
        assert found == Credentials("lent-key", "planted-lent", "planted-token", ENDS)
        seen = stub.seen[0]
        assert (seen.method, seen.path, seen.query, seen.body) == (
            "POST", "/v1/sessionToken", {"durationSeconds": "3600"}, b'{"a": 1}',
        )  # fmt: skip
        assert seen.header("Authorization").startswith(
            "bce-auth-v1/planted-key/1970-01-01T00:00:00Z/1800/content-type;host/"
        )
        for _both in range(2):
            with pytest.raises(PermissionError, match="lends no keys"):
                lent.credentials()


def test_a_signature_of_bos_depends_on_all_that_is_signed() -> None:
    given: list[Any] = [
        "POST",
        "https://sts.example/v1/sessionToken",
        "durationSeconds=60",
        {"Host": "sts.example"},
        KEYS,
        0.0,
    ]
    first = bce_signature(*given)
    others = [
        "GET",
        "https://sts.example/v1/other",
        "durationSeconds=61",
        {"Host": "other"},
        KEYS._replace(secret="x"),
        9.0,
    ]
    for place, other in enumerate(others):
        changed = [*given]
        changed[place] = other
        assert bce_signature(*changed) != first


def test_what_is_lent_is_as_the_properties_say() -> None:
    assert read("s3://bucket", {**GIVEN, "sts": False}).lent is None
    plain = read("s3://bucket/a", GIVEN).lent
    assert plain == Lent("https://store.example:9000", "us-east-1", 43200)
    aws = read(
        "s3://bucket",
        {**GIVEN, "endpoint": "https://s3.eu-1.amazonaws.com", "region": "eu-1", "duration": 900, "roleArn": ROLE},
    )
    assert aws.lent == Lent("https://sts.eu-1.amazonaws.com", "eu-1", 900, role=ROLE)
    other = read(
        "s3://bucket", {**GIVEN, "stsEndpoint": "https://sts.example", "acl": "{}", "insecureSkipVerify": True}
    )
    assert other.lent == Lent("https://sts.example", "us-east-1", 43200, policy="{}", verify=False)
    token = {"endpoint": "e", "webIdentityTokenFile": "/var/token", "roleArn": ROLE}
    found = read("s3://bucket", token).lent
    assert found is not None
    assert found.token_file == "/var/token"


def test_what_bos_lends_reaches_what_is_below_the_path() -> None:
    for url, places in (
        ("bos://bucket/a/b", ["bucket/a/b", "bucket/a/b/*"]),
        ("bos://bucket", ["bucket", "bucket/*"]),
    ):
        lent = read(url, GIVEN).lent
        assert lent is not None
        assert lent.endpoint == "https://sts.bj.baidubce.com"
        rule = json.loads(lent.policy)["accessControlList"][0]
        assert rule["resource"] == places
        assert rule["permission"] == ["READ", "WRITE", "LIST", "GetObject"]
    own = read("bos://bucket", {**GIVEN, "acl": "{}"}).lent
    assert own is not None
    assert own.policy == "{}"
