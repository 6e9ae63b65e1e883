# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The way in which the module node_group works: a group is a part of nodes that others made, and no object that is applied."""

from __future__ import annotations

from typing import NoReturn

from ansible.module_utils.basic import AnsibleModule

from .._core.kube import nodes
from .._core.kube.declare import Run
from .._core.kube.errors import KubeError
from .._core.model import node_group
from .._core.plan import node_groups
from . import arguments, connect, noun


def run() -> NoReturn:
    module = AnsibleModule(argument_spec=arguments.of(node_group.NOUN), supports_check_mode=True)
    declarations, problems = noun.read(node_group, module.params)
    if problems:
        module.fail_json(msg="\n".join(problems), problems=problems)
    groups = [node_groups.Group(one.name, one.spec, one.state != "absent") for one in declarations]
    try:
        client = connect.client(module)
        how = Run(client, connect.deadline(module), module.check_mode)
        found = client.list(nodes.kind(client), deadline=how.deadline).items
        places, wrong = node_groups.places(groups, found)
        if wrong:
            said = [
                text for number, problem in wrong for text in noun.said(node_group, declarations[number], [problem])
            ]
            module.fail_json(msg="\n".join(said), problems=said)
        outcomes = nodes.place(how, found, places)
    except KubeError as error:
        module.fail_json(msg=str(error))
    noun.leave(module, outcomes)
