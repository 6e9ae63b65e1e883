# SPDX-License-Identifier: Apache-2.0
"""Addresses of stores, their properties (storage.md 2), and where what is secret of them goes [D-7]."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from paddleflow_core.model import check, storage, storage_objects
from paddleflow_core.model.stores import PROPERTIES, SECRETS, SPEC, STORES

from tests.support import stores

S3 = {"endpoint": "https://store.example", "accessKey": "key", "secretKey": "planted"}
SFTP = {"user": "u", "password": "planted", "hostKey": "ssh-rsa AAAA"}
VAULT: dict[str, Any] = {"path": "team/corpus", "keys": {"accessKey": "id", "secretKey": "key"}}
KERBEROS = {
    "kerberos.keytab.data": "aGVsbG8=",
    "kerberos.principal": "hdfs/host",
    "kerberos.realm": "EXAMPLE",
    "kerberos.kdc": "10.0.0.1:88,kdc.example",
    "kerberos.namenode.principal": "nn/_HOST@EXAMPLE",
}


@pytest.fixture(scope="module", autouse=True)
def fast() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage_objects, "ROUNDS", 1)
        yield


def said(url: object, properties: object = None, **more: Any) -> list[str]:
    spec, problems = check.read(SPEC, {"url": url, "properties": properties, **more})
    return [problem.text() for problem in problems or storage.problems(spec)]


@pytest.mark.parametrize(
    ("url", "properties", "found"),
    [
        ("s3://bucket/a/b", S3, ("s3", "https://store.example", "/a/b", "bucket")),
        ("s3://bucket", S3, ("s3", "https://store.example", "/", "bucket")),
        ("bos://bucket/", S3, ("bos", "https://store.example", "/", "bucket")),
        ("hdfs://a:1,b:2/x", {"user": "u", "group": "g"}, ("hdfs", "a:1,b:2", "/x", None)),
        ("sftp://host:22/", SFTP, ("sftp", "host:22", "/", None)),
        ("local://mnt/data", None, ("local", "", "/mnt/data", None)),
        ("local://rooted", None, ("local", "", "/rooted", None)),
        ("glusterfs://host:volume", None, ("glusterfs", "host", "volume", None)),
        ("cfs://server/data", None, ("cfs", "server", "/data", None)),
        ("afs://cell:1/x", {"username": "u", "password": "p"}, ("afs", "cell:1/x", "cell:1/x", None)),
        ("mock://x", {"pvc": "claim", "namespace": "team"}, ("mock", "", "/x", None)),
    ],
)
def test_an_address_says_type_server_and_path(url: str, properties: Any, found: tuple[str | None, ...]) -> None:
    assert said(url, properties) == []
    where = storage.location({"url": url, "properties": properties or {}})
    assert (where["type"], where["serverAddress"], where["subPath"], where.get("bucket")) == found


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("bucket", "url is 'bucket', but must be an address of one of the types s3, bos, hdfs, sftp, local"),
        ("s3:bucket", "an address of one of the types"),
        ("ftp://host/x", "an address of one of the types"),
        ("s3://", "url is 's3://', but must be like s3://<bucket>/<path>."),
        ("s3:///x", "but must be like s3://<bucket>/<path>."),
        ("hdfs://host:1", "but must be like hdfs://<host:port>[,<host:port>...]/<path>."),
        ("hdfs:///x", "but must be like hdfs://"),
        ("sftp://a,b/x", "but must be like sftp://<host:port>/<path>."),
        ("local://", "but must be like local://<path>."),
        ("local:///x", "but must be like local://<path>."),
        ("local://root", "but must be another directory than /root."),
        ("mock://root/x", "but must be another directory than /root."),
        ("glusterfs://host", "but must be like glusterfs://<host>:<volume>."),
        ("cfs://server", "but must be like cfs://<server>/<path>."),
        ("s3://bucket/a/../b", "an address without . and .. in its path. Nothing outside of it can be reached."),
        ("local://..", "an address without . and .. in its path."),
        ("s3://bucket/a\nb", "but must be like s3://<bucket>/<path>."),
        (None, "url is missing"),
    ],
)
def test_an_address_of_no_known_form_is_refused(url: object, text: str) -> None:
    assert any(text in line for line in said(url, S3)), said(url, S3)


def test_keys_in_an_address_are_refused_and_not_repeated() -> None:
    for url in ("sftp://user:planted@host/x", "ftp://user:planted@host/x", "hdfs://planted@h:1/x"):
        (line,) = said(url, SFTP)
        assert "planted" not in line
    assert said("sftp://user:planted@host/x")[0].endswith("a secret stands in a Secret alone.")


@pytest.mark.parametrize(
    ("url", "properties", "more", "text"),
    [
        ("s3://b", {**S3, "endpoint": None}, {}, "properties.endpoint is missing, but must be given for type s3."),
        ("s3://b", {"endpoint": "e"}, {}, "properties.secretKey is missing, but must be given for type s3."),
        ("s3://b", {**S3, "user": "u"}, {}, "properties.user is no property of type s3, but must be one of accessKey,"),
        ("bos://b", {**S3, "roleArn": "r" * 20}, {}, "properties.roleArn is no property of type bos"),
        ("s3://b", {**S3, "encryption": "SSE"}, {}, "properties.encryption is 'SSE', but must be one of SSE-S3, SSE-KMS, SSE-C."),
        ("s3://b", {**S3, "encryption": "SSE-C"}, {}, "properties.customerKey is missing, but must be given for encryption SSE-C."),
        ("s3://b", {**S3, "encryption": "SSE-S3", "kmsKeyId": "k"}, {},
         "properties.kmsKeyId is given, but must be left out but for encryption SSE-KMS."),
        ("s3://b", {**S3, "encryption": "SSE-C", "customerKey": "planted"}, {},
         "properties.customerKey is a value that is not shown, but must be 32 bytes in base64."),
        ("s3://b", {**S3, "encryption": "SSE-C", "customerKey": "cGxhbnRlZA=="}, {},
         "properties.customerKey is a value that is not shown, but must be 32 bytes in base64."),
        ("s3://b", {**S3, "customerKey": "A" * 43 + "="}, {}, "properties.customerKey is given, but must be left out but for"),
        ("s3://b", {**S3, "storageClass": "glacier"}, {}, "properties.storageClass is 'glacier', but must be text like"),
        ("cfs://s/x", {"uid": 1}, {}, "properties.uid is no property of type cfs, but must be left out."),
        ("bos://b", {**S3, "duration": 59}, {}, "properties.duration is 59, but must be a whole number from 60 to 129600."),
        ("bos://b", {**S3, "duration": "129601"}, {}, "a whole number from 60 to 129600."),
        ("hdfs://h:1/x", {"user": "u"}, {}, "properties.group is missing, but must be given for type hdfs."),
        ("hdfs://h:1/x", {"principal": "p"}, {}, "properties.keyTabData is missing"),
        ("hdfs://h:1/x", {"principal": "p"}, {"secretRef": {"name": "s"}}, "properties.realm is missing"),
        ("hdfs://h:1/x", {**KERBEROS, "kerberos.kdc": "a b"}, {}, "properties.kdc is 'a b', but must be text like"),
        ("hdfs://h:1/x", {**KERBEROS, "kerberos.realm": "X"}, {},
         "properties.nameNodePrincipal is 'nn/_HOST@EXAMPLE', but must be of the realm: ...@X."),
        ("hdfs://h:1/x", {**KERBEROS, "kerberos.keytab.data": "planted!"}, {},
         "properties.keyTabData is a value that is not shown, but must be a key table in base64."),
        ("hdfs://h:1/x", {**KERBEROS, "dataTransferProtection": "none"}, {}, "one of authentication, integrity, privacy."),
        ("hdfs://h:1/x", {**KERBEROS, "kerberos.data.transfer.protection": "x"}, {}, "properties.dataTransferProtection is 'x'"),
        ("hdfs://h:1/x", {**KERBEROS, "blockSize": 0}, {}, "properties.blockSize is 0, but must be a whole number of bytes above"),
        ("hdfs://h:1/x", {**KERBEROS, "blockSize": "0.5"}, {}, "properties.blockSize is '0.5', but must be a whole number of"),
        ("hdfs://h:1/x", {**KERBEROS, "replication": 0}, {}, "properties.replication is 0, but must be a whole number from 1 to"),
        ("hdfs://h:1/x", {**KERBEROS, "replication": 513}, {}, "a whole number from 1 to 512."),
        ("hdfs://h:1/x", {**KERBEROS, "umask": "9"}, {}, "properties.umask is '9', but must be text like"),
        ("s3://b", {**S3, "endpoint": "https://u@host"}, {}, "properties.endpoint is 'https://u@host', but must be text like"),
        ("s3://b", {**S3, "endpoint": "https://host\n"}, {}, "properties.endpoint is 'https://host\\n', but must be text like"),
        ("s3://b", {**S3, "region": "eu west"}, {}, "properties.region is 'eu west', but must be text like"),
        ("bos://b", {**S3, "acl": ""}, {}, "properties.acl is '', but must be text from 1 to 65536 characters."),
        ("bos://b", {**S3, "sessionToken": ""}, {}, "properties.sessionToken is a value that is not shown"),
        ("mock://x", {"pvc": "A", "namespace": "n"}, {}, "properties.pvc is 'A', but must be text like"),
        ("s3://" + "b" * 2044, S3, {}, "url is 's3://bbb"),
        ("s3://b", {"endpoint": "e"}, {"secretRef": {"name": "A_b"}}, "secretRef.name is 'A_b', but must be text like"),
        ("sftp://h/x", {"user": "u", "hostKey": "k"}, {}, "properties.password is missing"),
        ("sftp://h/x", {**SFTP, "user": None}, {}, "properties.user is missing"),
        ("afs://x", {"username": "u"}, {}, "properties.password is missing"),
        ("mock://x", {"pvc": "claim"}, {}, "properties.namespace is missing, but must be given for type mock."),
        ("s3://b", S3, {"secretRef": {"name": "s"}},
         "secretRef is given, but must be left out beside properties.secretKey. One Secret holds them all."),
        ("s3://b", {"endpoint": "e"}, {"vault": {**VAULT, "keys": {"secretKey": "key"}}},
         "properties.accessKey is missing, but must be given for type s3."),
        ("s3://b", {"endpoint": "e", "accessKey": "a"}, {"vault": VAULT},
         "vault.keys.accessKey is given, but must be left out beside properties.accessKey."),
        ("s3://b", {"endpoint": "e"}, {"vault": VAULT, "secretRef": {"name": "s"}},
         "secretRef is given, but must be left out beside vault. One Secret holds them all."),
        ("s3://b", {"endpoint": "e"}, {"vault": {**VAULT, "keys": {**VAULT["keys"], "password": "p"}}},
         "vault.keys.password is no property of type s3, but must be one of accessKey,"),
        ("s3://b", {"endpoint": "e"}, {"vault": {"path": "corpus"}}, "vault.keys is missing, but must be a mapping."),
        ("s3://b", {"endpoint": "e"}, {"vault": {**VAULT, "path": "/corpus"}}, "vault.path is '/corpus', but must be text"),
        ("s3://b", {**S3, "secretKey": 1.5}, {}, "properties.secretKey is a value that is not shown, but must be text"),
        ("s3://b", "secretKey=planted", {}, "properties is a value that is not shown, but must be a mapping."),
    ],
)  # fmt: skip
def test_properties_that_do_not_fit_the_type_are_refused(url: str, properties: Any, more: Any, text: str) -> None:
    lines = said(url, properties, **more)
    assert any(text in line for line in lines), lines
    assert not any("planted" in line for line in lines)


@pytest.mark.parametrize("modes", [{"dirMode": "0755"}, {"dir-mode": "755"}, {"dirMode": "0o755", "file-mode": "0644"}])
def test_modes_are_octal_text(modes: dict[str, str]) -> None:
    """[D-4]"""
    assert said("s3://b", {**S3, **modes}) == []


@pytest.mark.parametrize("mode", ["0789", "rwx", "75", "00755", 0o755, 0o644, 755])
def test_what_is_no_octal_text_is_refused(mode: object) -> None:
    """[D-4] A number is what YAML made of the text: 0644 without quotes arrives as 420, which would be octal text too."""
    (line,) = said("s3://b", {**S3, "dirMode": mode})
    assert line.startswith("properties.dirMode is ")
    assert line.endswith("Put it into quotes.") is isinstance(mode, int)


def test_both_sets_of_names_for_kerberos_are_read() -> None:
    """[D-5]"""
    short = {
        "keyTabData": "aGVsbG8=",
        "principal": "hdfs/host",
        "realm": "EXAMPLE",
        "kdc": "10.0.0.1:88,kdc.example",
        "nameNodePrincipal": "nn/_HOST@EXAMPLE",
    }
    assert said("hdfs://h:1/x", short) == []
    assert said("hdfs://h:1/x", KERBEROS) == []
    assert check.read(PROPERTIES, KERBEROS) == check.read(PROPERTIES, short)


@pytest.mark.parametrize(
    ("url", "properties"),
    [
        (
            "hdfs://h:1/x",
            {**KERBEROS, "kerberos.data.transfer.protection": "privacy", "blockSize": "64Mi", "replication": 512},
        ),
        ("hdfs://h:1/x", {"user": "u", "group": "g", "umask": "022", "blockSize": 1}),
        ("s3://" + "b" * 2043, {**S3, "region": "eu-west-1", "endpoint": "host:9000/path"}),
        ("bos://b", {**S3, "sts": True, "duration": 60, "acl": "{}", "sessionToken": "t"}),
    ],
)
def test_what_a_store_may_have(url: str, properties: dict[str, Any]) -> None:
    assert said(url, properties) == []


def test_a_host_is_known_by_its_key_unless_told_otherwise() -> None:
    """[D-52]"""
    assert said("sftp://h/x", {**SFTP, "hostKey": None}) == [
        "properties.hostKey is missing, but must be given for type sftp."
    ]
    assert said("sftp://h/x", {"user": "u", "privateKey": "pem", "insecureSkipVerify": "true"}) == []


def test_a_secret_of_one_s_own_stands_for_what_is_secret() -> None:
    for url, properties in (
        ("s3://b", {"endpoint": "e"}),
        ("sftp://h/x", {"user": "u", "hostKey": "k"}),
        ("afs://x", {"username": "u"}),
    ):
        assert said(url, properties, secretRef={"name": "mine"}) == []


def test_a_secret_in_vault_stands_for_what_it_names() -> None:
    for url, properties, keys in (
        ("s3://b", {"endpoint": "e"}, VAULT["keys"]),
        ("s3://b", {"endpoint": "e", "accessKey": "a"}, {"secretKey": "key"}),
        ("sftp://h/x", {"user": "u", "hostKey": "k"}, {"privateKey": "pem"}),
        ("sftp://h/x", {"user": "u", "hostKey": "k", "password": "planted"}, {"privateKey": "pem"}),
        ("hdfs://h:1/x", {name: KERBEROS[name] for name in KERBEROS if "keytab" not in name}, {"keyTabData": "tab"}),
    ):
        assert said(url, properties, vault={"path": "corpus", "keys": keys}) == []


def filled(secret: dict[str, object], url: str = "s3://b", **keys: str) -> tuple[dict[str, Any], list[str]]:
    vault = {"path": "corpus", "keys": keys or VAULT["keys"]}
    spec, problems = storage.fill({"url": url, "properties": {"endpoint": "e"}, "vault": vault}, secret)
    return spec, [problem.text() for problem in problems]


def test_what_vault_says_goes_into_the_secret_and_nowhere_else() -> None:
    spec, problems = filled({"id": "planted-id", "key": 1234, "other": "unread"})
    assert problems == []
    secret, found = built(spec["properties"], vault=spec["vault"])
    assert secret["data"] == {
        "accessKey": base64.b64encode(b"planted-id").decode(),
        "secretKey": base64.b64encode(b"1234").decode(),
    }
    assert found["spec"]["properties"] == {"endpoint": "e"}
    assert found["spec"]["secretRef"] == {"name": secret["metadata"]["name"]}


@pytest.mark.parametrize(
    ("secret", "keys", "text"),
    [
        ({"id": "planted"}, {}, "vault.keys.secretKey is 'key', which the secret does not have, but must be one of id."),
        ({"id": "planted", "key": None}, {}, "vault.keys.secretKey is 'key', which the secret does not have, but must be one of"),
        ({}, {"secretKey": "key"}, "vault.keys.secretKey is 'key', which the secret does not have, but must be one of no keys at all."),
        ({"id": ["planted"], "key": "k"}, {}, "vault.keys.accessKey is a value that is not shown, but must be text from 1 to"),
        ({"id": "planted", "key": ""}, {}, "vault.keys.secretKey is a value that is not shown, but must be text from 1 to"),
        ({"tab": "planted!"}, {"keyTabData": "tab"},
         "vault.keys.keyTabData is a value that is not shown, but must be a key table in base64."),
    ],
)  # fmt: skip
def test_what_vault_says_is_looked_at_and_not_shown(secret: dict[str, object], keys: dict[str, str], text: str) -> None:
    _spec, (line,) = filled(secret, **keys)
    assert line.startswith(text)
    assert "planted" not in line


def test_a_secret_without_use_is_known() -> None:
    noun: Any = {"kind": "Thing"}
    secret = storage_objects.secret_of(noun, "data", "team")
    (without,) = built({"endpoint": "e", "accessKey": "a"})
    assert storage_objects.unneeded(without) == secret
    assert storage_objects.unneeded({**without, "spec": {"secretRef": {"name": "mine"}}}) == secret
    # As who reads a declaration back from the object gives it.
    assert storage_objects.unneeded({**without, "spec": {"secretRef": {"name": "paddleflow-thing-data"}}}) is None
    assert storage_objects.unneeded(built(S3)[1]) is None


def built(properties: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    spec = {"url": "s3://b", "properties": properties}
    found = {"kind": "Thing", "metadata": {"name": "data", "namespace": "team"}, "spec": dict(spec)}
    return storage_objects.with_secret(found, {**spec, **more})


def test_what_is_secret_stands_in_a_secret_before_the_object() -> None:
    """[D-7]"""
    secret, found = built({**S3, "dirMode": "0o750", "umask": "022"})
    assert secret == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "paddleflow-thing-data",
            "namespace": "team",
            "labels": {"app.kubernetes.io/managed-by": "paddleflow"},
        },
        "type": "Opaque",
        "data": {"secretKey": base64.b64encode(b"planted").decode()},
    }
    assert found["spec"]["properties"] == {
        "endpoint": "https://store.example",
        "accessKey": "key",
        "dirMode": "0750",
        "umask": "0022",
    }
    assert found["spec"]["secretRef"] == {"name": "paddleflow-thing-data"}
    assert "planted" not in repr(found)


def test_another_secret_shows_in_a_digest_of_the_object_s_own() -> None:
    """[D-8]"""
    first = built(S3)[1]["metadata"]["annotations"]["paddleflow.org/secret-digest"]
    assert re.fullmatch("[0-9a-f]{64}", first)
    assert built(S3)[1]["metadata"]["annotations"]["paddleflow.org/secret-digest"] == first
    other = built({**S3, "secretKey": "other"})[1]["metadata"]["annotations"]["paddleflow.org/secret-digest"]
    elsewhere = storage_objects.digest("Thing/other/data", {"secretKey": "planted"})
    assert len({first, other, elsewhere}) == 3


def test_nothing_secret_makes_no_secret() -> None:
    (found,) = built({"endpoint": "e"})
    assert "annotations" not in found["metadata"]
    assert "secretRef" not in found["spec"]


@given(stores.good())
def test_no_secret_is_left_in_the_object(spec: dict[str, Any]) -> None:
    read, problems = check.read(SPEC, spec)
    assert problems == []
    found = {"kind": "Thing", "metadata": {"name": "data", "namespace": "team"}, "spec": dict(read)}
    *beside, built = storage_objects.with_secret(found, read)
    given = {name for name in SECRETS if name in read.get("properties", {})}
    shown = built["spec"].get("properties", {"uid": "nothing that is no secret is left"})
    assert shown
    assert not given & set(shown)
    assert {name for one in beside for name in one["data"]} == given


@given(stores.good())
def test_a_good_address_has_a_place(spec: dict[str, Any]) -> None:
    where = storage.location(spec)
    assert where["type"] in STORES
    assert where["subPath"]
