# SPDX-License-Identifier: Apache-2.0
"""What is read of a list of declarations before anything is asked of a cluster."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.wanted import Run
from ansible_collections.paddleflow.core.plugins.module_utils._core.model import (
    flavour,
    job,
    names,
    options,
    queue,
    sampleset,
)
from ansible_collections.paddleflow.core.plugins.module_utils._glue import arguments, noun
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import documents
from tests.support.nouns import APPLIED, FILES

SIZE = {"cpu": 1, "memory": "1Gi"}


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("small", "small", "objects[1]: small is declared in objects[0] already: keep one of the two."),
        ("Very small", names.slug("Very small"), "objects[1]: SLUG, as Very small, is declared in objects[0]"),
    ],
)
def test_two_of_one_object_are_refused(first: str, second: str, said: str) -> None:
    _found, problems = noun.read(flavour, {"objects": [{"name": first, **SIZE}, {"name": second, **SIZE}]})
    (problem,) = problems
    assert problem.startswith(said.replace("SLUG", names.slug("Very small")))


def test_names_that_differ_in_their_case_are_two() -> None:
    assert noun.read(flavour, {"objects": [{"name": "Small", **SIZE}, {"name": "small", **SIZE}]})[1] == []


def test_so_are_two_of_one_namespace_that_only_one_of_them_names() -> None:
    client: Any = SimpleNamespace(namespace="team")
    alike = {"no_sync": True, "secret_ref": {"name": "none"}}
    found, problems = noun.read(
        sampleset, {"objects": [{"name": "a", **alike}, {"name": "a", "namespace": "team", **alike}]}
    )
    assert problems == []
    assert noun.looked(Run(client, 0), sampleset, found) == [
        "objects[1]: a is declared in objects[0] already: keep one of the two."
    ]


def test_what_stands_beside_a_list_is_the_default_of_each_be_it_a_field_of_the_noun_or_none() -> None:
    shared = {"labels": {"team": "a", "tier": "x"}, "namespace": "science", "state": "present"}
    for file, size in ((flavour, SIZE), (queue, {}), (job, {"queue": "q", "framework": "single"})):
        item = {"name": "one", "labels": {"tier": "y"}, **size}
        (found,), _problems = noun.read(file, {**shared, "objects": [item]})
        assert {**found.metadata, **found.spec}["labels"] == {"team": "a", "tier": "y"}
        assert found.spec.get("namespace", found.namespace) == ("" if file is flavour else "science")
    (own,), _problems = noun.read(queue, {**shared, "objects": [{"name": "one", "namespace": "other"}]})
    assert own.spec["namespace"] == "other"


def test_other_options_beside_a_list_are_refused() -> None:
    _found, (problem,) = noun.read(queue, {"reclaimable": True, "name": "a", "namespace": "b", "objects": []})
    assert problem.startswith("name, reclaimable and objects are both given")


def test_a_queue_of_volcanos_own_is_not_taken_away_and_may_be_closed() -> None:
    _found, (problem,) = noun.read(queue, {"name": "default", "state": "absent"})
    assert problem == "queue default: name is 'default', but must be another name. Volcano's own queues stay."
    assert noun.read(queue, {"name": "default", "state": "closed"})[1] == []


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(), max_size=9),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=9), inner, max_size=2),
    max_leaves=5,
)
NAMES = st.none() | st.text(st.characters(), max_size=9) | st.sampled_from(["\ud800", "a", "A b", "x" * 300])


@pytest.mark.parametrize("name", sorted(FILES))
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_no_options_whatsoever_make_it_fail(name: str, data: st.DataObject) -> None:
    file = importlib.import_module(f"{names.__name__.rpartition('.')[0]}.{name}")
    wanted = data.draw(
        documents.objects(file.NOUN["spec"])
        | st.dictionaries(st.sampled_from(sorted(file.NOUN["spec"])), ANY, max_size=3)
    )
    states = st.sampled_from(options.states(file.NOUN))
    # That these are mappings is seen to by Ansible.
    wanted = {key: value for key, value in wanted.items() if key not in arguments.SHARED or isinstance(value, dict)}
    item = {**options.shown(file.NOUN["spec"], wanted), "name": data.draw(NAMES), "state": data.draw(states)}
    for given_ in (item, {"objects": [item, item]}):
        found, problems = noun.read(file, given_)
        assert all(isinstance(problem, str) for problem in problems)
        if not problems and name in APPLIED:
            assert noun.plan(file, found, "team", recreate=False)
