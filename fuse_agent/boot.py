# SPDX-License-Identifier: Apache-2.0
"""Since when the machine runs: what is kept by the memory of its kernel, or told by its clock, is of that time alone."""

from __future__ import annotations

from pathlib import Path


def boot_id() -> str:
    """Another one after the machine has started anew."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
