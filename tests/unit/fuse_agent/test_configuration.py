# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from paddleflow_core.model import mount
from paddleflow_fuse import configuration
from paddleflow_fuse.configuration import OptionsError

from tools import tree

S3 = {"endpoint": "https://store", "accessKey": "a", "secretKey": "hidden"}


def test_what_is_not_said_is_as_the_model_says() -> None:
    found = configuration.settings(configuration.read("s3://bucket/data", S3), 5, 6, 7)
    assert (found.uid, found.gid, found.folder_mode, found.file_mode) == (5, 6, 0o755, 0o644)
    assert (found.attributes_hold, found.names_hold) == (5, 5)
    assert (found.kernel_attributes_hold, found.kernel_names_hold) == (1, 1)
    assert (found.block, found.read_ahead, found.read_only, found.xattrs) == (20 << 20, 200 << 20, False, False)


def test_options_are_text_as_on_a_command_line() -> None:
    given = {
        **S3, "uid": "1000", "dirMode": "0o770", "file-mode": "0660", "umask": "007", "meta-cache-expire": "0.5", "ro": "true",
        "attr-timeout": "60", "block-size": "0", "relaxedOpen": "yes", "capacity": "10Ti", "disable-xattrs": "no",
    }  # fmt: skip
    found = configuration.settings(configuration.read("s3://bucket", given), 0, 0, 0)
    assert (found.uid, found.folder_mode, found.file_mode) == (1000, 0o770, 0o660)
    assert (found.attributes_hold, found.kernel_attributes_hold, found.block) == (0.5, 60, 0)
    assert (found.read_only, found.relaxed, found.capacity, found.xattrs) == (True, True, 10 << 40, True)


def test_all_that_is_wrong_is_said_at_once_and_no_secret() -> None:
    given = {**S3, "dirMode": "9", "secretKey": "", "blok-size": "1", "meta-cache-expire": "soon"}
    with pytest.raises(OptionsError) as refused:
        configuration.read("s3://bucket", given)
    said = str(refused.value)
    for name in ("dirMode", "secretKey", "blok-size", "meta-cache-expire"):
        assert name in said
    assert "hidden" not in said
    assert "hidden" not in repr(configuration.read("s3://bucket", S3))


def test_what_is_not_known_is_guessed_and_what_there_is_is_listed_once() -> None:
    with pytest.raises(OptionsError) as refused:
        configuration.read("s3://bucket", {**S3, "blok-size": "1", "zzz": "1", "graze": "1"})
    lines = str(refused.value).splitlines()
    assert lines[:2] == [
        "blok-size is not known here, but must be an option of a mount. Did you mean block-size?",
        "zzz is not known here, but must be an option of a mount.",
    ]
    assert lines[2].startswith(
        "graze is not known here, but must be an option of a mount. Did you mean grace? There are acl, allow-other, "
    )
    assert "secretKey" not in lines[2]
    assert "kdc" not in lines[2]


@pytest.mark.parametrize(
    ("given", "without"),
    [
        ({}, False),
        ({"ro": "true"}, False),
        ({"relaxedOpen": "true"}, False),
        ({"ro": "true", "relaxedOpen": "true"}, True),
        ({"ro": "true", "relaxedOpen": "true", "profile": "large"}, False),
        ({"ro": "true", "profile": "small"}, True),
    ],
)
def test_opens_are_left_out_only_where_nobody_writes(given: dict[str, str], without: bool) -> None:
    assert configuration.settings(configuration.read("s3://bucket", {**S3, **given}), 0, 0, 0).without_open == without


def test_caches_are_told_apart_by_where_files_are_and_not_by_who_mounts_them() -> None:
    def folder(url: str, **given: str) -> str:
        return configuration.folder(configuration.read(url, {**S3, **given}))

    assert folder("s3://bucket/a") == folder("s3://bucket/a", secretKey="other", uid="7")
    others = [
        folder("s3://bucket/b"),
        folder("s3://bucke/t/a"),
        folder("s3://bucket/a", endpoint="https://other"),
        folder("bos://bucket/a"),
    ]
    assert len({folder("s3://bucket/a"), *others}) == 5


def tag(**given: str) -> str:
    return configuration.tag(configuration.read("s3://bucket/a", {**S3, **given}))


def test_what_one_session_did_not_store_another_does() -> None:
    assert (
        tag() == tag(**{"rate-limit-read": "1Mi"}) == tag(session="pyfuse3") == tag(session="direct", secretKey="other")
    )
    assert tag() != tag(profile="large")


def test_what_may_change_under_a_mount_makes_no_other_cache() -> None:
    assert tag() == tag(**{"data-cache-quota": "1Gi", "grace": "5", "log-level": "DEBUG"})


def test_the_guide_names_what_may_change_under_a_mount() -> None:
    guide = (tree.ROOT / "docs/guides/fuse-agent.md").read_text(encoding="utf-8")
    (row,) = [line for line in guide.splitlines() if line.startswith("| the options `")]
    assert tuple(row.split("|")[1].removeprefix(" the options ").strip(" `").split("`, `")) == mount.LIVING


def test_what_one_release_did_not_store_the_next_does_that_knows_more_options(monkeypatch: pytest.MonkeyPatch) -> None:
    before = tag()
    assert tag(**{"read-only": "false", "block-size": "20Mi"}) == before
    monkeypatch.setitem(mount.MOUNT, "new", {"type": "string", "default": "usual"})
    assert tag() == before
    assert tag(new="other") != before


def test_rates_are_of_the_mount_and_of_the_machine() -> None:
    options = {**S3, "rate-limit-read": "10M", "node-rate-limit-write": "1Ki"}
    found = configuration.rates(configuration.read("s3://bucket", options), "/own", "/shared")
    assert found.read == [("/own/rate-limit-read", 10_000_000), ("/shared/node-rate-limit-read", 0)]
    assert found.write == [("/own/rate-limit-write", 0), ("/shared/node-rate-limit-write", 1024)]
    with pytest.raises(configuration.OptionsError, match=r"rate-limit-read is '0.5', but must be 0, or at least 1"):
        configuration.read("s3://bucket", {**S3, "rate-limit-read": "0.5"})
