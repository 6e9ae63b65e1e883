# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Which addresses a proxy setting sends to the proxy, as Go's net/http and Python's urllib read it."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from .finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Both spellings count: curl and Python prefer the lower one, Go the upper one.
PROXIES = ("http_proxy", "https_proxy", "all_proxy")
LOCAL = ("localhost", "127.0.0.1")
CLUSTER_NAMES = (".svc", ".cluster.local")


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


def proxy_findings(variables: Mapping[str, str], targets: Sequence[str], where: str) -> list[Finding]:
    """An error when a proxy is set and does not leave the cluster's own addresses alone.

    The variables are not unset behind the user's back: downloads may need the proxy, and the user's own kubectl,
    run in the same environment after the installation, would hang on what the installation hid.
    """
    used = [name for name in variables if name.lower() in PROXIES]
    if not used:
        return []
    settings = [variables[name] for name in ("NO_PROXY", "no_proxy") if name in variables] or [""]
    missing = [target for target in dict.fromkeys(targets) if any(uncovered(text, [target]) for text in settings)]
    if not missing:
        return []
    known = [entry.strip() for text in settings for entry in text.split(",") if entry.strip()]
    value = ",".join(dict.fromkeys(known + missing))
    return [
        Finding(
            "error",
            "proxy",
            f"The proxy variable {used[0]} of {where}",
            f"({variables[used[0]]}) also covers {', '.join(missing)}",
            "the cluster's own addresses must be reached directly",
            f'run again after: export NO_PROXY="{value}" no_proxy="{value}"',
        )
    ]
