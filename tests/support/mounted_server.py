# SPDX-License-Identifier: Apache-2.0
"""A process that serves one mount until it is unmounted: nothing that serves a mount may open a path of it, so a test cannot."""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

import trio
from paddleflow_fuse.cache.claim import claim
from paddleflow_fuse.cache.disk import Disk
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.cache.room import Limits
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.protocol.agree import Wish, by_libfuse
from paddleflow_fuse.session.base import Session
from paddleflow_fuse.session.direct import Direct
from paddleflow_fuse.session.handshake import begin
from paddleflow_fuse.session.libfuse import Libfuse
from paddleflow_fuse.session.mount import Options, mount
from paddleflow_fuse.sources.base import Source, quiet
from paddleflow_fuse.sources.local import LocalSource
from paddleflow_fuse.sources.make import Wanted, make
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource
from paddleflow_fuse.sources.objects import Options as ObjectOptions

from tests.support.faulty_source import FaultySource


def source_of(wanted: dict[str, Any], faults: str) -> Source:
    options = ObjectOptions(persist=wanted.get("persist", False))
    if wanted["kind"] == "s3":
        return make(Wanted(wanted["url"], wanted["properties"], ""), quiet)
    local = wanted["kind"] == "local"
    source: Source = LocalSource(wanted["root"]) if local else ObjectSource(MemoryStore(), "", options)
    return FaultySource(source, Path(faults)) if faults else source


def disk_of(wanted: dict[str, Any]) -> Disk | None:
    if not wanted["disk"]:
        return None
    return Disk(claim(Path(wanted["disk"]), {"pid": os.getpid()}), Limits(1 << 30, 100_000))


def session_of(name: str, descriptor: int, wish: Wish) -> Session:
    if name == "direct":
        return Direct(descriptor, begin(descriptor, wish)[0])
    return Libfuse(descriptor, by_libfuse(wish)[0])


async def serve(wanted: dict[str, Any]) -> None:
    settings = Settings(**wanted["settings"])
    descriptor = mount(Path(wanted["point"]), "test", Options(read_only=settings.read_only))
    region = Region.create()
    wish = Wish(
        read_only=settings.read_only, without_open=settings.without_open, passthrough=wanted["passthrough"],
        refuses_locks=wanted["refuses_locks"],
    )  # fmt: skip
    session = session_of(wanted["session"], descriptor, wish)
    async with trio.open_nursery() as nursery:
        parts = Parts(
            Nodes(region), Opens(region, session.unbind), source_of(wanted["source"], wanted["faults"]),
            Memory(64 << 20), disk_of(wanted),
            Staging(Path(wanted["staging"])), session.bind if session.agreed.passthrough else None, doubt=session.doubt,
        )  # fmt: skip
        files = FileSystem(nursery, parts, settings)
        session.results = files.results
        print("ready", flush=True)
        await session.serve(files)
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    logging.basicConfig(level=logging.DEBUG)
    trio.run(serve, json.loads(sys.argv[1]))
    os._exit(0)  # a thread may still wait for its source
