# SPDX-License-Identifier: Apache-2.0
"""A worker of a mount; its supervisor starts it."""

from __future__ import annotations

import sys

from .filesystem import begin
from .serve import main

if __name__ == "__main__":
    sys.exit(main(begin))
