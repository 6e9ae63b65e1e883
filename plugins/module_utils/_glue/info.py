# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The one way in which info modules work. What is not there is an empty list; a server that does not answer,
or refuses, is an error."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from .._core.kube.errors import KubeError
from .._core.model import options, own
from . import arguments, connect
from .module import begun

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .._core.kube.client import Client, Object
    from .._core.model.table import Noun
    from .module import Module

    # Adds to what is said of each object; given the objects in the same order.
    More = Callable[[Module, Client, float, list[Object], list[dict[str, Any]]], None]


class NounFile(Protocol):
    """What a file of the model offers."""

    @property
    def NOUN(self) -> Noun: ...  # noqa: N802 (a constant of the file)

    def declared(self, found: Mapping[str, Any], /) -> dict[str, Any]: ...


def run(
    noun: NounFile,
    more: More | None = None,
    beside: Mapping[str, Any] | None = None,
    kind: Callable[[Module], tuple[str, str]] | None = None,
) -> NoReturn:
    """Of a noun that is an object of its own.

    :param kind: apiVersion and kind of the objects, where options say so
    """

    def read(module: Module, client: Client, deadline: float) -> dict[str, Any]:
        table: Noun = {**noun.NOUN}
        if kind:
            table["api"], table["kind"] = kind(module)
        found = _objects(table, client, module.params, deadline)
        entries = [_entry(noun, one) for one in found]
        if more:
            more(module, client, deadline, found, entries)
        return {"objects": entries}

    answer({**arguments.info(noun.NOUN), **(beside or {})}, read, discover=kind is not None)


def answer(
    spec: Mapping[str, Any],
    read: Callable[[Module, Client, float], Mapping[str, Any]],
    discover: bool = False,
) -> NoReturn:
    module = begun(spec)
    try:
        said = read(module, connect.client(module, discover), time.monotonic() + module.params["timeout"])
    except KubeError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, **said)


def selectors(params: Mapping[str, Any]) -> list[str]:
    """Those of labels and of fields, as the API server reads them."""
    return [",".join(params[f"{part}_selectors"] or ()) for part in ("label", "field")]


def _objects(noun: Noun, client: Client, params: Mapping[str, Any], deadline: float) -> list[Object]:
    kind = client.kind(noun["api"], noun["kind"])
    namespace = ""
    if noun["scope"] == "Namespaced" and not params["all_namespaces"]:
        namespace = params["namespace"] or client.namespace
    labels, fields = selectors(params)
    wanted = own.object_name(noun, params["name"]) if params["name"] else ""
    if wanted and not labels and not fields and (namespace or noun["scope"] == "Cluster"):
        one = client.find(kind, wanted, namespace, deadline=deadline)
        return [one] if one else []
    listed = client.list(kind, namespace, labels=labels, fields=fields, deadline=deadline).items
    # Others have objects of some kinds too.
    prefix = noun.get("prefix", "")
    names = ((one, one["metadata"]["name"]) for one in listed)
    return [one for one, name in names if (name == wanted if wanted else name.startswith(prefix))]


def _entry(noun: NounFile, found: Object) -> dict[str, Any]:
    metadata = found["metadata"]
    return {
        "name": own.name_of(found),
        "namespace": metadata.get("namespace", ""),
        "labels": metadata.get("labels", {}),
        "declared": options.shown(noun.NOUN["spec"], noun.declared(found)),
        "status": found.get("status", {}),
    }
