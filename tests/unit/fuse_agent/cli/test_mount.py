# SPDX-License-Identifier: Apache-2.0
"""What is said before anything is mounted."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from paddleflow_core.model import mount as model
from paddleflow_core.model.stores import STORES
from paddleflow_fuse.cli import mount
from paddleflow_fuse.cli.__main__ import main
from paddleflow_fuse.configuration import OptionsError
from paddleflow_fuse.sources import make


def without(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    monkeypatch.setattr(make, "find_spec", lambda name: None if name in modules else make)


@pytest.mark.parametrize(
    ("url", "options", "module", "package"),
    [
        ("sftp://server/data", "user=ann,insecureSkipVerify=true", "asyncssh", "asyncssh"),
        ("hdfs://server:8020/data", "user=ann,group=staff", "hdfs_native", "hdfs-native"),
        ("s3://bucket", "endpoint=https://store", "obstore", "obstore"),
        ("local://srv", "", "trio", "trio"),
    ],
)
def test_what_lacks_is_named_at_once_with_the_command_that_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    url: str, options: str, module: str, package: str,
) -> None:  # fmt: skip
    without(monkeypatch, module)
    assert main(["--run", str(tmp_path / "run"), "mount", url, str(tmp_path / "point"), "-o", options]) == 1
    said = capsys.readouterr().err
    assert said == f"{url} needs what is not installed: {sys.executable} -m pip install {package}\n"
    assert not (tmp_path / "run").exists()


def test_what_another_kind_needs_is_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "asyncssh", "hdfs_native", "boto3", "obstore", "hvac", "pyfuse3")
    assert mount.write(tmp_path, "local://srv", tmp_path / "point", {}, None).is_file()


def test_secrets_in_vault_need_its_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "hvac")
    secrets = tmp_path / "secrets.json"
    secrets.write_text(json.dumps({"vault": {"path": "team/x", "keys": {"accessKey": "a", "secretKey": "b"}}}))
    with pytest.raises(mount.MountError, match=r"pip install hvac$"):
        mount.write(tmp_path, "s3://bucket", tmp_path / "point", {"endpoint": "https://store"}, secrets)


@pytest.mark.parametrize(
    ("url", "given", "file"),
    [
        ("s3://bucket", "secretKey=hidden", '{"accessKey": "...", "secretKey": "..."}'),
        ("sftp://server/data", "user=ann,password=hidden", '{"password": "..."}'),
        ("hdfs://server/data", "keyTabData=hidden", '{"keyTabData": "..."}'),
    ],
)
def test_what_is_secret_belongs_into_a_file_such_as_that_store_has(url: str, given: str, file: str) -> None:
    with pytest.raises(OptionsError) as refused:
        mount.options([given], url)
    assert f"Write a file {file} that only you can read" in str(refused.value)
    assert "hidden" not in str(refused.value)


def test_of_a_file_of_secrets_a_wrong_name_is_answered_by_those_of_secrets(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.json"
    secrets.write_text(json.dumps({"accesKey": "a", "secretKey": "hidden"}))
    with pytest.raises(OptionsError) as refused:
        mount.write(tmp_path, "s3://bucket", tmp_path / "point", {"endpoint": "https://store"}, secrets)
    said = str(refused.value)
    assert said == (
        f"{secrets} has accesKey, which is no secret of such a place. Did you mean accessKey? "
        "There are accessKey, secretKey, sessionToken, customerKey."
    )


@pytest.mark.parametrize(
    ("mode", "warns"), [(0o600, False), (0o440, False), (0o644, True), (0o444, True)], ids=lambda one: f"{one:o}"
)
def test_a_file_of_secrets_that_all_may_read_is_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: int, warns: bool
) -> None:
    """And taken: so Kubernetes hands secrets out."""
    secrets = tmp_path / "secrets.json"
    secrets.write_text(json.dumps({"accessKey": "a", "secretKey": "hidden"}))
    secrets.chmod(mode)
    mount.write(tmp_path, "s3://bucket", tmp_path / "point", {"endpoint": "https://store"}, secrets)
    told = f"{secrets} has mode 0{mode:o}, so that everybody on this machine may read it: chmod 600 {secrets}\n"
    assert capsys.readouterr().err == (told if warns else "")


@pytest.mark.parametrize("mode", [0o660, 0o602, 0o646, 0o777], ids="{:o}".format)
def test_a_file_of_secrets_that_others_may_change_is_refused(tmp_path: Path, mode: int) -> None:
    secrets = tmp_path / "secrets.json"
    secrets.write_text(json.dumps({"accessKey": "a", "secretKey": "hidden"}))
    secrets.chmod(mode)
    with pytest.raises(OptionsError, match=f"has mode 0{mode:o}, so that others may change it.*: chmod 600 {secrets}"):
        mount.write(tmp_path, "s3://bucket", tmp_path / "point", {"endpoint": "https://store"}, secrets)


def test_help_lists_each_option_with_what_it_is_where_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["mount", "--help"])
    said = capsys.readouterr().out
    listed = set(re.findall(r"^  ([a-zA-Z][a-zA-Z0-9-]+)(?: \*| \(secret\))?  ", said, re.MULTILINE))
    assert listed - {"url", "point"} == {*model.MOUNT, *(name for kind in model.TYPES for name in taken(STORES[kind]))}
    assert re.search(
        r"^  memory-cache-size \* +Bytes of memory for content that is cached \(512Mi\)$", said, re.MULTILINE
    )
    assert "(last; or fail)" in said


def taken(store: Mapping[str, Any]) -> list[str]:
    return [name for part in ("needs", "credentials", "may") for name in store[part]]
