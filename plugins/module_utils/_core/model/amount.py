# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Fields that are quantities within bounds which the API server checks by their value."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .table import Field, Rule

_VALUE, _ZERO = "quantity(string(self))", "quantity('0')"


def at_least_zero() -> Field:
    rule: Rule = {"rule": f"!{_VALUE}.isLessThan({_ZERO})", "message": "must be at least 0"}
    return {"type": "quantity", "rules": [rule]}


def above_zero(most: str = "") -> Field:
    rule: Rule = {"rule": f"{_VALUE}.isGreaterThan({_ZERO})", "message": "must be above 0"}
    if most:
        rule["rule"] += f" && !{_VALUE}.isGreaterThan(quantity('{most}'))"
        rule["message"] += f" and at most {most}"
    return {"type": "quantity", "rules": [rule]}
