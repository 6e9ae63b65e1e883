# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Which addresses NO_PROXY keeps from the proxy, as Go's net/http and Python's urllib read it."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text.strip("[]"), strict=False)
    except ValueError:
        return None


def _covers(entry: str, target: str) -> bool:
    if entry == "*":
        return True
    ours, theirs = _network(entry), _network(target)
    if ours is not None or theirs is not None:
        if ours is None or theirs is None or ours.version != theirs.version:
            return False
        return int(ours[0]) <= int(theirs[0]) and int(theirs[-1]) <= int(ours[-1])
    entry, target = entry.lower(), target.lower()
    if entry.startswith("."):
        return target.endswith(entry)
    return target.strip(".") == entry or target.endswith("." + entry)


def uncovered(no_proxy: str, targets: Iterable[str]) -> list[str]:
    """The targets (addresses, CIDRs, names, ``.suffix`` for all names below) that no entry of NO_PROXY exempts."""
    entries = [entry.strip() for entry in no_proxy.split(",") if entry.strip()]
    return [target for target in dict.fromkeys(targets) if not any(_covers(entry, target) for entry in entries)]
