# SPDX-License-Identifier: Apache-2.0
"""Epochs of PyTorch's own DataLoader over JPEGs, for the environment that has it. It is told and tells as client.py is and does."""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any


class Images:
    """A data set, as a user writes one."""

    def __init__(self, paths: list[str]) -> None:
        self._paths = paths
        self._open = importlib.import_module("PIL.Image").open
        self._array = importlib.import_module("numpy").array

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: int) -> Any:
        with self._open(self._paths[index]) as image:
            # All of it is decoded; a part goes to the model, so that what is measured is not the way there.
            return self._array(image.convert("RGB").crop((0, 0, 64, 64)))


def main() -> None:
    given = json.loads(sys.stdin.readline())["given"]
    torch = importlib.import_module("torch")
    torch.manual_seed(5)
    loader = importlib.import_module("torch.utils.data").DataLoader(
        Images(given["paths"]), given["batch"], shuffle=True, num_workers=given["workers"], persistent_workers=True
    )
    print("ready", flush=True)
    sys.stdin.readline()
    took, done = [], 0
    for _epoch in range(given["epochs"]):
        begin = time.perf_counter()
        done = sum(len(batch) for batch in loader)
        took.append(time.perf_counter() - begin)
    found = {"done": done, "seconds": took[-1], "epochs": took, "wrong": len(given["paths"]) - done}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
