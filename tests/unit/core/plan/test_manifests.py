# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.plan import compare, manifests, order, view


def thing(name: str = "one", **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def test_objects_lists_and_lists_of_kubectl_are_one_list_with_places() -> None:
    printed = {"apiVersion": "v1", "kind": "List", "items": [thing("c"), thing("d")]}
    found = manifests.objects([(thing("a"), "a.yaml"), (None, "empty.yaml"), ([thing("b"), printed], "definition")])
    assert [(one.object["metadata"]["name"], one.where) for one in found] == [
        ("a", "a.yaml"),
        ("b", "definition[0]"),
        ("c", "definition[1].items[0]"),
        ("d", "definition[1].items[1]"),
    ]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("text", "here: this is str and not an object with apiVersion, kind and metadata."),
        ([1], "here[0]: this is int and not an object"),
        ({}, "here: apiVersion, kind, metadata missing, but an object has apiVersion, kind and metadata.name"),
        ({**thing(), "metadata": {}}, "here: metadata.name missing"),
        ({**thing(), "metadata": {"name": 1}}, "here: metadata.name missing"),
        ({**thing(), "kind": 7}, "here: kind missing"),
        (thing(namespace=["x"]), "here: metadata.namespace is list, but must be a text."),
        (thing(labels="x"), "here: metadata.labels is str, but must be a mapping."),
        (thing(annotations=[]), "here: metadata.annotations is list, but must be a mapping."),
        ([thing(), thing()], "here[1]: ConfigMap one is declared in here[0] already: keep one of the two."),
        ([thing(), thing(namespace="team")], "here[1]: ConfigMap one is declared in here[0] already"),
    ],
)
def test_what_is_no_object_is_said_with_its_place(document: Any, said: str) -> None:
    with pytest.raises(manifests.ManifestError) as refused:
        manifests.objects([(document, "here")], "team")
    assert said in str(refused.value)


def test_everything_wrong_is_said_at_once() -> None:
    with pytest.raises(manifests.ManifestError) as refused:
        manifests.objects([([1, {}, thing(), thing()], "here")])
    assert len(str(refused.value).splitlines()) == 3


def test_the_same_name_elsewhere_is_another_object() -> None:
    assert len(manifests.objects([([thing(namespace="a"), thing(namespace="b")], "here")])) == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["apiVersion", "kind", "metadata", "items", "name"]), inner)
    ),
)
SMALL: st.SearchStrategy[Any] = (
    st.none()
    | st.integers()
    | st.text(max_size=3)
    | st.lists(st.none(), max_size=1)
    | st.just({})
    | st.just({"parent": []})
)
METADATA = st.dictionaries(st.sampled_from(["namespace", "labels", "annotations", "managedFields"]), SMALL)
# What has an object's outer form gets further than any JSON does.
THINGS = st.builds(
    lambda kind, name, metadata, spec: {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec
    },
    st.sampled_from(["Queue", "ConfigMap"]), st.sampled_from(["a", "b"]), METADATA, SMALL,
)  # fmt: skip


@given(JSON | st.lists(THINGS, max_size=2))
def test_no_document_is_more_than_refused_and_what_is_not_can_be_planned(document: Any) -> None:
    with contextlib.suppress(manifests.ManifestError):
        found = [one.object for one in manifests.objects([(document, "here")])]
        order.waves(found, order.depths(one for one in found if order.is_queue(one)))
        for one in found:
            view.pair(None, one)
            compare.compare(one, {**one, "metadata": {"name": "a", "managedFields": []}}, exact=False)
