# SPDX-License-Identifier: Apache-2.0
"""verify.yml proves what the quickstart promised, in a table."""

from __future__ import annotations

from tests.cluster.conftest import LOGS, VARIABLES, Platform
from tests.support import plays


def test_verify_finds_that_everything_holds(platform: Platform) -> None:
    play = plays.run("paddleflow.core.verify", VARIABLES, log=LOGS / "cluster-verify.log", **plays.IN_PROCESS).ok()
    assert play.recap["failed"] == 0
    left = platform.get("namespaces")["items"]
    assert not [item["metadata"]["name"] for item in left if item["metadata"]["name"].startswith("paddleflow-verify")]
