# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What a queue's module does beside writing it: it opens, closes and drains, and takes away only what nobody uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.kube.declare import Outcome, Run, declare
from .._core.model.queue import NOUN
from . import grants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ansible.module_utils.basic import AnsibleModule

    from .noun import Planned

BESIDE = {"force": {"type": "bool", "default": False}}


def carry(module: AnsibleModule, how: Run, planned: Sequence[Planned]) -> list[Outcome]:
    names = {
        one.wanted.object["metadata"]["name"]
        for one in planned
        if one.state == "drained" or (one.state == "absent" and one.wanted.object["kind"] == NOUN["kind"])
    }
    if not names and not any(one.state in NOUN["states"] for one in planned):
        return declare(how, [one.wanted for one in planned])
    from .._core.kube import queues  # most calls declare, and leave a queue's state alone

    users = queues.users(how.client, names, how.deadline)
    kept = {}
    for position, one in enumerate(planned):
        groups = users.get(one.wanted.object["metadata"]["name"], [])
        if one.state != "absent" or not groups:
            continue
        if not module.params["force"]:
            error = queues.refused(one.wanted.object["metadata"]["name"], groups)
            kept[position] = Outcome(one.wanted, "failed", error=error)
        elif not how.check:
            queues.empty(how, one.wanted.object["metadata"]["name"], groups)
    written = iter(declare(how, [one.wanted for position, one in enumerate(planned) if position not in kept]))
    outcomes = [kept[position] if position in kept else next(written) for position in range(len(planned))]
    steered = [
        queues.steer(how, outcome, one.state, users.get(one.wanted.object["metadata"]["name"], []))
        if one.state in NOUN["states"]
        else outcome
        for one, outcome in zip(planned, outcomes, strict=True)
    ]
    return steered + grants.ended(module, how, queues=grants.gone(planned, steered, NOUN["kind"]))
