# SPDX-License-Identifier: Apache-2.0
"""The file that declares a mount, as `paddleflow-fuse run` reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from paddleflow_core.model.mount import LIVING, defaults, digest
from paddleflow_fuse import configuration
from paddleflow_fuse.cli import mount
from paddleflow_fuse.configuration import OptionsError


def test_what_it_says_is_what_the_supervisor_is_told(tmp_path: Path) -> None:
    file = tmp_path / "corpus.json"
    file.write_text(json.dumps({"url": f"local:/{tmp_path}", "point": "/mnt/corpus", "options": {"grace": 5}}))
    found = mount.declared(file)
    assert found == mount.Declared(
        f"local:/{tmp_path}", Path("/mnt/corpus"), {"grace": 5}, None, f"corpus:{digest(json.loads(file.read_text()))}"
    )
    written = mount.write(tmp_path / "run", found.url, found.point, found.options, found.secrets, found.label)
    document: dict[str, Any] = json.loads(written.read_text())
    assert (document["label"], document["grace"], document["files"]["options"]) == (found.label, 5.0, {"grace": 5})
    assert written.stat().st_mode & 0o777 == 0o600


def test_what_may_change_is_told_with_what_is_meant_where_nothing_is_said(tmp_path: Path) -> None:
    told = mount.living(configuration.read(f"local:/{tmp_path}", {"grace": 5, "profile": "large"}), "corpus:1.2")
    assert told.pop("options") == {**{name: defaults()[name] for name in LIVING}, "grace": 5}
    assert told == {"label": "corpus:1.2", "grace": 5.0, "longest": 300.0, "log_level": "INFO"}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"url": "s3://x"}', '{"url": "s3://x", "point": "/mnt", "options": 7}', '"text"']
)
def test_what_is_no_declaration_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    file = tmp_path / "corpus.json"
    file.write_text(text)
    with pytest.raises(OptionsError, match=r"corpus\.json"):
        mount.declared(file)


def test_what_nobody_knows_is_named(tmp_path: Path) -> None:
    file = tmp_path / "corpus.json"
    file.write_text('{"url": "s3://x", "point": "/mnt", "colour": "red"}')
    with pytest.raises(OptionsError, match="no field colour"):
        mount.declared(file)
