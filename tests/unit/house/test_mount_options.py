# SPDX-License-Identifier: Apache-2.0
"""The page of what a mount can be told has each option, and means no other."""

from __future__ import annotations

import re

import yaml
from paddleflow_core.model.mount import MOUNT, TYPES
from paddleflow_core.model.stores import SECRETS, STORES

from tools import generate, tree

PAGE = (tree.ROOT / generate.MOUNT_OPTIONS).read_text(encoding="utf-8")
TEXTS = yaml.safe_load((tree.ROOT / "docs/model/mount.yaml").read_text(encoding="utf-8"))


def test_each_option_has_a_meaning_and_no_meaning_is_left_over() -> None:
    assert list(TEXTS) == list(MOUNT)


def test_all_of_each_served_store_are_there() -> None:
    listed = set(re.findall(r"^\| `([^`]+)`", PAGE, re.MULTILINE))
    properties = {name for kind in TYPES for part in ("needs", "credentials", "may") for name in STORES[kind][part]}
    assert listed == {*MOUNT, *properties}


def test_what_is_secret_is_marked() -> None:
    marked = set(re.findall(r"^\| `([^`]+)` \(secret\)", PAGE, re.MULTILINE))
    assert marked == set(SECRETS)
