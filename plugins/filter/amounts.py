# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Arithmetic with quantities; what each filter does stands in the file of its name."""

from __future__ import annotations

import typing as t

from ..module_utils._core.plan import amounts


class FilterModule:
    """Filters named quantity and quantity_*, and resources_sum."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {
            "quantity": amounts.number,
            "quantity_compare": amounts.compare,
            "quantity_human": amounts.human,
            "quantity_sum": amounts.total,
            "resources_sum": amounts.total_resources,
        }
