# SPDX-License-Identifier: Apache-2.0
"""The cache policy of a file system (storage.md 5)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from paddleflow_core.model import check, filesystem, filesystem_cache

from tests.support import documents

SPEC = filesystem_cache.NOUN["spec"]


def said(**spec: Any) -> list[str]:
    read, problems = check.read(SPEC, spec)
    return [problem.text() for problem in problems or filesystem_cache.problems("data", read)]


def test_the_policy_is_a_part_of_its_file_system_and_nothing_more() -> None:
    (built,) = filesystem_cache.build("My_Data", "team", {"cacheDir": "/cache"})
    (whole,) = filesystem.build("My_Data", "team", {"url": "local://mnt"})
    assert built == {
        "apiVersion": whole["apiVersion"],
        "kind": whole["kind"],
        "metadata": {"name": whole["metadata"]["name"], "namespace": "team"},
        "spec": {"cache": {"cacheDir": "/cache"}},
    }


def test_it_is_written_by_a_manager_of_its_own() -> None:
    assert filesystem_cache.NOUN["manager"] == "paddleflow-cache"
    assert "manager" not in filesystem.NOUN


@given(documents.objects(SPEC))
def test_a_live_policy_says_the_declaration_that_it_was_built_from(spec: dict[str, Any]) -> None:
    read, problems = check.read(SPEC, spec)
    assert problems == []
    assume(not list(filesystem_cache.problems("data", read)))
    (built,) = filesystem_cache.build("data", "team", read)
    assert filesystem_cache.declared(built) == read
    assert filesystem_cache.build("data", "team", filesystem_cache.declared(built)) == [built]


@pytest.mark.parametrize(
    ("word", "driver"),
    [("mem", "mem"), ("disk", "disk"), ("", "mem"), ("default", "mem"), ("badgerdb", "disk"), ("nutsdb", "disk"),
     ("LevelDB", "disk")],
)  # fmt: skip
def test_old_words_for_the_driver_are_understood_with_a_warning(word: str, driver: str) -> None:
    """[D-12]"""
    assert check.read(SPEC, {"metaDriver": word}) == ({"metaDriver": driver}, [])
    warnings = [problem.text() for problem in filesystem_cache.warnings({"metaDriver": word})]
    old = word not in ("mem", "disk", "")
    assert warnings == ([f"metaDriver is '{word}', but must be '{driver}'. The old word will go."] if old else [])


@pytest.mark.parametrize("given", [{}, {"metaDriver": None}, {"metaDriver": 3}, {"metaDriver": "unknown"}])
def test_what_is_no_old_word_brings_no_warning(given: dict[str, Any]) -> None:
    assert list(filesystem_cache.warnings(given)) == []


def test_no_data_cache_is_told_from_the_default_size() -> None:
    """[D-13]"""
    assert said(blockSize=0) == []
    assert check.read(SPEC, {"blockSize": 0})[0] == {"blockSize": 0}
    assert check.read(SPEC, {})[0] == {}


def test_taints_that_mount_pods_tolerate() -> None:
    """[D-15]"""
    assert filesystem_cache.tolerations({}) == []
    assert filesystem_cache.tolerations({"nodeTaintToleration": {"dedicated": "cache", "gpu": ""}}) == [
        {"key": "dedicated", "operator": "Equal", "value": "cache"},
        {"key": "gpu", "operator": "Exists"},
    ]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({}, "the declaration is empty, but must be at least one field of a policy. The state absent takes it away."),
        ({"cacheDir": "cache"}, "cacheDir is 'cache', but must be text like"),
        ({"cacheDir": "/"}, "cacheDir is '/', but must be text like"),
        ({"cacheDir": "/a/../b"}, "cacheDir is '/a/../b', but must be a directory without .. in its path."),
        ({"metaDriver": "disk"}, "cacheDir is missing, but must be given where metaDriver is disk."),
        ({"metaDriver": "disk", "cacheDir": ""}, "cacheDir is missing"),
        ({"metaDriver": "sql"}, "metaDriver is 'sql', but must be one of mem, disk."),
        ({"blockSize": -1}, "blockSize is -1, but must be a quantity of at least 0"),
        ({"blockSize": "1500m"}, "blockSize is 1500m, but must be a whole number of bytes."),
        ({"quota": "many"}, "quota is 'many', but must be a quantity"),
        ({"quota": 0.5}, "quota is 0.5, but must be a whole number of bytes."),
        ({"resource": {"cpuLimit": "2001m"}}, "resource.cpuLimit is 2001m, but must be above 0 and at most 2."),
        ({"resource": {"cpuLimit": 0}}, "resource.cpuLimit is 0, but must be above 0 and at most 2."),
        ({"resource": {"memoryLimit": "9Gi"}}, "resource.memoryLimit is 9Gi, but must be above 0 and at most 8Gi."),
        ({"extraConfig": {"password": "x"}}, "extraConfig.password is given, but must be left out. What an agent mounts"),
        ({"extraConfig": {"--uid": "x"}}, "extraConfig.--uid is a name of the wrong form"),
        ({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "In"}]}}]}},
         "nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values is [], but"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_policy(spec: dict[str, Any], text: str) -> None:
    assert any(line.startswith(text) for line in said(**spec)), said(**spec)


def test_a_good_policy_has_no_problems() -> None:
    """[D-14], [D-16], [D-17]: a quota in any unit, affinity, and everything but the driver's directory for itself."""
    assert said(
        cacheDir="/var/cache/fs",
        metaDriver="disk",
        blockSize="20Mi",
        quota="200Gi",
        cleanCache="yes",
        resource={"cpuLimit": 2, "memoryLimit": "8192Mi"},
        nodeTaintToleration={"dedicated": "cache"},
        extraConfig={"attr-timeout": 5},
        debug=True,
    ) == []  # fmt: skip
    assert [name for name, field in SPEC.items() if field.get("immutable") or field.get("required")] == []
