# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Brings nodes into groups. A node is never made or deleted here, and nothing in it but its group is changed."""

from __future__ import annotations

import typing as t

from ..model import node_group
from ..plan import node_groups
from .errors import ConflictError, KubeError
from .wanted import Outcome, Wanted

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from .client import Client, Object
    from .kinds import Kind
    from .wanted import Run

# Kubelets write their nodes all the time, so a state that was read may be an old one.
ATTEMPTS = 10


def kind(client: Client) -> Kind:
    return client.kind(node_group.NOUN["api"], node_group.NOUN["kind"])


def place(run: Run, nodes: Sequence[Object], places: dict[str, node_groups.Place]) -> list[Outcome]:
    """What became of each node that has a place, in the order in which the cluster has them."""
    return [_placed(run, node, places[node["metadata"]["name"]]) for node in nodes if _named(node) in places]


def _placed(run: Run, node: Object, where: node_groups.Place) -> Outcome:
    wanted, before = Wanted(node), node
    after = node_groups.moved(before, where)
    if after is before:
        return Outcome(wanted, "unchanged", before, before)
    if run.check:
        return Outcome(wanted, "changed", before, after)
    try:
        return Outcome(wanted, "changed", before, _written(run, before, where))
    except KubeError as error:
        return Outcome(wanted, "failed", before, None, error)


def _written(run: Run, before: Object, where: node_groups.Place) -> Object:
    nodes, name, attempts = kind(run.client), _named(before), ATTEMPTS
    while True:
        after = node_groups.moved(before, where)
        try:
            return run.client.patch(nodes, name, node_groups.patch(before, after), deadline=run.deadline)
        except ConflictError:
            attempts -= 1
            if not attempts:
                raise
        before = run.client.get(nodes, name, deadline=run.deadline)


def _named(node: Object) -> str:
    return str(node["metadata"]["name"])
