# SPDX-License-Identifier: Apache-2.0
"""What the folders of caches say, also where somebody damaged them."""

from __future__ import annotations

from pathlib import Path

from paddleflow_fuse.cache.claim import claim
from paddleflow_fuse.files.written.folders import caches
from paddleflow_fuse.files.written.notes import Note
from paddleflow_fuse.files.written.staging import Staging


def test_what_waits_in_each_is_named_and_nothing_else_is_a_cache(tmp_path: Path) -> None:
    for name, point in (("kind/one", "/mnt/one"), ("kind/two", "/mnt/two")):
        claim(tmp_path / name, {"mount": point, "url": "s3://x"}).release()
    Staging(tmp_path / "kind/one/staging").begin(Note(b"new/file")).close()
    damaged = Staging(tmp_path / "kind/one/staging").begin(Note(b"other"))
    damaged.close()
    (tmp_path / f"kind/one/staging/{damaged.number}.json").write_text("{")
    for number, text in enumerate(("", "{", "[]", '{"mount": "/mnt/three"}')):
        folder = tmp_path / f"kind/strange{number}"
        folder.mkdir()
        (folder / "owner").write_text(text)
    assert list(caches(tmp_path)) == [
        (tmp_path / "kind/one", "/mnt/one", ["new/file", str(tmp_path / f"kind/one/staging/{damaged.number}")]),
        (tmp_path / "kind/two", "/mnt/two", []),
    ]
    assert list(caches(tmp_path / "missing")) == []
