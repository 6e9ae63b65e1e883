# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The way in which the module node_group works: a group is a part of nodes that others made, and no object that is applied."""

from __future__ import annotations

from typing import NoReturn

from .._core.kube import nodes
from .._core.kube.errors import KubeError
from .._core.model import node_group
from .._core.plan import node_groups
from . import connect, noun, results


def run() -> NoReturn:
    module, declarations = noun.begin(node_group)
    groups = [node_groups.Group(one.name, one.spec, one.state != "absent") for one in declarations]
    try:
        client = connect.client(module)
        how = noun.manner(module, client)
        found = client.list(nodes.kind(client), deadline=how.deadline).items
        places, wrong = node_groups.places(groups, found)
        said = [text for number, problem in wrong for text in noun.said(node_group, declarations[number], [problem])]
        noun.refuse(module, said)
        outcomes = nodes.place(how, found, places)
    except KubeError as error:
        module.fail_json(msg=str(error))
    results.leave(module, outcomes)
