# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What the status of our kinds has in common, as the conventions of the Kubernetes API have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .table import Field

STATUS: dict[str, Field] = {
    "observedGeneration": {"type": "int", "min": 0, "doc": "status.observedGeneration"},
    "conditions": {
        "type": "list",
        "doc": "status.conditions",
        "keys": ["type"],
        "max": 32,
        "items": {
            "type": "object",
            "fields": {
                "type": {"type": "string", "required": True, "min": 1, "max": 63},
                "status": {"type": "string", "required": True, "enum": ["True", "False", "Unknown"]},
                "observedGeneration": {"type": "int", "min": 0},
                "lastTransitionTime": {"type": "datetime"},
                "reason": {"type": "string", "max": 1024},
                "message": {"type": "string", "max": 32768},
            },
        },
    },
}
