# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.model import own
from paddleflow_core.model.nodecache import NOUN
from paddleflow_core.model.table import Noun

NAMESPACED: Noun = {**NOUN, "kind": "Thing", "scope": "Namespaced"}  # type: ignore[typeddict-unknown-key]


def test_an_object_of_ours_is_its_declaration() -> None:
    assert own.build(NAMESPACED, "one", "team", {"a": 1}) == {
        "apiVersion": "paddleflow.org/v1alpha1",
        "kind": "Thing",
        "metadata": {"name": "one", "namespace": "team", "labels": {"app.kubernetes.io/managed-by": "paddleflow"}},
        "spec": {"a": 1},
    }


def test_a_kind_of_the_cluster_has_no_namespace() -> None:
    assert "namespace" not in own.build(NOUN, "one", "team", {})["metadata"]


def test_what_is_only_of_the_declaration_is_no_part_of_the_object() -> None:
    noun: Noun = {**NAMESPACED, "spec": {"src": {"type": "string", "aside": True}}}
    assert own.build(noun, "one", "team", {"a": 1, "src": "file"})["spec"] == {"a": 1}


@given(st.text(min_size=1))
def test_the_name_that_people_gave_is_never_lost(name: str) -> None:
    assert own.name_of(own.build(NAMESPACED, name, "team", {})) == name


def test_what_we_made_is_told_from_what_others_did() -> None:
    assert own.is_ours(own.build(NAMESPACED, "one", "team", {}))
    for metadata in ({}, {"labels": None}, {"labels": {"app.kubernetes.io/managed-by": "somebody"}}):
        assert not own.is_ours({"metadata": metadata})
