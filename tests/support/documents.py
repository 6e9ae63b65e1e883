# SPDX-License-Identifier: Apache-2.0
"""Any good declaration of a noun, drawn from its field table, for property tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paddleflow_core.model.table import Field

QUANTITIES = st.sampled_from([0, 1, 7, "0", "100m", "1500m", "4", "512Mi", "1.5Gi", "2G", "3e3"])
RESOURCES = st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "pods"]), QUANTITIES, max_size=4)
LETTERS = st.characters(codec="utf-8", exclude_categories=["C"])
WORDS = st.text(LETTERS, max_size=20)


def objects(fields: Mapping[str, Field]) -> st.SearchStrategy[dict[str, Any]]:
    required = {name: values(field) for name, field in fields.items() if field.get("required")}
    optional = {name: values(field) for name, field in fields.items() if not field.get("required")}
    return st.fixed_dictionaries(required, optional=optional)


def values(field: Field) -> st.SearchStrategy[Any]:
    match field["type"]:
        case "string":
            return _strings(field)
        case "int":
            return st.integers(field.get("min", -(10**6)), field.get("max", 10**6))
        case "bool":
            return st.booleans()
        case "quantity":
            return QUANTITIES
        case "resources":
            return RESOURCES
        case "datetime":
            return st.just("2026-01-31T08:00:00Z")
        case "map":
            keys = st.from_regex(field["pattern"], fullmatch=True) if "pattern" in field else WORDS
            items = values(field["items"]) if "items" in field else WORDS
            return st.dictionaries(keys, items, min_size=field.get("min", 0), max_size=min(field.get("max", 3), 3))
        case "value":
            return st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS | st.lists(WORDS, max_size=2)
        case "document":
            text = st.text(LETTERS, min_size=1, max_size=20)
            return text | st.dictionaries(WORDS, WORDS, min_size=1, max_size=3)
        case "list":
            items = values(field["items"]) if "items" in field else WORDS
            keys_of = field.get("keys")
            unique = (lambda item: repr([item.get(key) for key in keys_of])) if keys_of else None
            low, high = field.get("min", 0), min(field.get("max", 3), field.get("min", 0) + 3)
            return st.lists(items, min_size=low, max_size=high, unique_by=unique)
        case "object":
            return objects(field["fields"]) if "fields" in field else st.dictionaries(WORDS, WORDS, max_size=3)


def _strings(field: Field) -> st.SearchStrategy[str]:
    if "enum" in field:
        return st.sampled_from(field["enum"])
    low, high = field.get("min", 0), field.get("max", 200)
    if "pattern" in field:
        return st.from_regex(field["pattern"], fullmatch=True).filter(lambda text: low <= len(text) <= high)
    return st.text(LETTERS, min_size=low, max_size=min(high, low + 20))
