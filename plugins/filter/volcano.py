# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Decisions of the role volcano; what each does stands in the file of its name."""

from __future__ import annotations

import typing as t

from ..module_utils._core.model import scheduler_config
from ..module_utils._core.plan import volcano_adoption


class FilterModule:
    """Filters named volcano_*."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {
            "volcano_class_problems": volcano_adoption.class_problems,
            "volcano_config_problems": scheduler_config.problems,
            "volcano_foreign": volcano_adoption.foreign,
            "volcano_foreign_objects": volcano_adoption.foreign_objects,
            "volcano_foreign_webhooks": volcano_adoption.foreign_webhooks,
            "volcano_kept_classes": volcano_adoption.kept_classes,
            "volcano_queue_conversion": volcano_adoption.queue_conversion,
            "volcano_schedulable": volcano_adoption.schedulable,
            "volcano_allocatable": volcano_adoption.allocatable,
        }
