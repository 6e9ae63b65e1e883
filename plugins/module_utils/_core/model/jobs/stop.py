# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""How a job is stopped. A file of its own, since who stops jobs by the queue need not know what they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# On a job that somebody stops, before it is aborted or deleted, so that its end is not taken for anything else.
STOP = "paddleflow.org/stop"


def orders(live: Mapping[str, Any], why: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """What to merge into the object, and then the command to its engine; without one the object is deleted.
    A Volcano Job stays, with all that it says of its end [D-150]."""
    patch = {"metadata": {"annotations": {STOP: why}}}
    if not live["apiVersion"].startswith("batch.volcano.sh/"):
        return patch, None
    target = {"apiVersion": live["apiVersion"], "kind": live["kind"], "controller": True}
    target |= {name: live["metadata"][name] for name in ("name", "uid")}
    metadata = {
        "name": f"stop-{live['metadata']['uid']}",
        "namespace": live["metadata"]["namespace"],
        "ownerReferences": [target],
    }
    api = "bus.volcano.sh/v1alpha1"
    return patch, {
        "apiVersion": api,
        "kind": "Command",
        "metadata": metadata,
        "action": "TerminateJob",
        "target": target,
    }
