# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""NodeCache: what one node holds of each file system. The node's agents write it, the scheduler reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .names import LABEL, SUBDOMAIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .table import OwnNoun


NOUN: OwnNoun = {
    "api": "paddleflow.org/v1alpha1",
    "kind": "NodeCache",
    "plural": "nodecaches",
    "short_names": ["nc"],
    "scope": "Cluster",
    "name": {"type": "string", "pattern": f"^{SUBDOMAIN}$", "min": 1, "max": 253},
    "spec": {
        "nodeName": {
            "type": "string",
            "required": True,
            "immutable": True,
            "pattern": f"^{SUBDOMAIN}$",
            "min": 1,
            "max": 253,
        },
    },
    "status": {
        "observedTime": {"type": "datetime"},
        "fileSystems": {
            "type": "list",
            "keys": ["fileSystem"],
            # An object stays far below etcd's 1.5 MiB with names of the greatest length.
            "max": 1024,
            "items": {
                "type": "object",
                "fields": {
                    "fileSystem": {
                        "type": "string",
                        "required": True,
                        "pattern": f"^{LABEL}/{SUBDOMAIN}$",
                        "min": 3,
                        # A namespace of 63, the slash, a name of 253.
                        "max": 317,
                    },
                    "cachedBytes": {"type": "int", "required": True, "min": 0},
                    "cachedFiles": {"type": "int", "required": True, "min": 0},
                    # No rule ties cachedBytes to it: files that were deleted at the source are still cached for a while.
                    "totalBytes": {"type": "int", "min": 0},
                },
            },
        },
    },
    "rules": [
        {
            "rule": "self.metadata.name == self.spec.nodeName",
            "message": "metadata.name must be the node's name, the same as spec.nodeName",
        },
    ],
    "columns": [
        {"name": "Node", "type": "string", "path": ".spec.nodeName"},
        {"name": "Observed", "type": "date", "path": ".status.observedTime"},
        {"name": "Age", "type": "date", "path": ".metadata.creationTimestamp"},
    ],
}


def held(found: Mapping[str, Any]) -> tuple[str, dict[str, int]]:
    """The node, and the cached bytes of each file system by <namespace>/<name>."""
    entries = (found.get("status") or {}).get("fileSystems") or ()
    sizes = {one["fileSystem"]: one["cachedBytes"] for one in entries}
    return found["spec"]["nodeName"], {name: sizes[name] for name in sorted(sizes)}
