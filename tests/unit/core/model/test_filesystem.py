# SPDX-License-Identifier: Apache-2.0
"""File systems (storage.md 1 to 3). Addresses and properties: test_storage.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.model import check, filesystem, own, storage_objects

from tests.support import documents, stores

SPEC, NAME = filesystem.NOUN["spec"], filesystem.NOUN["name"]
LOCAL = {"url": "local://mnt/data"}


@pytest.fixture(scope="module", autouse=True)
def fast() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage_objects, "ROUNDS", 1)
        yield


def said(name: str = "data", **spec: Any) -> list[str]:
    read, problems = check.read({"name": NAME, **SPEC}, {"name": name, **LOCAL, **spec})
    return [problem.text() for problem in problems or filesystem.problems(read.pop("name"), read)]


def test_owner_and_name_stand_in_fields_and_the_id_is_for_people() -> None:
    """[D-1]"""
    (built,) = filesystem.build("da-ta", "team", {**LOCAL, "owner": "a-b"})
    assert built["metadata"] == {
        "name": "da-ta",
        "namespace": "team",
        "labels": {"app.kubernetes.io/managed-by": "paddleflow", "paddleflow.org/owner": "a-b"},
        "annotations": {"paddleflow.org/fs-id": "fs-a-b-da-ta"},
    }
    assert built["spec"] == {**LOCAL, "owner": "a-b"}
    assert filesystem.declared(built) == {**LOCAL, "owner": "a-b"}


def test_without_an_owner_it_is_the_namespace_s() -> None:
    (built,) = filesystem.build("data", "team", LOCAL)
    assert built["metadata"]["labels"]["paddleflow.org/owner"] == "team"
    assert built["metadata"]["annotations"]["paddleflow.org/fs-id"] == "fs-team-data"
    assert "owner" not in built["spec"]


def test_a_name_that_no_object_can_have_becomes_a_slug() -> None:
    """[D-2]"""
    names = [filesystem.build(name, "team", LOCAL)[0]["metadata"]["name"] for name in ("My_Data", "my-data", "my_data")]
    assert names[1] == "my-data"
    assert len(set(names)) == 3
    (built,) = filesystem.build("My_Data", "team", LOCAL)
    assert own.name_of(built) == "My_Data"
    assert built["metadata"]["annotations"]["paddleflow.org/fs-id"] == "fs-team-My_Data"


@pytest.mark.parametrize(
    ("name", "spec", "text"),
    [
        ("a b", {}, "name is 'a b', but must be text like ^[a-zA-Z0-9_-]{1,63}$."),
        ("a" * 64, {}, "name is 'aaa"),
        ("a" * 50, {"owner": "b" * 10}, "name is 60 characters long together with the owner, but must be at most 59 chara"),
        ("a", {"owner": ""}, "owner is '', but must be text like"),
        ("a", {"username": "-"}, "owner is '-', but must be text like"),
        ("a", {"url": "ftp://x/y"}, "url is 'ftp://x/y', but must be an address of one of the types"),
        ("a", {"properties": {"debug": "x"}}, "properties.debug is 'x', but must be true or false."),
        ("a", {"secretRef": {}}, "secretRef.name is missing"),
        ("a", {"cache": {"metaDriver": "disk"}}, "cache.cacheDir is missing, but must be given where metaDriver is disk."),
        ("a", {"cache": {"resource": {"cpuLimit": 3}}}, "cache.resource.cpuLimit is 3, but must be above 0 and at most 2."),
        ("a", {"cache": {"cacheDir": "var/cache"}}, "cache.cacheDir is 'var/cache', but must be text like"),
        ("a", {"cache": {"metaDriver": "redis"}}, "cache.metaDriver is 'redis', but must be one of mem, disk."),
        ("a", {"id": "fs-a-b"}, "id is not known here"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_system(name: str, spec: dict[str, Any], text: str) -> None:
    assert any(line.startswith(text) for line in said(name, **spec)), said(name, **spec)


@pytest.mark.parametrize(
    ("word", "driver"), [("default", "mem"), ("", "mem"), ("nutsdb", "disk"), ("LevelDB", "disk"), ("badgerdb", "disk")]
)
def test_old_words_of_a_policy_are_read_within_a_file_system_too(word: str, driver: str) -> None:
    spec, problems = check.read(SPEC, {**LOCAL, "cache": {"metaDriver": word, "cacheDir": "/c"}})
    assert (problems, spec["cache"]["metaDriver"]) == ([], driver)


def test_names_together_may_fill_the_id() -> None:
    assert said("a" * 49, owner="b" * 10, independentMountProcess="yes") == []


def test_the_namespace_is_the_owner_where_none_is_declared() -> None:
    for name, wrong in (
        ("a" * 55, []),
        ("a" * 56, ["name is 60 characters long together with the owner, team, but must be at"]),
    ):
        built = filesystem.build(name, "team", {"url": "local://mnt/data"})[-1]
        texts = [problem.text() for problem in filesystem.placed(built)]
        assert [text.startswith(start) for text, start in zip(texts, wrong, strict=True)] == [True] * len(wrong)


def test_errors_have_the_reference_s_codes() -> None:
    assert filesystem.NOUN["codes"] == {
        "owner": "AuthFailed",
        "name": "FileSystemNameFormatError",
        "url": "InvalidFileSystemParamsURL",
        "properties": "InvalidFileSystemParamsProperties",
    }


REST = {name: SPEC[name] for name in ("owner", "independentMountProcess")}


@given(stores.good(), documents.objects(REST), st.from_regex(r"[a-zA-Z0-9_-]{1,63}", fullmatch=True))
def test_a_live_file_system_says_the_declaration_that_it_was_built_from(
    store: dict[str, Any], rest: dict[str, Any], name: str
) -> None:
    read, problems = check.read(SPEC, {**store, **rest, "cache": {"quota": "1Gi"}})
    assert problems == []
    *secret, built = filesystem.build(name, "team", read)
    (again,) = filesystem.build(own.name_of(built), "team", filesystem.declared(built))
    if secret:  # which is not read back, only referred to
        del built["metadata"]["annotations"][storage_objects.DIGEST]
    assert again == built


def test_the_secret_of_a_file_system_goes_with_it() -> None:
    (secret,) = filesystem.belongings("Corpus", "science")
    spec = {"url": "s3://corpus/", "properties": {"endpoint": "https://s3", "accessKey": "a", "secretKey": "b"}}
    made, _found = filesystem.build("Corpus", "science", spec)
    assert secret["metadata"] == {key: made["metadata"][key] for key in ("name", "namespace")}
    assert (secret["apiVersion"], secret["kind"]) == ("v1", "Secret")
