# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from paddleflow_node.host import Config

from tests.support.node_config import RAW


@pytest.fixture
def config(tmp_path: Path) -> Config:
    loaded = Config.load(json.dumps(RAW))
    return replace(loaded, data_dir=tmp_path / "data", run_dir=tmp_path / "run")
