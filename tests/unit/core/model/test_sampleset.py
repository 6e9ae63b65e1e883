# SPDX-License-Identifier: Apache-2.0
"""Data sets (paddlejob.md 8)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from paddleflow_core.model import check, own, sampleset

from tests.support import documents

SPEC = sampleset.NOUN["spec"]
GOOD = {"source": {"uri": "s3://bucket.endpoint/pictures"}, "secretRef": {"name": "keys"}}


def said(**spec: Any) -> list[str]:
    read, problems = check.read(SPEC, {**GOOD, **spec})
    return [problem.text() for problem in problems or sampleset.problems("pictures", read)]


def test_a_data_set_is_its_declaration() -> None:
    (built,) = sampleset.build("pictures", "team", GOOD)
    assert built == {
        "apiVersion": "batch.paddlepaddle.org/v1alpha1",
        "kind": "SampleSet",
        "metadata": {
            "name": "pictures",
            "namespace": "team",
            "labels": {"app.kubernetes.io/managed-by": "paddleflow"},
        },
        "spec": GOOD,
    }


@given(documents.objects(SPEC))
def test_a_live_data_set_says_the_declaration_that_it_was_built_from(spec: dict[str, Any]) -> None:
    read, problems = check.read(SPEC, spec)
    assert problems == []
    list(sampleset.problems("pictures", read))
    (built,) = sampleset.build("pictures", "team", read)
    assert sampleset.build(own.name_of(built), "team", sampleset.declared(built)) == [built]


def levels(*paths: str) -> dict[str, Any]:
    return {"cache": {"levels": [{"mediumType": "ssd", "path": path, "cacheSize": "1024"} for path in paths]}}


def mounted(**options: Any) -> dict[str, Any]:
    return {"csi": {"juiceFSMountOptions": {name.replace("_", "-"): value for name, value in options.items()}}}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"secretRef": None}, "secretRef.name is missing, but must be the name of a Secret, or none where"),
        ({"secretRef": {"namespace": "x"}}, "secretRef.name is missing"),
        ({"source": None}, "source.uri is missing, but must be given unless noSync says"),
        ({"source": {"uri": "s3://a"}}, "source.uri is 's3://a', but must be text from 10 to 4096 characters."),
        ({"source": {"uri": "bucket/pictures"}}, "source.uri is 'bucket/pictures', but must be like <scheme>://"),
        ({"source": {"uri": "s3://bucket://x"}}, "source.uri is 's3://bucket://x', but must be like <scheme>://"),
        ({"source": {"uri": "ftp://bucket/x"}}, "source.uri is 'ftp://bucket/x', but must be an address of one of b2, bos"),
        ({"source": {"uri": "s3://ak:planted@bucket/x"}}, "source.uri is a value that is not shown, but must be an address w"),
        ({"partitions": 0}, "partitions is 0, but must be a whole number from 1 to"),
        ({"csi": {"driver": "other"}}, "csi.driver is 'other', but must be one of juicefs."),
        (mounted(free_space_ratio="1"), "csi.juiceFSMountOptions.free-space-ratio is '1', but must be a number from 0"),
        (mounted(free_space_ratio="15e-1"), "csi.juiceFSMountOptions.free-space-ratio is '15e-1', but must be a number from 0"),
        (mounted(free_space_ratio="-0.1"), "csi.juiceFSMountOptions.free-space-ratio is '-0.1'"),
        (mounted(free_space_ratio="x"), "csi.juiceFSMountOptions.free-space-ratio is 'x'"),
        (mounted(attr_cache=-1), "csi.juiceFSMountOptions.attr-cache is -1"),
        (mounted(unknown=1), "csi.juiceFSMountOptions.unknown is not known here"),
        ({"cache": {"levels": []}}, "cache.levels is [], but must be a list from 1 to 16 entries."),
        (levels("cache"), "cache.levels[0].path is 'cache', but must be absolute directories without .., between colons."),
        (levels("/a", "/b:/c/../d"), "cache.levels[1].path is '/b:/c/../d'"),
        ({"tolerations": [{"operator": "Is"}]}, "tolerations[0].operator is 'Is'"),
        ({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In"}]}]}}},
         "nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values is []"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_data_set(spec: dict[str, Any], text: str) -> None:
    assert any(line.startswith(text) for line in said(**spec)), said(**spec)


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"secretRef": {"name": "none"}},
        {"source": {"uri": "file:///data/pictures"}},
        {"source": {"uri": "bucket.endpoint/x"}, "noSync": True},
        {"source": None, "noSync": True},
        levels("/dev/shm/a", "/b:/c"),
        {"cache": {"levels": [{"mediumType": "HDD"}]}},
        mounted(free_space_ratio="0.2", enable_xattr=True, cache_size=307200),
        mounted(free_space_ratio=0),
        mounted(free_space_ratio="5e-1"),
        mounted(free_space_ratio=".5"),
        mounted(free_space_ratio="0.0"),
    ],
)
def test_a_good_data_set_has_no_problems(spec: dict[str, Any]) -> None:
    assert said(**spec) == []


def test_what_the_definition_keeps_of_the_reference_s() -> None:
    """Columns and names; nothing of the spec is required, as there."""
    assert [column["name"] for column in sampleset.NOUN["columns"]] == [
        "TOTAL SIZE", "CACHED SIZE", "AVAIL SPACE", "Runtime", "PHASE", "AGE",
    ]  # fmt: skip
    assert [name for name, field in SPEC.items() if field.get("required")] == []
    assert sampleset.NOUN["short_names"] == ["sps"]


@pytest.mark.parametrize(
    ("name", "good"), [("a" * 55, True), ("a" * 56, False), ("a-1", True), ("A", False), ("a\n", False)]
)
def test_the_form_of_its_name(name: str, good: bool) -> None:
    assert (check.read({"name": sampleset.NOUN["name"]}, {"name": name})[1] == []) is good
