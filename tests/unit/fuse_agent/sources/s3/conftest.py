# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from paddleflow_fuse.sources.s3.options import Patience
from paddleflow_fuse.sources.s3.store import S3Store

from tests.support.s3_stub import Stub, s3_stub


@dataclass
class Tried:
    """What a store did: its requests, and how long it would have waited between them."""

    stub: Stub
    requests: list[tuple[str, int, bool]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    opened: list[S3Store] = field(default_factory=list)

    def store(self, **given: Any) -> S3Store:
        def wait(seconds: float) -> bool:
            self.waits.append(seconds)
            return False

        patience = given.pop("patience", Patience(tries=4, connect=5, silence=5))
        options = given.pop("options", self.stub.options)
        given.setdefault("on_request", lambda one: self.requests.append(one[:3]))
        made = S3Store(options, patience=patience, wait=wait, **given)
        self.opened.append(made)
        return made


@pytest.fixture
def tried() -> Iterator[Tried]:
    with contextlib.ExitStack() as stack:
        tried = Tried(stack.enter_context(s3_stub()))
        yield tried
        for store in tried.opened:
            store.close()
        assert tried.stub.steps == [], "not all that was planned was asked for"


@pytest.fixture
def staged() -> Iterator[int]:
    descriptor = os.memfd_create("staged")
    os.write(descriptor, b"abc")
    yield descriptor
    os.close(descriptor)
