# SPDX-License-Identifier: Apache-2.0
"""What is remembered of other people's kinds, for how long, and where."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from paddleflow_core.kube.discovery import SECONDS, Discovery, cache_folder
from paddleflow_core.kube.errors import BadRequestError, KindNotServedError, ServerError
from paddleflow_core.kube.kinds import Kind
from paddleflow_core.kube.transport import Transport

from tests.support.kube_stub import Step, Stub, ok, refuse

Connect = Callable[..., Transport]
GROUP = "kubeflow.org/v1"
TFJOB = Kind(GROUP, "TFJob", "tfjobs", True)


def served(*kinds: tuple[str, str, bool]) -> Step:
    resources = [{"kind": kind, "name": plural, "namespaced": namespaced} for kind, plural, namespaced in kinds]
    return ok({"resources": [*resources, {"kind": "Scale", "name": "tfjobs/scale", "namespaced": True}]})


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(connect: Connect, tmp_path: Path, clock: Clock) -> Callable[..., Discovery]:
    def made(folder: Path | None = tmp_path / "cache/discovery", **connection: Any) -> Discovery:
        return Discovery(connect(**connection), folder, clock)

    return made


Make = Callable[..., Discovery]


def test_one_group_is_asked_for_once(stub: Stub, make: Make) -> None:
    stub.steps = [served(("TFJob", "tfjobs", True), ("Cluster", "clusters", False))]
    discovery = make()
    assert discovery.find(GROUP, "TFJob") == TFJOB
    assert not discovery.find(GROUP, "Cluster").namespaced
    assert [seen.path for seen in stub.seen] == ["/apis/kubeflow.org/v1"]


def test_the_next_process_remembers_for_ten_minutes(stub: Stub, make: Make, clock: Clock) -> None:
    stub.always = served(("TFJob", "tfjobs", True))
    make().find(GROUP, "TFJob")
    clock.now += SECONDS - 1
    assert make().find(GROUP, "TFJob") == TFJOB
    assert len(stub.seen) == 1
    clock.now += 2
    make().find(GROUP, "TFJob")
    assert len(stub.seen) == 2


def test_a_moment_of_another_clock_is_not_trusted(stub: Stub, make: Make, clock: Clock) -> None:
    stub.always = served(("TFJob", "tfjobs", True))
    make().find(GROUP, "TFJob")
    clock.now -= 3600
    make().find(GROUP, "TFJob")
    assert len(stub.seen) == 2


def test_a_kind_that_was_added_is_found_at_once(stub: Stub, make: Make) -> None:
    stub.steps = [served(("TFJob", "tfjobs", True)), served(("TFJob", "tfjobs", True), ("MPIJob", "mpijobs", True))]
    discovery = make()
    discovery.find(GROUP, "TFJob")
    assert discovery.find(GROUP, "MPIJob").plural == "mpijobs"


def test_a_kind_that_is_not_there_is_told_with_those_that_are(stub: Stub, make: Make) -> None:
    stub.always = served(("TFJob", "tfjobs", True))
    with pytest.raises(
        KindNotServedError, match=r"serves kubeflow.org/v1, but no TfJob in it: correct the kind \(it has TFJob\)"
    ):
        make().find(GROUP, "TfJob")
    assert len(stub.seen) == 1


def test_a_group_that_is_not_there_is_told(stub: Stub, make: Make) -> None:
    stub.always = refuse(404, "NotFound")
    with pytest.raises(
        KindNotServedError, match=r"does not serve TFJob of kubeflow.org/v1: install its CustomResource"
    ):
        make().find(GROUP, "TFJob")


def test_a_broken_group_breaks_no_other(stub: Stub, make: Make) -> None:
    """As metrics.k8s.io is while its server is down. Asking for everything would fail with it."""
    stub.always = refuse(503, "ServiceUnavailable")
    discovery = make()
    with pytest.raises(ServerError):
        discovery.find("metrics.k8s.io/v1beta1", "NodeMetrics")
    stub.always = served(("TFJob", "tfjobs", True))
    assert discovery.find(GROUP, "TFJob") == TFJOB


@pytest.mark.parametrize("api_version", ["", "/v1", "a/", "a/../b", "a b/v%2f"])
def test_what_is_no_version_is_never_asked_for(stub: Stub, make: Make, api_version: str) -> None:
    with pytest.raises(BadRequestError):
        make().find(api_version, "X")
    assert stub.seen == []


# ---- the file -------------------------------------------------------------------------------------------------------


def files(folder: Path) -> list[Path]:
    return sorted((folder / "cache/discovery").iterdir())


def test_the_file_is_private_and_of_one_server_and_user(stub: Stub, make: Make, tmp_path: Path) -> None:
    stub.always = served(("TFJob", "tfjobs", True))
    for connection in ({}, {"source": "another"}, {"impersonate": (("Impersonate-User", "ann"),)}):
        make(**connection).find(GROUP, "TFJob")
    assert len(files(tmp_path)) == 3
    assert (tmp_path / "cache/discovery").stat().st_mode & 0o777 == 0o700
    assert all("t0ken" not in path.read_text(encoding="utf-8") + path.name for path in files(tmp_path))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b'{"a": 1}', b'{"kubeflow.org/v1": [1, {"TFJob": []}]}'])
def test_a_damaged_file_costs_a_request(stub: Stub, make: Make, tmp_path: Path, content: bytes) -> None:
    stub.always = served(("TFJob", "tfjobs", True))
    make().find(GROUP, "TFJob")
    (file,) = files(tmp_path)
    file.write_bytes(content)
    assert make().find(GROUP, "TFJob") == TFJOB
    assert json.loads(file.read_bytes())[GROUP][1] == {"TFJob": ["tfjobs", True]}


def test_a_folder_that_others_can_write_to_is_not_used(stub: Stub, make: Make, tmp_path: Path) -> None:
    """What is in it decides where objects are sent."""
    stub.always = served(("TFJob", "tfjobs", True))
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    for _time in range(2):
        make(folder).find(GROUP, "TFJob")
    assert len(stub.seen) == 2
    assert list(folder.iterdir()) == []


def test_without_a_folder_that_can_be_made_it_works_too(stub: Stub, make: Make, tmp_path: Path) -> None:
    stub.always = served(("TFJob", "tfjobs", True))
    (tmp_path / "file").write_text("", encoding="utf-8")
    for folder in (None, tmp_path / "file/cache"):
        discovery = make(folder)
        assert [discovery.find(GROUP, "TFJob") for _time in range(2)] == [TFJOB, TFJOB]
    assert len(stub.seen) == 2


def test_a_full_disk_leaves_nothing_behind(
    stub: Stub, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_self: Path, _target: object) -> None:
        raise OSError(28, "No space left on device")

    stub.always = served(("TFJob", "tfjobs", True))
    monkeypatch.setattr(Path, "replace", full)
    assert make().find(GROUP, "TFJob") == TFJOB
    assert files(tmp_path) == []


def test_many_at_once_leave_one_whole_file(stub: Stub, make: Make, tmp_path: Path) -> None:
    stub.always = served(("TFJob", "tfjobs", True))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: make().find(f"group{number % 4}/v1", "TFJob").plural, range(32)))
    assert found == ["tfjobs"] * 32
    (file,) = files(tmp_path)
    assert json.loads(file.read_bytes())


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/paddleflow/discovery"),
        ({"HOME": "/h"}, "/h/.cache/paddleflow/discovery"),
        ({"XDG_CACHE_HOME": "relative"}, None),
        ({}, None),
    ],
)
def test_where_the_folder_is(environment: dict[str, str], folder: str | None) -> None:
    assert cache_folder(environment) == (Path(folder) if folder else None)


def test_a_foreign_folder_is_not_used(stub: Stub, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.always = served(("TFJob", "tfjobs", True))
    make().find(GROUP, "TFJob")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    make().find(GROUP, "TFJob")
    assert len(stub.seen) == 2
