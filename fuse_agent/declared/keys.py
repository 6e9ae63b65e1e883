# SPDX-License-Identifier: Apache-2.0
"""Whether a store takes the keys that are declared for it. Asked before they replace those that a mount goes on with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import configuration
from ..sources.base import quiet
from ..sources.make import Wanted, make

if TYPE_CHECKING:
    from collections.abc import Mapping


def given(one: Mapping[str, Any]) -> dict[str, Any]:
    """What the file that declares it says of its options."""
    options = {**one.get("properties", {}), **one.get("options", {})}
    return {name: value for name, value in options.items() if value is not None}


def refused(one: Mapping[str, Any]) -> str:
    """Why the store lets nobody in by them, asked as by a mount; nothing, also where it is not known, as of a store that is away."""
    try:
        wanted = configuration.read(one["url"], {**given(one), **one["secrets"]})
        source = make(Wanted(one["url"], wanted.properties, wanted.place["subPath"]), quiet)
        try:
            source.find(b"")
        finally:
            source.close()
    except PermissionError as error:
        return (
            f"{one['name']} on {one['mount_point']}: {one['url']} refuses the secrets that are declared now ({error}). It goes on with those that it has. "
            f"Correct secrets of {one['name']} in fuse_agent_mounts, and run again."
        )
    except OSError:
        return ""
    return ""
