# SPDX-License-Identifier: Apache-2.0
"""What holds for every noun that can be declared, whatever is declared of it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from paddleflow_core.kube import document
from paddleflow_core.model import check, job, node_group, storage_objects
from paddleflow_core.model.jobs import changes
from paddleflow_core.plan import compare, node_groups
from paddleflow_core.workflow.declared import Documented, DocumentedRun

from tests.support import documents
from tests.support.live import live, respelled
from tests.support.nouns import APPLIED, FILES, KnownJob
from tools import tree

# As their modules read them: with what is wrong with their documents.
READ: dict[str, Any] = {
    **FILES,
    "pipeline": Documented(FILES["pipeline"], document.load),
    "pipeline_run": DocumentedRun(FILES["pipeline_run"], document.load),
}
# Drawing a job of many fields is the most of what a test of it costs.
FEW = settings(max_examples=12)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
)


@pytest.fixture(scope="module", autouse=True)
def fast() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage_objects, "ROUNDS", 1)
        yield


def test_every_module_of_a_noun_is_among_them() -> None:
    modules = {path.stem for path in tree.files() if path.match("plugins/modules/*.py")}
    assert modules - {"apply", "cluster_info", "command_progress", "files"} - {f"{name}_info" for name in FILES} == set(
        FILES
    )


def fields_of(tables: Iterable[Any]) -> Iterator[Any]:
    """At every depth."""
    for field in tables:
        yield field
        yield from fields_of([*field.get("fields", {}).values(), *([field["items"]] if "items" in field else [])])


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_pattern_is_of_the_whole_text(name: str) -> None:
    """The model takes it so whatever it is, and the API server only with both ends."""
    noun = FILES[name].NOUN
    tables = [noun["name"], *noun["spec"].values(), *noun.get("status", {}).values()]
    patterns = [field["pattern"] for field in fields_of(tables) if "pattern" in field]
    assert [one for one in patterns if not (one.startswith("^") and one.endswith("$"))] == []


@st.composite
def broken(draw: st.DrawFn, file: Any) -> Any:
    """A good declaration with anything at one place, at any depth."""
    declaration: dict[str, Any] = copy.deepcopy(draw(documents.valid(file) | documents.objects(file.NOUN["spec"])))
    place: Any = declaration
    while place:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], (dict, list)) or draw(st.booleans()):
            place[key] = draw(JSON)
            return declaration
        place = place[key]
    return draw(JSON)


@pytest.mark.parametrize("name", sorted(FILES))
@FEW
@given(st.data())
def test_no_declaration_whatsoever_makes_it_fail(name: str, data: st.DataObject) -> None:
    spec, problems = check.read(FILES[name].NOUN["spec"], data.draw(broken(FILES[name])))
    said = problems or list(READ[name].problems("name", spec))
    assert all(problem.text() for problem in said)


@pytest.mark.parametrize("name", sorted(FILES))
@settings(max_examples=30)
@given(JSON)
def test_no_json_whatsoever_makes_it_fail(name: str, given: object) -> None:
    _spec, problems = check.read(FILES[name].NOUN["spec"], given)
    assert all(problem.text() for problem in problems)


@pytest.mark.parametrize("name", APPLIED)
@FEW
@given(st.data())
def test_what_was_applied_needs_nothing_more(name: str, data: st.DataObject) -> None:
    file = FILES[name]
    manager = file.NOUN.get("manager", compare.MANAGER)
    spec = data.draw(documents.valid(file))
    for built in file.build("Name_1", "team", spec):
        found = live(file, built, manager)
        main = built["kind"] == file.NOUN["kind"]
        assert compare.compare(built, found, main, manager) is compare.Verdict.SAME
        # And what somebody else has changed of it since is seen.
        found["metadata"]["labels"] = {}
        if built["metadata"].get("labels"):
            assert compare.compare(built, found, True, manager) is compare.Verdict.DIFFERENT


@FEW
@given(documents.valid(KnownJob, name="any"))
def test_a_job_that_was_applied_needs_nothing_more(spec: dict[str, Any]) -> None:
    (built,) = job.build("any", "team", spec)
    found = live(job, built)
    assert job.declared(found) == spec
    assert list(changes.problems(job.declared(found), spec, "running")) == []
    assert compare.compare(changes.revised(found, built, spec, {}), found, exact=False) is compare.Verdict.SAME


@FEW
@given(documents.valid(KnownJob, name="any"))
def test_a_job_of_other_spellings_and_written_out_defaults_is_the_same_job(spec: dict[str, Any]) -> None:
    (live_one,) = job.build("any", "team", spec)
    again = respelled(spec, job.NOUN["spec"])
    for old, new in ((spec, again), (again, spec)):
        (found,) = job.build("any", "team", old)
        assert list(changes.problems(old, new, "running")) == []
        assert changes.same(found, new)
    assert changes.revised(live_one, job.build("any", "team", again)[0], again, {})["spec"] == live_one["spec"]


@settings(max_examples=30)
@given(documents.valid(node_group), st.lists(st.sampled_from(["gpu-1", "gpu-2", "cpu-1"]), max_size=3, unique=True))
def test_nodes_that_were_placed_stay(spec: dict[str, Any], names: list[str]) -> None:
    spec = {**spec, "nodes": names}
    nodes: list[dict[str, Any]] = [
        {"metadata": {"name": name, "resourceVersion": "1", "labels": {}}, "spec": {}}
        for name in ("gpu-1", "gpu-2", "cpu-1")
    ]
    groups = [node_groups.Group("group", spec)]
    places, wrong = node_groups.places(groups, nodes)
    assert wrong == []
    after = [node_groups.moved(node, places.get(node["metadata"]["name"], node_groups.NOWHERE)) for node in nodes]
    assert {node["metadata"]["name"] for node in after if node_group.group_of(node)} == set(names)
    again, wrong = node_groups.places(groups, after)
    assert wrong == []
    assert [
        node_groups.moved(node, again.get(node["metadata"]["name"], node_groups.NOWHERE)) for node in after
    ] == after


@pytest.mark.parametrize("name", APPLIED)
@FEW
@given(st.data())
def test_a_live_object_says_its_declaration(name: str, data: st.DataObject) -> None:
    """What is read back of an object declares the same object; what is secret in it is not read back."""
    file = FILES[name]
    spec = data.draw(documents.valid(file))
    *_others, built = file.build("name", "team", spec)
    read, problems = check.read(file.NOUN["spec"], file.declared(built))
    assert problems == []
    assume(storage_objects.DIGEST not in built["metadata"].get("annotations", {}))
    assert file.build("name", "team", read)[-1] == built
