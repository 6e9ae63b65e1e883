# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Grants go with the queue or file system that they are of, and with the user whom they are for: who gets the name later gets
nothing with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.kube.declare import declare
from .._core.kube.errors import ForbiddenError, KubeError
from .._core.kube.wanted import Outcome, Run, Wanted
from .._core.model import grant, own

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from .module import Module
    from .noun import Planned


def carry(module: Module, how: Run, planned: Sequence[Planned]) -> list[Outcome]:
    """Of users."""
    outcomes = declare(how, [one.wanted for one in planned])
    return outcomes + ended(module, how, outcomes, people=gone(planned, outcomes))


def of_file_systems(module: Module, how: Run, planned: Sequence[Planned], outcomes: Sequence[Outcome]) -> list[Outcome]:
    return ended(module, how, outcomes, file_systems=gone(planned, outcomes))


def gone(planned: Sequence[Planned], outcomes: Sequence[Outcome]) -> set[str]:
    """The names of the declared objects that are not there any more, also of those that were not there before; after the
    namespace, where there is one."""
    metadata = [
        one.wanted.object["metadata"]
        for one, outcome in zip(planned, outcomes, strict=True)
        if one.state == "absent" and outcome.error is None
    ]
    return {"/".join(one[key] for key in ("namespace", "name") if key in one) for one in metadata}


def ended(
    module: Module,
    how: Run,
    before: Sequence[Outcome],
    queues: Collection[str] = (),
    people: Collection[str] = (),
    file_systems: Collection[str] = (),
) -> list[Outcome]:
    """Takes grants of these queues and file systems away, and these people out of grants.

    :param before: what became of these themselves
    :param people: by the names of their objects
    """
    if not queues and not people and not file_systems:
        return []
    kind = how.client.kind(grant.NOUN["api"], grant.NOUN["kind"])
    ours = ",".join(f"{key}={value}" for key, value in own.MANAGED.items())
    try:
        bindings = how.client.list(kind, labels=ours, deadline=how.deadline).items
    except ForbiddenError as error:
        # Who may remove something may not be who grants it.
        if any(one.action == "deleted" for one in before):
            module.warn(f"Its grants stay, and hold for the next one of that name: {error}")
        return []
    except KubeError as error:  # what was taken away before is told all the same
        text = (
            f"Grants of what is gone may be left, and hold for the next one of that name: {error} Run the task again."
        )
        unread = Wanted({"apiVersion": grant.NOUN["api"], "kind": grant.NOUN["kind"], "metadata": {}}, "absent")
        return [Outcome(unread, "failed", error=KubeError(text))]
    wanted: list[Wanted] = []
    for binding in bindings:
        left = grant.left(binding, queues, people, file_systems)
        if left is not None:
            objects = left or [binding, *grant.belongings(own.name_of(binding), "")]
            wanted += [Wanted(one, "present" if left else "absent") for one in objects]
    return declare(how, wanted) if wanted else []
