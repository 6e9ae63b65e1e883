# SPDX-License-Identifier: Apache-2.0
"""From an address and properties to what a bucket is opened with."""

from __future__ import annotations

import pytest
from paddleflow_fuse.sources.s3.options import Options, OptionsError, read

GIVEN = {"endpoint": "https://store.example", "accessKey": "key", "secretKey": "planted-secret"}


def test_everything_has_its_place() -> None:
    options = read(
        "s3://bucket/a/b/", {**GIVEN, "region": "eu", "s3ForcePathStyle": "true", "insecureSkipVerify": "true"}
    )
    assert options[:6] == ("bucket", "https://store.example", "a/b", "eu", True, False)
    assert options.credentials is not None
    assert tuple(options.credentials) == ("key", "planted-secret", "", None, None)
    assert "planted-secret" not in repr(options)


def test_defaults() -> None:
    for url, region in (("s3://bucket", "us-east-1"), ("bos://bucket", "bj")):
        options = read(url, GIVEN)
        assert (options.root, options.region, options.path_style, options.verify) == ("", region, False, True)
    assert read("s3://bucket", {**GIVEN, "endpoint": "store.example:9000/"}).endpoint == "http://store.example:9000"


def test_keys_may_come_from_elsewhere() -> None:
    assert read("s3://bucket", {"endpoint": "e"}).credentials is None


def test_bos_lends_tokens() -> None:
    credentials = read("bos://bucket", {**GIVEN, "sessionToken": "token"}).credentials
    assert credentials is not None
    assert credentials.token == "token"


def test_all_that_is_wrong_is_told_at_once_and_no_secret() -> None:
    given = {
        "accessKey": "key", "region": "no region", "s3ForcePathStyle": "perhaps", "blockSize": "x", "sessionToken": "planted-token",
        "dirMode": "rwx", "unheard": "of",
    }  # fmt: skip
    with pytest.raises(OptionsError) as told:
        read("s3://bucket", given)
    places = [problem.place() for problem in told.value.problems]
    assert sorted(places) == [
        "properties.blockSize", "properties.dirMode", "properties.endpoint", "properties.region", "properties.s3ForcePathStyle",
        "properties.secretKey", "properties.unheard",
    ]  # fmt: skip
    assert all(place in str(told.value) for place in places)
    assert "planted-token" not in str(told.value)


@pytest.mark.parametrize("url", ["hdfs://host:1/x", "s3://", "bucket"])
def test_an_address_of_another_store_is_refused(url: str) -> None:
    with pytest.raises(OptionsError, match="url is"):
        read(url, GIVEN)


@pytest.mark.parametrize(
    ("endpoint", "path_style", "place"),
    [
        ("https://store.example", False, "https://bucket.store.example"),
        ("http://store.example:9000", False, "http://bucket.store.example:9000"),
        ("http://store.example:9000", True, "http://store.example:9000"),
    ],
)
def test_the_bucket_is_a_part_of_the_host_or_of_the_path(endpoint: str, path_style: bool, place: str) -> None:
    assert Options("bucket", endpoint, path_style=path_style).place() == place
