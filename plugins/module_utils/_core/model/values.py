# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Values as text: numbers as plain decimals, never with an exponent, and lists as compact JSON."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any


def text(value: Any) -> str:
    """What a value is within other text, such as a parameter in a command; text stays as it is."""
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    if isinstance(value, float) and value - value == 0:  # neither infinite nor no number
        return f"{Decimal(repr(value)):f}".removesuffix(".0") if value else "0"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_json, value))}]"
    if isinstance(value, dict):
        return (
            f"{{{','.join(f'{json.dumps(str(key), ensure_ascii=False)}:{_json(one)}' for key, one in value.items())}}}"
        )
    return json.dumps(value, ensure_ascii=False)
