# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What is wrong with the proxy variables of a node or of the control node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .finding import Finding
from .no_proxy import uncovered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Both spellings count: curl and Python prefer the lower one, Go the upper one.
PROXIES = ("http_proxy", "https_proxy", "all_proxy")
LOCAL = ("localhost", "127.0.0.1")
CLUSTER_NAMES = (".svc", ".cluster.local")


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
