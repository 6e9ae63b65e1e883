# SPDX-License-Identifier: Apache-2.0
"""What an address and properties say of an HDFS cluster."""

from __future__ import annotations

import base64

import pytest
from paddleflow_fuse.sources.hdfs.kerberos import configuration
from paddleflow_fuse.sources.hdfs.options import read

GIVEN = {"user": "someone", "group": "any"}
SECURE = {
    "principal": "hdfs/host",
    "realm": "EXAMPLE.ORG",
    "kdc": "kdc.example.org,10.0.0.7:750",
    "nameNodePrincipal": "nn/_HOST",
    "keyTabData": base64.b64encode(b"planted").decode(),
    "dataTransferProtection": "privacy",
}


def test_everything_has_its_place() -> None:
    options = read(
        "hdfs://one:9000,two/data/sets/", {**GIVEN, "blockSize": "4Mi", "replication": 2, "ignoreOwnership": True}
    )
    assert options[:] == (("one:9000", "two:8020"), "someone", "/data/sets", 4 << 20, 2, "", None, True)
    assert options.place == "one:9000,two:8020"


def test_defaults() -> None:
    options = read("hdfs://one:9000/", GIVEN)
    assert options[:] == (("one:9000",), "someone", "", 64 << 20, 3, "", None, False)


def test_kerberos_has_a_principal_of_its_realm_and_a_key() -> None:
    options = read("hdfs://one:9000/", SECURE)
    assert (options.user, options.protection) == ("hdfs/host@EXAMPLE.ORG", "privacy")
    kerberos = options.kerberos
    assert kerberos is not None
    assert kerberos[:] == (
        "hdfs/host@EXAMPLE.ORG",
        "EXAMPLE.ORG",
        ("kdc.example.org:88", "10.0.0.7:750"),
        b"planted",
    )
    assert "planted" not in repr(options)
    text = configuration(kerberos)
    assert "default_realm = EXAMPLE.ORG" in text
    assert [line.strip() for line in text.splitlines() if line.startswith("    kdc =")] == [
        "kdc = kdc.example.org:88", "kdc = 10.0.0.7:750",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "no base64!", None])
def test_kerberos_without_a_key_is_refused(text: str | None) -> None:
    given = {name: value for name, value in {**SECURE, "keyTabData": text}.items() if value is not None}
    with pytest.raises(PermissionError, match="Kerberos needs keyTabData"):
        read("hdfs://one:9000/", given)
