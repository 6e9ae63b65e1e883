# SPDX-License-Identifier: Apache-2.0
"""Any good declaration of a noun, drawn from its field table, for property tests; and one that its rules take as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from paddleflow_core.model import check

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paddleflow_core.model.check import Path
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


# Text with a grammar of its own, by the name of its field. What else is wrong with it is mended as any other field is.
FORMS: dict[str, st.SearchStrategy[Any]] = {
    "url": st.sampled_from(["hdfs://hdfs:9000/data", "glusterfs://store:volume", "cfs://store/data", "sftp://store:22/data", "mock://data"]),
    "uri": st.sampled_from(["s3://bucket/path", "bos://bucket/", "hdfs://name-node/data"]),
    "crontab": st.sampled_from(["0 3 * * *", "@daily", "@every 90s", "*/5 1-3 * JAN,FEB MON"]),
    "schedule": st.sampled_from(["0 3 * * *", "*/5 1-3 * 1,2 1"]),
    "document": st.sampled_from(["name: name\ndocker_env: i\nentry_points: {a: {command: echo}}\n"]),
    "endTime": st.just("2027-01-31T08:00:00Z"),
}  # fmt: skip
ROUNDS = 30


@st.composite
def valid(draw: st.DrawFn, file: Any, name: str = "name") -> dict[str, Any]:
    """A declaration without problems: what a rule calls missing is drawn, and what it calls wrong is left out or drawn anew,
    until no rule says anything."""
    fields = {field: table for field, table in file.NOUN["spec"].items() if not table.get("no_option")}
    spec: dict[str, Any] = {
        field: draw(FORMS.get(field, st.just(value))) for field, value in draw(objects(fields)).items()
    }
    for _round in range(ROUNDS):
        read, problems = check.read(fields, spec)
        problems = problems or list(file.problems(name, read))
        if not problems:
            return read
        path = problems[0].path or (draw(st.sampled_from(sorted(fields))),)
        _mend(draw, fields, spec, path, problems[0].found in ("missing", "empty"))
    return draw(st.nothing())


def _mend(draw: st.DrawFn, fields: Mapping[str, Field], spec: Any, path: Path, missing: bool) -> None:
    """Down to the last part of the path that there is a table for."""
    part, rest = path[0], path[1:]
    field = fields[str(part)]
    item = field.get("items", {})
    if rest and rest[0] in field.get("fields", {}):
        _mend(draw, field["fields"], spec.setdefault(part, {}), rest, missing)
    elif "fields" in item and len(rest) > 1:
        _mend(draw, item["fields"], spec[part][rest[0]], rest[1:], missing)
    elif missing and not rest:
        spec[part] = draw(FORMS.get(str(part), values(field)))
    elif rest and (isinstance(spec.get(part), list) or rest[0] in (spec.get(part) or ())):
        del spec[part][rest[0]]
    elif field.get("required"):
        spec[part] = draw(FORMS.get(str(part), values(field)))
    else:
        spec.pop(part, None)
