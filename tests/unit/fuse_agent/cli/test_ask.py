# SPDX-License-Identifier: Apache-2.0
"""Agents that do not answer whoever asks how they are."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from paddleflow_fuse.cli import ask
from paddleflow_fuse.supervisor.status import address


def test_who_is_there_and_says_nothing_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "_STATUS", 0.2)
    point = tmp_path / "mount"
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(address(tmp_path, point)))
        end.listen()
        with pytest.raises(ask.AskError, match="is there and does not answer within"):
            ask.last(tmp_path, point, "status")
    with pytest.raises(ask.GoneError, match="No agent serves"):
        ask.last(tmp_path, point, "status")
