# SPDX-License-Identifier: Apache-2.0
"""Mount namespaces of tests' own. Each begins with a copy of all that is mounted; an agent serves its mount for as long as anybody has a copy,
and so another test's would not end before this one."""

from __future__ import annotations

from typing import Final

# What a shell says first of all in a new one. Slaves would follow others, but not where the machine's own mounts are private, as in most containers.
LET_GO: Final = "umount --all --lazy --types fuse.paddleflow 2>/dev/null || true"
# The same, but for the mount that "$0" names.
ALONE: Final = """
findmnt --raw --noheadings --types fuse.paddleflow --output TARGET | grep --invert-match --line-regexp --fixed-strings "$0" |
  xargs --no-run-if-empty -n 1 umount --lazy
"""
