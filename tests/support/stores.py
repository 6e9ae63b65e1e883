# SPDX-License-Identifier: Apache-2.0
"""Any good address of a store with its properties, drawn from the tables, for property tests."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from paddleflow_core.model import storage
from paddleflow_core.model.stores import KERBEROS, PROPERTIES, SECRETS, STORES

from tests.support import documents

# What each type needs beside what its table says.
_MORE = {"hdfs": ["user", "group"], "sftp": ["password", "hostKey"]}


def _values(names: Sequence[str]) -> dict[str, st.SearchStrategy[Any]]:
    found = {name: documents.values(PROPERTIES[name]) for name in names}
    if "keyTabData" in found:
        found["keyTabData"] = st.binary(min_size=1).map(lambda data: base64.b64encode(data).decode())
    return found


@st.composite
def declarations(draw: st.DrawFn, types: Sequence[str] = tuple(STORES)) -> dict[str, Any]:
    kind = draw(st.sampled_from(types))
    store = STORES[kind]
    needed = [*store["needs"], *store["credentials"], *_MORE.get(kind, [])]
    if kind == "hdfs" and draw(st.booleans()):
        needed = ["keyTabData", *KERBEROS]
    others = [name for name in store["may"] if name not in {*needed, "keyTabData", "dataTransferProtection", *KERBEROS}]
    properties = draw(st.fixed_dictionaries(_values(needed), optional=_values(others)))
    url = st.from_regex(STORES[kind]["pattern"], fullmatch=True)
    spec: dict[str, Any] = {"url": draw(url), "properties": properties}
    if kind == "local":
        properties["debug"] = True
    if draw(st.booleans()):
        spec["properties"] = {name: value for name, value in properties.items() if name not in SECRETS}
        spec["secretRef"] = {"name": "elsewhere"}
    return spec


def good(types: Sequence[str] = tuple(STORES)) -> st.SearchStrategy[dict[str, Any]]:
    return declarations(types).filter(lambda spec: not list(storage.problems(spec, types)))
