# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The one way in which lookups of objects work: those of the given names, or all that a selector matches."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleLookupError
from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.declare import named
from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.errors import KubeError
from ansible_collections.paddleflow.core.plugins.module_utils._core.model.names import slug
from ansible_collections.paddleflow.core.plugins.module_utils._core.plan import view
from ansible_collections.paddleflow.core.plugins.module_utils._glue import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ansible.plugins.lookup import LookupBase
    from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.client import Client
    from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.kinds import Kind

    Object = dict[str, Any]
    Option = Callable[[str], Any]


def options(lookup: LookupBase, variables: Mapping[str, Any] | None, given: Mapping[str, Any]) -> Option:
    """Tells the value of an option of the lookup."""
    lookup.set_options(var_options=variables, direct=dict(given))
    return lookup.get_option


def objects(option: Option, terms: Sequence[object], api_version: str, kind: str) -> list[Object]:
    """
    :param terms: names, and lists of names
    """
    names = [name for term in terms for name in (term if isinstance(term, (list, tuple)) else [term])]
    if terms and not names:
        return []  # a list of names that is empty, and not no names at all
    selector = ",".join(option("label_selectors") or ())
    if names and selector:
        raise AnsibleLookupError(f"A lookup of {kind} was given names and label_selectors: give one of the two.")
    try:
        with connect.opened(connect.connection(option, os.environ)) as client:
            found = _found(
                option, client, client.kind(api_version, kind), [slug(str(name)) for name in names], selector
            )
    except KubeError as error:
        raise AnsibleLookupError(str(error)) from error
    return [view.shown(one) for one in found]


def _found(option: Option, client: Client, kind: Kind, names: Sequence[str], selector: str) -> list[Object]:
    namespace = ""
    if kind.namespaced and not option("all_namespaces"):
        namespace = option("namespace") or client.namespace
    if not names:
        items = client.list(kind, namespace, labels=selector).items
        return sorted(items, key=lambda one: (one["metadata"].get("namespace", ""), one["metadata"]["name"]))
    if kind.namespaced and not namespace:
        raise AnsibleLookupError(
            f"A lookup of {kind.kind} was given names and all_namespaces: a name is looked up in one, set namespace."
        )
    listed = named(client, kind, namespace, set(names))
    if option("missing") == "skip":
        return [listed[name] for name in names if name in listed]
    # What is not there is asked for once more, for the server's own words.
    return [listed[name] if name in listed else client.get(kind, name, namespace) for name in names]
