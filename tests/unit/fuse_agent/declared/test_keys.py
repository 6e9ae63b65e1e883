# SPDX-License-Identifier: Apache-2.0
"""Whose keys are refused. tests/agent/test_declared.py asks a real bucket."""

from __future__ import annotations

import errno
from typing import Any, NoReturn

import pytest
from paddleflow_fuse.declared import keys

ONE: dict[str, Any] = {
    "name": "corpus", "url": "s3://corpus", "mount_point": "/data/corpus", "properties": {"endpoint": "https://store"},
    "options": {"read-only": None}, "secrets": {"accessKey": "a", "secretKey": "hidden"},
}  # fmt: skip


def test_what_is_left_empty_is_not_given() -> None:
    assert keys.given(ONE) == {"endpoint": "https://store"}
    assert keys.given({"name": "corpus"}) == {}


@pytest.mark.parametrize(("code", "is_refused"), [(errno.EACCES, True), (errno.EIO, False), (errno.ETIMEDOUT, False)])
def test_only_a_store_that_answers_refuses(monkeypatch: pytest.MonkeyPatch, code: int, is_refused: bool) -> None:
    def nobody(_wanted: object, _tell: object) -> NoReturn:
        raise OSError(code, "what it says")

    monkeypatch.setattr(keys, "make", nobody)
    told = keys.refused(ONE)
    assert ("what it says" in told, "hidden" in told) == (is_refused, False)
