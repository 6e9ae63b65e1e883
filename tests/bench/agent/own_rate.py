# SPDX-License-Identifier: Apache-2.0
"""How fast the agent's own client of S3 is without a file system: what reading and writing through a mount are held against."""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from paddleflow_fuse.sources.base import quiet
from paddleflow_fuse.sources.make import Wanted, make

_PIECE = 8 << 20
_AT_ONCE = 8


def main() -> None:
    wanted = json.loads(sys.stdin.readline())
    source = make(Wanted(wanted["url"], wanted["properties"], "", wanted["secrets"]), quiet)
    print("ready", flush=True)
    sys.stdin.readline()
    begin = time.perf_counter()
    done = 0
    if wanted["do"] == "read":
        pieces = [(path.encode(), place) for path in wanted["paths"] for place in range(0, wanted["size"], _PIECE)]

        def read(piece: tuple[bytes, int]) -> int:
            path, place = piece
            return len(source.read(path, b"", place, min(_PIECE, wanted["size"] - place)))

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            done = sum(pool.map(read, pieces))
    else:
        descriptor = os.open(wanted["file"], os.O_RDONLY)
        done = source.store(b"new/file-own", descriptor, wanted["size"]).size
        os.close(descriptor)
    seconds = time.perf_counter() - begin
    source.close()
    print(json.dumps({"done": done, "seconds": seconds, "wrong": 0}), flush=True)


if __name__ == "__main__":
    main()
