# SPDX-License-Identifier: Apache-2.0
"""A worker of the agent with the real file system over a store of objects for tests, at whose requests it may be killed."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from paddleflow_fuse.cache.memory import Memory
from paddleflow_fuse.files.system import FileSystem, Parts
from paddleflow_fuse.files.view import Settings
from paddleflow_fuse.files.written.staging import Staging
from paddleflow_fuse.nodes.table import Nodes
from paddleflow_fuse.opens import Opens
from paddleflow_fuse.sources.objects import ObjectSource, Options
from paddleflow_fuse.worker.serve import main
from paddleflow_fuse.worker.service import Given, Unsaved

from tests.support.folder_store import Doom, DoomedStore


class Service:
    def __init__(self, files: FileSystem) -> None:
        self.operations = files

    def unsaved(self) -> Unsaved:
        left = self.operations.unsaved()
        return Unsaved(len(left), tuple(path.decode() for path in left))

    async def save(self, _seconds: float) -> None:
        await self.operations.save()

    def over(self) -> None:
        pass

    def status(self) -> dict[str, Any]:
        return self.operations.status()

    async def command(self, name: str, _given: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        if name:
            raise LookupError(name)
        yield {}


@asynccontextmanager
async def begin(given: Given) -> AsyncIterator[Service]:
    folder = Path(given.configuration["folder"])
    options = Options(persist=given.configuration.get("persist", False))
    source = ObjectSource(DoomedStore(folder / "store", Doom(folder / "doom")), "", options)
    async with trio.open_nursery() as nursery:
        session = given.session
        parts = Parts(
            Nodes(given.region), Opens(given.region, session.unbind), source, Memory(64 << 20),
            staging=Staging(folder / "staging"), bind=session.bind if session.agreed.passthrough else None,
        )  # fmt: skip
        files = FileSystem(nursery, parts, Settings(**given.configuration.get("settings", {})))
        session.results = files.results
        yield Service(files)
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    sys.exit(main(begin))
