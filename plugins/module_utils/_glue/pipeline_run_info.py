# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What the info module of runs says beyond the runs themselves: how each of their steps is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core.model import pipeline_steps

if TYPE_CHECKING:
    from .._core.kube.client import Client, Object
    from .module import Module


def more(
    _module: Module, _client: Client, _deadline: float, found: list[Object], entries: list[dict[str, Any]]
) -> None:
    for one, entry in zip(found, entries, strict=True):
        # As they are told here, and not as lines.
        entry["status"] = {key: value for key, value in entry["status"].items() if key != "steps"}
        entry["steps"] = pipeline_steps.observe(one)
