# SPDX-License-Identifier: Apache-2.0
"""Each field of the model can be reached by its option and has its place in a definition, under the name that one function
makes of it. What has no counterpart stands here with its reason, and a field in neither place fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest
import yaml
from paddleflow_core.model import names, nodecache
from paddleflow_core.model.table import Field

from tests.support import examples
from tests.support.nouns import FILES
from tools import tree


class Without(NamedTuple):
    noun: str
    side: str  # option or definition; flags come with the client, which names.flag is kept for
    path: str  # with all below it; empty for the whole noun
    reason: str


_SECRET = "It stands in a Secret, never in the object."
_CONTROL_NODE = "Read on the control node: the object has the text of the document."
WITHOUT = [
    Without("nodecache", "option", "", "Only the agents of a node write it."),
    Without("queue", "definition", "", "It is a Queue of Volcano, and annotations of it."),
    Without("job", "definition", "", "It is a Job of Volcano, or an object of a framework's operator."),
    Without("grant", "definition", "", "It is a role and its binding."),
    Without("user", "definition", "", "It is a role and its binding."),
    Without("node_group", "definition", "", "It is a label and a taint of each node."),
    *(
        Without(noun, "definition", f"properties.{name}", _SECRET)
        for noun in ("filesystem", "filesystem_link")
        for name in ("secretKey", "customerKey", "sessionToken", "password", "privateKey", "keyTabData")
    ),
    *(
        Without(noun, "definition", "vault", "Read by the module: what it finds stands in a Secret.")
        for noun in ("filesystem", "filesystem_link")
    ),
    Without("pipeline", "definition", "src", _CONTROL_NODE),
    Without("pipeline_run", "definition", "src", _CONTROL_NODE),
    Without("pipeline_run", "definition", "runKey", "It makes the name, and stands in an annotation."),
    Without("pipeline_run", "definition", "checkCache", "How the module takes a run away."),
    Without("pipeline_run", "definition", "force", "How the module stops a run: the object's stop is then force."),
    Without("pipeline_run", "option", "stop", "The state stopped sets it."),
    Without("pipeline_run", "option", "retry", "The state retried sets it."),
    Without("pipeline_schedule", "option", "stop", "The state stopped sets it."),
    Without("pipeline_run", "option", "retryOf", "The controller sets it when it tries a run again."),
    Without("pipeline_run", "option", "schedule", "The controller sets it when a schedule makes a run."),
]
NOUNS: dict[str, Mapping[str, Field]] = {
    **{name: file.NOUN["spec"] for name, file in FILES.items()},
    "nodecache": nodecache.NOUN["spec"],
}
Path = tuple[str, ...]


def fields(table: Mapping[str, Field], path: Path = ()) -> Iterator[Path]:
    for name, field in table.items():
        yield (*path, name)
        yield from fields(field.get("fields") or field.get("items", {}).get("fields", {}), (*path, name))


def options(noun: str) -> list[Mapping[str, Any]]:
    """Of one object, and of each in a list; none without a module."""
    if not (tree.ROOT / f"plugins/modules/{noun}.py").is_file():
        return [{}]
    found = yaml.safe_load(examples.literal(noun, "DOCUMENTATION"))["options"]
    return [found, found["objects"]["suboptions"]]


def has_option(given: Mapping[str, Any], path: Path) -> bool:
    for name in path:
        if names.option(name) not in given:
            return False
        given = given[names.option(name)].get("suboptions", {})
    return True


def definitions() -> dict[str, Mapping[str, Any]]:
    found = {}
    for file in (tree.ROOT / "crds").glob("*.yaml"):
        spec = yaml.safe_load(file.read_text(encoding="utf-8"))["spec"]
        schema = spec["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        found[spec["names"]["kind"]] = schema
    by_noun = {name: found[file.NOUN["kind"]] for name, file in FILES.items() if file.NOUN["kind"] in found}
    return by_noun | {
        "nodecache": found["NodeCache"],
        # A part of its file system.
        "filesystem_cache": found["FileSystem"]["properties"]["cache"],
    }


DEFINITIONS = definitions()


def has_place(schema: Mapping[str, Any], path: Path) -> bool:
    for name in path:
        # What a mapping holds, or a list.
        schema = schema.get("items", schema)
        if name not in schema.get("properties", {}):
            return False
        schema = schema["properties"][name]
    return True


def missing(noun: str) -> set[tuple[str, str]]:
    found, given = set(), options(noun)
    for path in fields(NOUNS[noun]):
        if not all(has_option(one, path) for one in given):
            found.add(("option", ".".join(path)))
        if not has_place(DEFINITIONS.get(noun, {}), path):
            found.add(("definition", ".".join(path)))
    return found


def excused(one: Without, side: str, path: str) -> bool:
    return one.side == side and f"{path}.".startswith(f"{one.path}." if one.path else "")


@pytest.mark.parametrize("noun", sorted(NOUNS))
def test_each_field_has_its_counterparts_or_a_reason(noun: str) -> None:
    reasons = [one for one in WITHOUT if one.noun == noun]
    lost = missing(noun)
    assert sorted(one for one in lost if not any(excused(reason, *one) for reason in reasons)) == []
    assert [reason for reason in reasons if not any(excused(reason, *one) for one in lost)] == []


@pytest.mark.parametrize("noun", sorted(NOUNS))
def test_no_two_fields_of_a_level_share_an_option_or_a_flag(noun: str) -> None:
    levels: dict[Path, list[str]] = {}
    for path in fields(NOUNS[noun]):
        levels.setdefault(path[:-1], []).append(path[-1])
    for given in levels.values():
        assert len({names.option(name) for name in given}) == len(given)
        assert len({names.flag(name) for name in given}) == len(given)


def test_every_reason_is_of_a_noun() -> None:
    assert {one.noun for one in WITHOUT} <= set(NOUNS)
