# SPDX-License-Identifier: Apache-2.0
"""Links (storage.md 4). Addresses and properties: test_storage.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from paddleflow_core.model import check, own, storage_objects
from paddleflow_core.model import filesystem_link as link

from tests.support import stores

SPEC = link.NOUN["spec"]
S3 = {"url": "s3://b/x", "properties": {"endpoint": "e", "accessKey": "a", "secretKey": "planted"}}


@pytest.fixture(scope="module", autouse=True)
def fast() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage_objects, "ROUNDS", 1)
        yield


def said(**spec: Any) -> list[str]:
    read, problems = check.read(SPEC, {"fileSystem": "data", "path": "/models", **S3, **spec})
    return [problem.text() for problem in problems or link.problems("bert", read)]


def test_a_link_names_its_file_system_and_its_secret_is_its_own() -> None:
    secret, built = link.build("bert", "team", {"fileSystem": "data", "path": "/models", **S3})
    assert built["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "paddleflow",
        "paddleflow.org/file-system": "data",
    }
    assert built["spec"] == {
        "fileSystem": "data",
        "path": "/models",
        "url": "s3://b/x",
        "properties": {"endpoint": "e", "accessKey": "a"},
        "secretRef": {"name": "paddleflow-filesystemlink-bert"},
    }
    assert secret["metadata"]["name"] == "paddleflow-filesystemlink-bert"


def test_it_is_found_by_the_object_of_its_file_system() -> None:
    """[D-2]"""
    *_secret, built = link.build("bert", "team", {"fileSystem": "My_Data", "path": "/models", **S3})
    assert built["spec"]["fileSystem"] == "My_Data"
    assert built["metadata"]["labels"]["paddleflow.org/file-system"].startswith("my-data-")


def test_the_reference_s_words_are_read() -> None:
    read, problems = check.read(SPEC, {"fsName": "data", "fsPath": "/models", **S3})
    assert problems == []
    assert (read["fileSystem"], read["path"]) == ("data", "/models")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"path": "models"}, "path is 'models', but must be text like"),
        ({"path": "/"}, "path is '/', but must be text like"),
        ({"path": "/a//b"}, "path is '/a//b', but must be text like"),
        ({"path": "/a/"}, "path is '/a/', but must be text like"),
        ({"path": "/a/../b"}, "path is '/a/../b', but must be a path without . and ..."),
        ({"path": None}, "path is missing"),
        ({"fileSystem": None}, "fileSystem is missing"),
        ({"url": "mock://x"}, "url is 'mock://x', but must be an address of one of the types hdfs, local, s3, sftp"),
        ({"url": "afs://x:y"}, "url is 'afs://x:y', but must be an address of one of the types hdfs, local, s3, sftp"),
        ({"url": "local://x", "properties": None},
         "properties.debug is missing, but must be true where a link leads to type local."),
        ({"url": "local://x", "properties": {"debug": "false"}}, "properties.debug is missing"),
        ({"properties": {"endpoint": "e"}}, "properties.accessKey is missing, but must be given for type s3."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_link(spec: dict[str, Any], text: str) -> None:
    assert any(line.startswith(text) for line in said(**spec)), said(**spec)


@pytest.mark.parametrize(
    "spec",
    [
        {"url": "local://x", "properties": {"debug": "true"}},
        {"url": "bos://b", "properties": S3["properties"]},
        {"url": "glusterfs://host:volume", "properties": {}},
        {"url": "cfs://server/x", "properties": None},
    ],
)
def test_where_a_link_may_lead(spec: dict[str, Any]) -> None:
    """[D-11]"""
    assert said(**spec) == []


def test_errors_have_the_reference_s_codes() -> None:
    assert link.NOUN["codes"] == {"url": "InvalidLinkURL", "properties": "InvalidLinkProperties"}


@pytest.mark.parametrize(
    ("host", "good"), [("s3://b", True), ("cfs://s/x", True), ("local://x", False), ("bos://b", False)]
)
def test_which_file_systems_have_links(host: str, good: bool) -> None:
    problems = list(link.beside({"fileSystem": "data", "path": "/a"}, {"url": host}, []))
    assert [problem.path for problem in problems] == ([] if good else [("fileSystem",)])


def test_of_a_file_system_that_is_not_there_nothing_is_said() -> None:
    assert list(link.beside({"fileSystem": "data", "path": "/a"}, None, [])) == []


@pytest.mark.parametrize(
    ("path", "other", "good"),
    [("/a", "/a", False), ("/a", "/a/b", False), ("/a/b", "/a", False), ("/a", "/ab", True), ("/a/b", "/a/c", True)],
)
def test_no_link_contains_another(path: str, other: str, good: bool) -> None:
    spec = {"fileSystem": "data", "path": path}
    problems = list(link.beside(spec, S3, [{"path": other}]))
    assert [problem.code for problem in problems] == ([] if good else ["LinkPathExist"])
    assert all(
        problem.text().startswith(f"path is '{path}', but must be outside of the link {other}.") for problem in problems
    )


@given(stores.good(link.TARGETS))
def test_a_live_link_says_the_declaration_that_it_was_built_from(store: dict[str, Any]) -> None:
    read, problems = check.read(SPEC, {"fileSystem": "My_Data", "path": "/a/b", **store})
    assert problems == []
    assert list(link.problems("a link", read)) == []
    *secret, built = link.build("a link", "team", read)
    (again,) = link.build(own.name_of(built), "team", link.declared(built))
    if secret:  # which is not read back, only referred to
        del built["metadata"]["annotations"][storage_objects.DIGEST]
    assert again == built


def test_the_secret_of_a_link_goes_with_it() -> None:
    (secret,) = link.belongings("more", "science")
    assert secret["metadata"] == {"name": "paddleflow-filesystemlink-more", "namespace": "science"}
