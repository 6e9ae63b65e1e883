# SPDX-License-Identifier: Apache-2.0
"""What holds for flavours, file systems with their links and policies, data sets and pipelines alike."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.model import check, crd, storage_objects
from paddleflow_core.model.table import Noun

from tests.support import documents
from tools import generate

NAMES = (
    "flavour", "filesystem", "filesystem_link", "filesystem_cache", "sampleset", "samplejob", "pipeline", "pipeline_run",
    "pipeline_schedule",
)  # fmt: skip
FILES = {name: importlib.import_module(f"paddleflow_core.model.{name}") for name in NAMES}


@pytest.fixture(scope="module", autouse=True)
def fast() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage_objects, "ROUNDS", 1)
        yield


def test_every_kind_of_ours_is_generated() -> None:
    assert {name for name in NAMES if "rules" in FILES[name].NOUN} <= set(generate.NOUNS)


@pytest.mark.parametrize("name", NAMES)
def test_every_field_has_a_text(name: str) -> None:
    texts = generate.texts(name)
    assert texts[""]
    schema = crd.structure(FILES[name].NOUN["spec"], "spec", texts)
    said = [text for text in _descriptions(schema) if not text.strip().endswith(".")]
    assert said == []


@pytest.mark.parametrize("name", NAMES)
def test_no_text_is_left_over(name: str) -> None:
    noun: Noun = FILES[name].NOUN
    used = {"", "spec", "status", *_paths(noun["spec"], "spec"), *_paths(dict(noun).get("status", {}), "status")}
    assert sorted(set(generate.texts(name)) - set(generate._read("shared")) - used) == []


def test_no_shared_text_is_left_over() -> None:
    used: set[str] = set()
    for file in FILES.values():
        used |= {*_paths(file.NOUN["spec"], "spec"), *_paths(file.NOUN.get("status", {}), "status")}
    prefixes = ("url", "secretRef", "properties", "cache", "sample", "pipeline")
    assert sorted(path for path in generate._read("shared") if path.startswith(prefixes) and path not in used) == []


def _descriptions(schema: dict[str, Any]) -> Iterator[str]:
    for part in schema.get("properties", {}).values():
        yield part["description"]
        yield from _descriptions(part)
        yield from _descriptions(part.get("items", {}))


def _paths(fields: Any, path: str) -> Iterator[str]:
    for name, field in fields.items():
        here = field.get("doc", f"{path}.{name}")
        yield here
        yield from _paths(field.get("fields", {}), here)
        yield from _paths(field.get("items", {}).get("fields", {}), here)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
)


@st.composite
def broken(draw: st.DrawFn, fields: Any) -> Any:
    """A good declaration with anything at one place, at any depth."""
    document: dict[str, Any] = draw(documents.objects(fields))
    place = document
    while place:
        key = draw(st.sampled_from(sorted(place)))
        below = place[key]
        if not isinstance(below, dict) or draw(st.booleans()):
            place[key] = draw(JSON)
            return document
        place = below
    return draw(JSON)


@pytest.mark.parametrize("name", NAMES)
@given(st.data())
def test_no_declaration_whatsoever_makes_it_fail(name: str, data: st.DataObject) -> None:
    file = FILES[name]
    spec, problems = check.read(file.NOUN["spec"], data.draw(broken(file.NOUN["spec"])))
    if not problems and not list(file.problems("name", spec)):
        built = file.build("name", "team", spec)[-1]
        assert built["kind"] == file.NOUN["kind"]
        assert file.build("name", "team", file.declared(built))[-1]["spec"] == built["spec"]
