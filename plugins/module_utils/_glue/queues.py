# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What a queue's module does beside writing it: it opens, closes and drains, and takes away only what nobody uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.kube import queues
from .._core.kube.errors import StatusError
from .._core.model.queue import NOUN
from . import grants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core.kube.wanted import Outcome, Run
    from .module import Module
    from .noun import Planned


BESIDE = {"force": {"type": "bool", "default": False}}
# What a refusal by Volcano speaks of, in the options' words.
_VOLCANO = {"capability": "max", "deserved": "min", "guarantee": "what lendable=false keeps"}


def carry(module: Module, how: Run, planned: Sequence[Planned]) -> list[Outcome]:
    draining = {one.wanted.object["metadata"]["name"] for one in planned if one.state == "drained"}
    users = queues.users(how.client, draining, how.deadline)
    outcomes, remarks = queues.carry(how, [one.wanted for one in planned], module.params["force"])
    for text in remarks:
        module.warn(text)
    for one in outcomes:
        _translate(one)
    steered = [
        queues.steer(how, outcome, one.state, users.get(one.wanted.object["metadata"]["name"], []))
        if one.state in NOUN["states"]
        else outcome
        for one, outcome in zip(planned, outcomes, strict=True)
    ]
    return steered + grants.ended(module, how, steered, queues=grants.gone(planned, steered))


def _translate(outcome: Outcome) -> None:
    error = outcome.error
    words = [f"{word} is {ours}" for word, ours in _VOLCANO.items() if word in str(error)]
    if isinstance(error, StatusError) and words:
        error.args = (f"{error} (To Volcano, {', '.join(words)}.)",)
