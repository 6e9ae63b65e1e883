# SPDX-License-Identifier: Apache-2.0
"""What holds for flavours, file systems with their links and policies, data sets and pipelines alike."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from paddleflow_core.model import crd
from paddleflow_core.model.table import Noun

from tools import generate

NAMES = (
    "flavour", "filesystem", "filesystem_link", "filesystem_cache", "sampleset", "samplejob", "pipeline", "pipeline_run",
    "pipeline_schedule",
)  # fmt: skip
FILES = {name: importlib.import_module(f"paddleflow_core.model.{name}") for name in NAMES}


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
