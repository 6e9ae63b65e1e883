# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from pathlib import Path

FILES = Path(__file__).parents[4] / "roles/volcano/files"
if str(FILES) not in sys.path:
    sys.path.insert(0, str(FILES))
