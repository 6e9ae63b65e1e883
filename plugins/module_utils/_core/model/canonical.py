# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""One form of all declarations that mean the same: amounts by their value, and what is left out as its default says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .table import Field

_AMOUNT: Field = {"type": "quantity"}


def form(fields: Mapping[str, Field], declared: Mapping[str, Any]) -> dict[str, Any]:
    """Of a declaration that was read by these fields. It means the same still, and could be declared in its place."""
    found = {name: field["default"] for name, field in fields.items() if "default" in field} | dict(declared)
    return {name: _value(fields[name], value) if name in fields else value for name, value in found.items()}


def _value(field: Field, value: Any) -> Any:
    if field["type"] == "quantity":
        return quantity.text(quantity.parse(value)) if quantity.is_quantity(value) else value
    item = _AMOUNT if field["type"] == "resources" else field.get("items")
    if isinstance(value, dict):
        if "fields" in field:
            return form(field["fields"], value)
        return {key: _value(item, entry) for key, entry in value.items()} if item else value
    return [_value(item, entry) for entry in value] if item and isinstance(value, list) else value
