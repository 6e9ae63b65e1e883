# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Arithmetic with quantities for people: numbers, sums, an order, and a form to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model import quantity

if TYPE_CHECKING:
    from collections.abc import Iterable

_DECIMAL = ("", "k", "M", "G", "T", "P", "E")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_BYTES = ("memory", "ephemeral-storage")


def read(value: object, what: str = "") -> int:
    """In billionths. ValueError with a sentence when it is no quantity; `what` says where it stands."""
    if not quantity.is_quantity(value):
        place = f"{what} is {value!r}" if what else repr(value)
        raise ValueError(
            f"{place}, but must be a quantity: write a number, with a unit of Kubernetes where it has one, such as 500m, 2 or 16Gi."
        )
    return quantity.parse(value)


def number(value: object) -> Any:
    """As a whole number where it is one, else as a fraction."""
    billionths = read(value)
    whole, rest = divmod(billionths, quantity.UNIT)
    return billionths / quantity.UNIT if rest else whole


def text(resource: str, billionths: int) -> str:
    """Exact, with a binary unit where the resource is counted in bytes."""
    return quantity.text(billionths, resource in _BYTES or resource.startswith("hugepages-"))


def compare(one: object, other: object) -> int:
    """-1, 0 or 1: whether the first is less than, equal to or more than the other."""
    first, second = read(one), read(other)
    return (first > second) - (first < second)


def total(values: Iterable[object]) -> str:
    """In a binary unit when one of them has one."""
    found, binary = 0, False
    for place, value in enumerate(values):
        found += read(value, f"entry {place}")
        binary = binary or str(value).endswith("i")
    return quantity.text(found, binary)


def total_resources(values: Iterable[Any]) -> dict[str, str]:
    """Resource by resource; an entry adds nothing to one that it does not name."""
    found: dict[str, int] = {}
    for place, entry in enumerate(values):
        if not hasattr(entry, "items"):
            raise ValueError(
                f"entry {place} is {entry!r}, but must be a mapping of resources to quantities, such as {{cpu: 4, memory: 16Gi}}."
            )
        for resource, value in entry.items():
            found[resource] = found.get(resource, 0) + read(value, f"{resource} of entry {place}")
    return {resource: text(resource, found[resource]) for resource in sorted(found)}


def human(value: object, binary: bool = True, digits: int = 1) -> str:
    """Rounded to so many digits, in the unit that leaves at least one before the point."""
    if not 0 <= digits <= 9:
        raise ValueError(f"digits is {digits}, but must be a whole number from 0 to 9.")
    billionths = read(value)
    sign, size = ("-", -billionths) if billionths < 0 else ("", billionths)
    parts, suffix = 1, ""
    if size < quantity.UNIT:
        parts, suffix = next(((p, s) for p, s in quantity.SMALL if size * p >= quantity.UNIT), (1, ""))
    shown = _rounded(size * parts, digits)
    base, names = (1024, _BINARY) if binary else (1000, _DECIMAL)
    for power, name in enumerate(names):
        # Rounding may reach the next unit: 1023.99Mi is 1Gi.
        if power and shown >= base * 10**digits:
            shown, suffix = _rounded(size, digits, base**power), name
    return sign + _point(shown, digits) + suffix


def _rounded(billionths: int, digits: int, unit: int = 1) -> int:
    """In units of the last digit that is shown; halves go up."""
    divisor, last = unit * quantity.UNIT, int(10**digits)
    return (2 * billionths * last + divisor) // (2 * divisor)


def _point(shown: int, digits: int) -> str:
    whole, rest = divmod(shown, 10**digits)
    fraction = f"{rest:0{digits}d}".rstrip("0") if digits else ""
    return f"{whole}.{fraction}" if fraction else str(whole)
