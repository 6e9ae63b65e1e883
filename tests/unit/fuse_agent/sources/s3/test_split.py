# SPDX-License-Identifier: Apache-2.0
"""A bucket that is asked here and in a helper: it is there before the helper is."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Any

import pytest
from paddleflow_fuse.sources import far
from paddleflow_fuse.sources.base import quiet
from paddleflow_fuse.sources.far import FarSource
from paddleflow_fuse.sources.make import Wanted, here, make

from tests.support.source_suite import failing

URL, PLACE = "s3://bucket", {"endpoint": "http://127.0.0.1:1"}


@pytest.mark.parametrize("persist", [False, True])
def test_what_it_can_is_known_without_asking_the_helper(
    keys: str, monkeypatch: pytest.MonkeyPatch, persist: bool
) -> None:
    def ask(_source: FarSource, name: str, *_given: Any) -> Any:
        raise AssertionError(
            f"the helper was asked for {name}, and whoever was killed serves nobody until it has loaded"
        )

    monkeypatch.setattr(FarSource, "_ask", ask)
    wanted = Wanted(URL, {**PLACE, "persistAttributes": persist}, "", keys)
    near, whole = make(wanted, quiet), here(wanted, quiet)
    try:
        assert near.abilities == whole.abilities
        assert near.abilities.keeps is persist
    finally:
        near.close()
        whole.close()


def test_a_helper_that_ends_at_once_is_told_of_when_it_is_asked(keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far, "_HELPER", (sys.executable, "-S", "-c", "pass"))
    source = make(Wanted(URL, PLACE, "", keys), quiet)
    try:
        with failing(errno.EIO):
            source.target(b"link")
    finally:
        source.close()


@pytest.fixture
def keys(tmp_path: Path) -> str:
    path = tmp_path / "keys"
    path.write_text('{"accessKey": "a", "secretKey": "b"}')
    return str(path)
