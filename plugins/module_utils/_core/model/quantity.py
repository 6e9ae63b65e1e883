# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Kubernetes quantities by value: 1000m is 1, 1024Mi is 1Gi. As whole billionths, the finest that Kubernetes keeps."""

from __future__ import annotations

import re

UNIT = 10**9
# Of how many parts each unit below one is.
SMALL = ((10**3, "m"), (10**6, "u"), (10**9, "n"))
_SUFFIXES = {
    **{suffix: (10 ** (3 * power), 1) for power, suffix in enumerate(("", "k", "M", "G", "T", "P", "E"))},
    **{suffix: (1024 ** (power + 1), 1) for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))},
    **{suffix: (1, parts) for parts, suffix in SMALL},
}
_FORM = re.compile(r"([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([eE][+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i)?)", re.ASCII)


def parse(value: object) -> int:
    """In billionths, fractions of one rounded away from zero as the API server does. ValueError when it is none."""
    found = (
        _FORM.fullmatch(str(value)) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None
    )
    if found is None:
        raise ValueError(f"{value!r} is not a quantity")
    sign, digits, exponent, suffix = found.groups()
    whole, _point, fraction = digits.partition(".")
    times, parts = _SUFFIXES[suffix or ""]
    power = int(exponent[1:]) if exponent else 0
    numerator = int((whole + fraction) or 0) * times * UNIT * 10 ** max(power, 0)
    denominator = parts * 10 ** len(fraction) * 10 ** max(-power, 0)
    amount: int = -(-numerator // denominator)
    return -amount if sign == "-" else amount


def is_quantity(value: object) -> bool:
    try:
        parse(value)
    except ValueError:
        return False
    return True


def same(one: object, other: object) -> bool:
    """By value; what is no quantity is only the same as itself."""
    if one == other:
        return True
    return is_quantity(one) and is_quantity(other) and parse(one) == parse(other)


def text(billionths: int, binary: bool = False) -> str:
    """The shortest form that loses nothing; with a binary unit, as memory is written, where the value is whole in one."""
    if billionths % UNIT:
        parts, suffix = next((p, s) for p, s in SMALL if billionths * p % UNIT == 0)
        return f"{billionths * parts // UNIT}{suffix}"
    whole = billionths // UNIT
    for power, suffix in ((6, "Ei"), (5, "Pi"), (4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki")):
        if binary and whole and whole % 1024**power == 0:
            return f"{whole // 1024**power}{suffix}"
    return str(whole)
