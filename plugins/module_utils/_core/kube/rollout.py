# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""When what keeps pods running has all of them, as they are declared now. That a Deployment is Available says nothing of it:
those may be the pods from before."""

from __future__ import annotations

import typing as t

from . import conditions
from .conditions import Verdict

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .conditions import Check, Object

_PROGRESSING = "status.conditions[?(@.type=='Progressing')]"


def deployment(before: Mapping[str, t.Any]) -> Check:
    """Failed when it makes no progress any more.

    :param before: as it was before it was written. What it said then still stands in it for a moment when it is put right
    """
    old = conditions.at(before, _PROGRESSING)

    def stuck(found: Object) -> str:
        progress = conditions.at(found, _PROGRESSING) or old
        ended = progress != old and progress["status"] == "False" and _seen(found)
        return conditions.said(progress) if ended else ""

    def full(found: Object | None) -> Verdict:
        wanted = _replicas(found)
        return _has(found, {"updatedReplicas": wanted, "availableReplicas": wanted}, most=wanted)

    return conditions.unless(stuck, full)


def stateful_set(found: Object | None) -> Verdict:
    wanted = _replicas(found)
    partition = conditions.at(found or {}, "spec.updateStrategy.rollingUpdate.partition") or 0
    updated = 0 if _by_hand(found) else max(0, wanted - partition)
    return _has(found, {"updatedReplicas": updated, "availableReplicas": wanted}, most=wanted)


def daemon_set(found: Object | None) -> Verdict:
    wanted = conditions.at(found or {}, "status.desiredNumberScheduled") or 0
    return _has(found, {"updatedNumberScheduled": 0 if _by_hand(found) else wanted, "numberAvailable": wanted})


def _replicas(found: Object | None) -> int:
    wanted = conditions.at(found or {}, "spec.replicas")
    return 1 if wanted is None else int(wanted)


def _by_hand(found: Object | None) -> bool:
    """Whether its pods stay as they are until somebody deletes them."""
    return bool(conditions.at(found or {}, "spec.updateStrategy.type") == "OnDelete")


def _seen(found: Object) -> bool:
    observed = conditions.at(found, "status.observedGeneration") or 0
    return bool(observed >= (found["metadata"].get("generation") or 0))


def _has(found: Object | None, least: Mapping[str, int], most: int | None = None) -> Verdict:
    """
    :param least: how many of its pods there have to be, by field of its status
    :param most: how many there may be at all, with those from before
    """
    if found is None:
        return Verdict("waiting", conditions.ABSENT)
    if not _seen(found):
        return Verdict("waiting", "its status is of an earlier generation")
    status = found.get("status") or {}
    few = [
        f"its status.{field} is {status.get(field) or 0}, and not {number}"
        for field, number in least.items()
        if (status.get(field) or 0) < number
    ]
    if not few and most is not None and (status.get("replicas") or 0) > most:
        few = [f"its status.replicas is {status['replicas']}, and not {most}"]
    return Verdict("waiting", f"{few[0]}{conditions.last(found)}") if few else Verdict("ready")
