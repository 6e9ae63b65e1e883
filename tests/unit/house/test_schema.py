# SPDX-License-Identifier: Apache-2.0
"""The schema that editors read: it takes what the product takes, and marks the place of what is wrong."""

from __future__ import annotations

import copy
import importlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator, ValidationError
from paddleflow_core.kube.document import load
from paddleflow_core.model import check, options, storage_objects
from paddleflow_core.workflow.check import check as judge
from paddleflow_core.workflow.document import Request

from tests.support import documents, examples
from tests.support.workflow import NESTED, REFERENCES
from tools import generate, schema, tree

SCHEMA = json.loads((tree.ROOT / generate.SCHEMA).read_text(encoding="utf-8"))
VALIDATOR = Draft7Validator(SCHEMA)
FILES: dict[str, Any] = {name: importlib.import_module(f"paddleflow_core.model.{name}") for name in generate.NOUNS}
DECLARED = [name for name in FILES if name != "nodecache"]  # which only agents write
EVERYTHING = """\
name: everything
docker_env: python:3.11
parallelism: 4
template_style: brackets
timeout_seconds: 60
disabled: "two, three"
cache: {enable: true, max_expired_time: "-1", mode: content}
failure_options: {strategy: continue}
fs_options: {main_fs: {name: lab, sub_path: exp}, extra_fs: [{name: data, mount_path: /data, read_only: true}]}
entry_points:
  one:
    type: step
    command: echo {{rate}}
    env: {A: 1, B: text}
    parameters: {rate: {type: float, default: 0.1, description: of learning}, words: [a, [b]], switch: true}
    artifacts: {output: [model]}
    cache: {fs_scope: [{name: lab, path: src}]}
    retry: {limit: 2, backoff_seconds: 0}
    require_outputs: true
    timeout_seconds: 5
    job:
      kind: distributed
      framework: pytorch
      limit_flavour: {cpu: 1.5, mem: 2Gi}
      schedulingPolicy: {priority: HIGH}
      members: [{role: worker, replicas: 2, env: {N: 1}}]
  two: {deps: [one], condition: "{{PF_RUN_ID}} != ''", loop_argument: [1, 2], loop_parallelism: 1, command: echo}
  three:
    entry_points: {inner: {command: echo, artifacts: {output: [out]}}}
    artifacts: {input: {model: "{{one.model}}"}, output: {result: "{{inner.out}}"}}
    deps:
post_process: {last: {command: echo}}
"""
ONES = [load(text).value for text in (NESTED, REFERENCES, EVERYTHING)]


def wrong(value: Any) -> dict[str, str]:
    """The places of what is wrong, and what is said of each."""
    found: dict[str, str] = {}
    for error in VALIDATOR.iter_errors(value):
        for one in leaves(error):
            found[place(one)] = f"{found.get(place(one), '')} {one.message}".lstrip()
    return found


def leaves(error: ValidationError) -> Iterator[ValidationError]:
    """An alternative is wrong when each of its sides is: the sides say more."""
    for below in error.context or ():
        yield from leaves(below)
    if not error.context:
        yield error


def place(error: ValidationError) -> str:
    return ".".join(map(str, error.absolute_path))


@pytest.fixture(scope="module", autouse=True)
def fast() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage_objects, "ROUNDS", 1)
        yield


def test_it_is_a_schema() -> None:
    Draft7Validator.check_schema(SCHEMA)


def test_no_text_of_documents_is_left_over() -> None:
    texts = dict(generate._read("document"))
    used = {text for part in SCHEMA["definitions"].values() for text in said(part)}
    assert [path for path, text in texts.items() if schema.plain(text) not in used] == []


def said(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("description"), str):
            yield part["description"]
        for below in part.values():
            yield from said(below)


class TestObjects:
    @pytest.mark.parametrize("name", DECLARED)
    def test_those_of_the_examples(self, name: str) -> None:
        given = [one for one in examples.declared(name) if "src" not in one]
        assert given
        for one in given:
            for built in objects(name, options.declared(FILES[name].NOUN["spec"], one)):
                assert wrong(built) == {}

    @pytest.mark.parametrize("name", DECLARED)
    @settings(max_examples=30)
    @given(st.data())
    def test_whatever_can_be_declared(self, name: str, data: st.DataObject) -> None:
        for built in objects(name, data.draw(documents.valid(FILES[name]))):
            assert wrong(json.loads(json.dumps(built))) == {}

    def test_one_with_all_that_the_api_server_adds(self) -> None:
        found = filesystem(status={"conditions": []})
        found["metadata"] |= {"uid": "1", "managedFields": [{"manager": "paddleflow"}]}
        assert wrong(found) == {}

    def test_those_of_others_are_let_be(self) -> None:
        assert wrong({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"a": "b"}}) == {}

    @pytest.mark.parametrize(
        ("change", "where", "message"),
        [
            ({"spec": {"url": "mock://data", "ur": "x"}}, "spec", "'ur' was unexpected"),
            ({"spec": {}}, "spec", "'url' is a required property"),
            ({"spec": {"url": 7}}, "spec.url", "7 is not of type 'string'"),
            ({"spec": {"url": "mock://data", "cache": {"quota": []}}}, "spec.cache.quota", "[] is not of type"),
            ({"spec": {"url": "mock://data", "cache": {"metaDriver": "ram"}}}, "spec.cache.metaDriver", "'ram' is not one of"),
            ({"spec": None}, "spec", "None is not of type 'object'"),
            ({"metadata": {"name": "Data"}}, "metadata.name", "'Data' does not match"),
            ({"kind": "Filesystem"}, "kind", "'Filesystem' is not one of"),
            ({"apiVersion": "paddleflow.org/v1"}, "apiVersion", "'paddleflow.org/v1' is not one of"),
            ({"apiVersion": "batch.paddlepaddle.org/v1alpha1"}, "kind", "'FileSystem' is not one of"),
        ],
    )  # fmt: skip
    def test_a_mistake(self, change: dict[str, Any], where: str, message: str) -> None:
        found = wrong({**filesystem(), **change})
        assert where in found, found
        assert message in found[where]

    @pytest.mark.parametrize("left", ["apiVersion", "kind"])
    def test_one_without_its_kind(self, left: str) -> None:
        found = wrong({key: value for key, value in filesystem().items() if key != left})
        assert found == {"": f"'{left}' is a required property"}


class TestDocuments:
    @pytest.mark.parametrize("value", ONES, ids=["nested", "references", "everything"])
    def test_a_good_one(self, value: Any) -> None:
        assert judge(value).errors == []
        assert wrong(value) == {}

    def test_those_of_the_examples(self) -> None:
        given = [str(one["document"]) for one in examples.declared("pipeline") if "document" in one]
        assert given
        assert [wrong(load(text).value) for text in given] == [{}] * len(given)

    @settings(max_examples=300)
    @given(st.sampled_from(ONES), st.data())
    def test_it_takes_what_the_product_takes(self, value: Any, data: st.DataObject) -> None:
        changed = copy.deepcopy(value)
        for _number in range(data.draw(st.integers(1, 3))):
            changed_somewhere(data.draw, changed)
        if not judge(changed, Request(kept=True, name="any")).errors:
            assert wrong(changed) == {}

    @pytest.mark.parametrize(
        ("entry_points", "where", "message"),
        [
            ({"a": {"comand": "echo"}}, "entry_points.a", "'comand' was unexpected"),
            ({"a": {"command": ["echo"]}}, "entry_points.a.command", "['echo'] is not of type 'string'"),
            ({"a b": {"command": "echo"}}, "entry_points", "'a b' does not match"),
            ({"a": {"entry_points": {"b": {}}, "command": "echo"}}, "entry_points.a", "'command' was unexpected"),
            ({"a": {"entry_points": {"b": {"env": {"A": True}}}}}, "entry_points.a.entry_points.b.env.A", "True is not of"),
            ({"a": {"reference": {"component": "b"}, "command": "c"}}, "entry_points.a", "'command' was unexpected"),
            ({"a": {"parameters": {"PF_A": 1}}}, "entry_points.a.parameters", "'PF_A' does not match"),
            ({"a": {"parameters": {"b": {"default": 1}}}}, "entry_points.a.parameters.b", "'type' is a required property"),
            ({"a": {"cache": {"enable": "yes"}}}, "entry_points.a.cache.enable", "'yes' is not of type"),
            ({"a": {"extra_fs": [{"sub_path": "a"}]}}, "entry_points.a.extra_fs.0", "'name' is a required property"),
            ({"a": {"timeout_seconds": 0}}, "entry_points.a.timeout_seconds", "0 is less than the minimum of 1"),
            ({"a": {"job": {"members": [{"role": "boss"}]}}}, "entry_points.a.job.members.0.role", "'boss' is not one of"),
            ({"a": {"job": {"image": "i"}}}, "entry_points.a.job", "'image' was unexpected"),
            ({}, "entry_points", "{} should be non-empty"),
        ],
    )  # fmt: skip
    def test_a_mistake(self, entry_points: Any, where: str, message: str) -> None:
        value = {"name": "a", "docker_env": "i", "entry_points": entry_points}
        assert judge(value).errors
        found = wrong(value)
        assert where in found, found
        assert message in found[where]

    def test_one_without_steps(self) -> None:
        assert wrong({"name": "a", "docker_env": "i"}) == {"": "'entry_points' is a required property"}


def filesystem(**more: Any) -> dict[str, Any]:
    metadata = {"name": "data", "namespace": "team"}
    spec = {"url": "mock://data"}
    return {"apiVersion": "paddleflow.org/v1alpha1", "kind": "FileSystem", "metadata": metadata, "spec": spec, **more}


def objects(name: str, declared: Any) -> list[dict[str, Any]]:
    file = FILES[name]
    spec, problems = check.read(file.NOUN["spec"], declared)
    assert problems == []
    return [built for built in file.build("name", "team", spec) if built["apiVersion"] == file.NOUN["api"]]


VALUES = st.sampled_from(
    [None, True, 0, 1, -1, 2.5, "", "a", "text of some words", "1", [], ["a"], [1, [2]], {}, {"a": "b"}]
)
KEYS = sorted({*SCHEMA["definitions"]["step"]["properties"], "mode", "id", "path", "limit"})


def changed_somewhere(draw: Any, value: Any) -> None:
    """One entry of it, at any depth, becomes another value, goes, or comes."""
    while True:
        below = [
            one
            for one in (value.values() if isinstance(value, dict) else value)
            if isinstance(one, (dict, list)) and one
        ]
        if not below or draw(st.integers(0, 3)) == 0:
            break
        value = draw(st.sampled_from(below))
    places = list(value) if isinstance(value, dict) else list(range(len(value)))
    where = draw(st.sampled_from(places))
    if draw(st.booleans()):
        value[where] = copy.deepcopy(draw(VALUES))
    elif draw(st.booleans()):
        del value[where]
    elif isinstance(value, dict):
        # A key that nobody knows is nothing when its value is null; an editor may still mark it.
        value[draw(st.sampled_from(KEYS))] = copy.deepcopy(draw(VALUES.filter(lambda one: one is not None)))


def test_yaml_of_an_editor_is_what_is_read() -> None:
    """The plain loader that editors' YAML is closest to gives the same value."""
    assert yaml.safe_load(EVERYTHING) == ONES[-1]
