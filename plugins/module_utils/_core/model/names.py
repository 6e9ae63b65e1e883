# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The forms of names, and how one name becomes another: a field's option, a long name's object."""

from __future__ import annotations

import hashlib
import re

LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
# A label's key: an optional domain, then a name.
KEY = rf"({SUBDOMAIN}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?"
LABEL_VALUE = "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"

_UPPER = re.compile(r"(?<=[a-z0-9])[A-Z]+(?=[A-Z][a-z]|\b)|(?<=[a-z0-9])[A-Z]|(?<=[A-Z])[A-Z](?=[a-z]{2})")


def option(field: str) -> str:
    """The option of a field: maxRunningJobs is max_running_jobs, podIPs is pod_ips, attr-cache is attr_cache, a.b is a_b."""
    return _UPPER.sub(lambda found: f"_{found[0]}", field).lower().replace("-", "_").replace(".", "_")


def flag(field: str) -> str:
    """The command line's flag of a field: maxRunningJobs is --max-running-jobs."""
    return "--" + option(field).replace("_", "-")


def slug(name: str, limit: int = 63) -> str:
    """A DNS label for any name. A name that is one already stays; every other gets a digest of itself, so that two stay two."""
    if len(name) <= limit and re.fullmatch(LABEL, name):
        return name
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return "-".join(part for part in (plain[: limit - 9].strip("-"), digest) if part)
