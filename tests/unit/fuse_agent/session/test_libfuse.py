# SPDX-License-Identifier: Apache-2.0
"""The session by pyfuse3, without a kernel: what it leaves behind."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyfuse3
import pytest
import trio
from paddleflow_fuse.nodes.region import Region
from paddleflow_fuse.protocol.agree import Agreed
from paddleflow_fuse.protocol.codes import Init
from paddleflow_fuse.session.libfuse import Libfuse, _Callbacks
from paddleflow_fuse.sources.memory import MemoryStore
from paddleflow_fuse.sources.objects import ObjectSource

from tests.support.asked_files import asked


def test_nothing_is_kept_of_requests_that_were_answered(region: Region, tmp_path: Path) -> None:
    context: Any = SimpleNamespace(uid=0, gid=0, pid=1)

    async def test() -> None:
        async with asked(region, tmp_path, ObjectSource(MemoryStore(), "")) as ask:
            session = Libfuse(-1, Agreed(41, Init.ASYNC_READ, 1 << 17, 1 << 17, 0))
            session.results = ask.files.results
            callbacks = _Callbacks(session, ask.files)
            for _time in range(2):
                await callbacks.mkdir(1, b"folder", 0o755, context)
                with pytest.raises(pyfuse3.FUSEError):
                    await callbacks.mkdir(1, b"folder", 0o755, context)
                await callbacks.rmdir(1, b"folder", context)
            assert not ask.files.results._begun

    trio.run(test)
