# SPDX-License-Identifier: Apache-2.0
"""Makes the JPEGs of the benchmark's data set, of 4 to 128 KiB each. In a process of its own, which alone has Pillow."""

from __future__ import annotations

import importlib
import json
import random
import sys


def main() -> None:
    wanted = json.load(sys.stdin)
    sys.path.insert(0, wanted["decoder"])
    image = importlib.import_module("PIL.Image")

    chance = random.Random(6)
    for path in wanted["paths"]:
        side = int(64 * 6.2 ** chance.random())  # up to 400 pixels, small ones more often
        coarse = side // 2
        noise = image.frombytes("RGB", (coarse, coarse), chance.randbytes(3 * coarse * coarse))
        noise.resize((side, side)).save(path, quality=90)


if __name__ == "__main__":
    main()
