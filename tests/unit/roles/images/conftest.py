# SPDX-License-Identifier: Apache-2.0
"""The driver is a program beside the role's tasks and not a package: make it importable by its file's name."""

from __future__ import annotations

import sys
from pathlib import Path

FILES = Path(__file__).parents[4] / "roles/images/files"
if str(FILES) not in sys.path:
    sys.path.insert(0, str(FILES))
