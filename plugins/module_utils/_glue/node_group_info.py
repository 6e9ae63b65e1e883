# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The way in which the info module of node groups works: a group is told from the nodes that are in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from .._core.model import node_group
from .._core.plan import groups
from . import arguments, info

if TYPE_CHECKING:
    from .._core.kube.client import Client
    from .module import Module


def run() -> NoReturn:
    info.answer(arguments.info(node_group.NOUN), _groups)


def _groups(module: Module, client: Client, deadline: float) -> dict[str, Any]:
    kind = client.kind(node_group.NOUN["api"], node_group.NOUN["kind"])
    labels, fields = info.selectors(module.params)
    listed = client.list(kind, labels=labels, fields=fields, keep=groups.member, deadline=deadline)
    wanted = module.params["name"]
    found = groups.told(listed.items)
    return {"objects": [one for one in found if wanted in (None, "", one["name"])]}
