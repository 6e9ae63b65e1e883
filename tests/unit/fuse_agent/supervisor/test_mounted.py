# SPDX-License-Identifier: Apache-2.0
"""What is said of a mount beside serving it, and what of a mount before is served on."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from paddleflow_fuse.control import store
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.supervisor.mounted import adopt, limits
from paddleflow_fuse.supervisor.settings import Settings, parse

TERMS = {"point": "/mnt/data", "device": "0:0", "agreed": [41, 0, 1 << 17, 1 << 17, 0], "lacks": []}


def settings(point: str = "/mnt/data", label: str = "") -> Settings:
    return parse(json.dumps({"point": point, "source": "test", "label": label}))


def kept(region: int, **terms: object) -> dict[str, int]:
    """With a descriptor that does not end in place of /dev/fuse."""
    held = store({**TERMS, **terms}, "test")
    return {"fuse": os.open("/dev/null", os.O_RDWR), "region": region, "terms": held, "keep.owner": 99}


def test_a_limit_that_ends_a_mount_is_said(tmp_path: Path) -> None:
    assert limits(tmp_path) == []
    (tmp_path / "default_request_timeout").write_text("0\n")
    (tmp_path / "max_request_timeout").write_text("60\n")
    (said,) = limits(tmp_path)
    assert said == "waiting longer than 60 s for an answer (fs.fuse.max_request_timeout ends the whole mount then)"


def test_what_was_kept_is_served_on(region: Region) -> None:
    given = kept(os.dup(region.descriptor))
    found = adopt(given, settings())
    assert found is not None
    assert (found.point, found.device, sorted(found.held)) == ("/mnt/data", "0:0", ["fuse", "region", "terms"])
    assert given == {"keep.owner": 99}
    found.close()


@pytest.mark.parametrize(
    ("label", "goes_on"), [("corpus:1.1", True), ("corpus:1.2", True), ("corpus:2.1", False), ("other:1.1", False)]
)
def test_what_may_change_under_a_mount_makes_no_other_of_it(region: Region, label: str, goes_on: bool) -> None:
    found = adopt(kept(os.dup(region.descriptor), declared=["test", "corpus:1"]), settings(label=label))
    assert bool(found) is goes_on
    if found:
        found.close()


def test_where_nothing_was_kept_there_is_nothing() -> None:
    given = {"keep.owner": 99}
    assert adopt(given, settings()) is None
    assert given == {"keep.owner": 99}


@pytest.mark.parametrize(
    ("point", "lost", "spoilt", "why"),
    [
        ("/mnt/data", "region", False, "region was not kept"),
        ("/mnt/other", "", False, "it is mounted on /mnt/data"),
        ("/mnt/data", "", True, "is no table of nodes"),
    ],
)
def test_what_cannot_be_served_on_is_said_to_be_none_and_let_go(
    region: Region, point: str, lost: str, spoilt: bool, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    memory = os.memfd_create("test") if spoilt else os.dup(region.descriptor)
    given = kept(memory)
    if lost:
        os.close(given.pop(lost))
    held = [number for name, number in given.items() if name != "keep.owner"]
    assert adopt(given, settings(point)) is None
    assert given == {"keep.owner": 99}
    (record,) = caplog.records
    assert why in str(vars(record)["facts"]["why"])
    for number in held:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(number)
