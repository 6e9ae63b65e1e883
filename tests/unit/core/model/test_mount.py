# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.model import mount

S3 = {"endpoint": "https://store", "accessKey": "a", "secretKey": "b"}


def wrong(url: str, given: dict[str, Any]) -> list[str]:
    return [problem.place() for problem in mount.read(url, given)[2]]


def test_every_option_has_a_default_that_is_right() -> None:
    assert set(mount.defaults()) == set(mount.MOUNT)
    properties, found, problems = mount.read("s3://bucket", {**S3, **mount.defaults()})
    assert (properties, found, problems) == (S3, mount.defaults(), [])


def test_a_store_that_is_told_no_secrets_takes_them_from_where_it_runs() -> None:
    assert wrong("s3://bucket", {"endpoint": "https://store"}) == []
    assert wrong("sftp://host:22/data", {"user": "u", "hostKey": "k"}) == []
    assert wrong("s3://bucket", {"endpoint": "https://store", "accessKey": "a"}) == ["secretKey"]


def test_what_may_change_under_a_mount_is_told_from_what_it_is_for_its_whole_life() -> None:
    declared = {"url": "s3://bucket", "point": "/mnt", "secrets": None}

    def digests(**options: object) -> list[str]:
        return mount.digest({**declared, "options": options}).split(".")

    assert set(mount.LIVING) < set(mount.MOUNT)
    lasting, living = digests(profile="large", grace=5)
    assert digests(grace=6, profile="large") == [lasting, digests(grace=6)[1]]
    assert digests(grace=6)[1] != living == digests(grace=5)[1]
    assert digests(grace=5)[0] != lasting
    elsewhere = mount.digest({**declared, "point": "/other"}).split(".")
    assert (elsewhere[0] != digests()[0], elsewhere[1:]) == (True, digests()[1:])


def test_flags_of_older_commands_are_understood() -> None:
    properties, _found, problems = mount.read(
        "s3://bucket", {**S3, "no-implicit-dir": "true", "disable-xattrs": "true", "allow_other": "false"}
    )
    assert (properties["implicitDirectories"], problems) == (False, [])
    assert "implicitDirectories" not in mount.read("s3://bucket", {**S3, "no-implicit-dir": "false"})[0]


def test_what_older_commands_had_is_told_with_what_to_do_instead() -> None:
    retired = dict.fromkeys(mount.RETIRED, "any")
    assert mount.read("s3://bucket", {**S3, **retired})[2] == []
    _properties, _found, problems = mount.read(
        "s3://bucket", {**S3, **dict.fromkeys(mount.REFUSED, "x"), "block-size": "?"}
    )
    assert {problem.place(): problem.remedy for problem in problems} == {**mount.REFUSED, "block-size": ""}
    assert all([*mount.RETIRED.values(), *mount.REFUSED.values()])


@pytest.mark.parametrize(
    ("url", "given", "place"),
    [
        ("http://host", {}, "url"),
        ("glusterfs://host:volume", {}, "url"),
        ("s3://bucket", {"free-space-ratio": "0.05"}, "free-space-ratio"),
        ("s3://bucket", {"free-space-ratio": "1"}, "free-space-ratio"),
        ("s3://bucket", {"block-size": "2Ei"}, "block-size"),
        ("s3://bucket", {"spin": "2m"}, "spin"),
        ("s3://bucket", {"profile": "small"}, "profile"),
        ("s3://bucket", {"session": "fuse2"}, "session"),
        ("s3://bucket", {"data-cache-path": "relative"}, "data-cache-path"),
        ("s3://bucket", {"user": "of another store"}, "user"),
    ],
)
def test_what_cannot_be_is_refused(url: str, given: dict[str, str], place: str) -> None:
    assert wrong(url, {**S3, **given} if url.startswith("s3") else given) == [place]
