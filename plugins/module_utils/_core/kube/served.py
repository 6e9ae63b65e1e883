# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Which of the platform's kinds an API server serves now. One request for each group and version, none of others."""

from __future__ import annotations

import typing as t

from .errors import Asked, NotFoundError
from .kinds import kinds

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .client import Client

VOLCANO = ("batch.volcano.sh/v1alpha1", "bus.volcano.sh/v1alpha1", "scheduling.volcano.sh/v1beta1")
OURS = ("batch.paddlepaddle.org/v1alpha1", "paddleflow.org/v1alpha1")


def served(client: Client, *, deadline: float | None = None) -> dict[str, t.Any]:
    """Whether all kinds of Volcano that the platform needs are there, and all of its own; and those that are not."""
    missing = {api: list(_missing(client, api, deadline)) for api in (*OURS, *VOLCANO)}
    return {
        "volcano": not any(missing[api] for api in VOLCANO),
        "paddleflow": not any(missing[api] for api in OURS),
        "missing": [f"{kind}.{api}" for api, names in missing.items() for kind in names],
    }


def _missing(client: Client, api: str, deadline: float | None) -> Iterator[str]:
    try:
        asked = Asked("find the kinds of", api, api_version=api)
        answer = client.transport.request("GET", f"/apis/{api}", asked=asked, deadline=deadline)
    except NotFoundError:
        answer = {}
    there = {one.get("kind") for one in answer.get("resources") or () if "/" not in one.get("name", "")}
    return (kind for kind in kinds(api) if kind not in there)
