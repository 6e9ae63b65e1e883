# SPDX-License-Identifier: Apache-2.0
"""Items of a loop, which one worker carries out, one after the other."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.paddleflow.core.plugins.modules import flavour_info
from ansible_collections.paddleflow.core.plugins.plugin_utils import here
from ansible_collections.paddleflow.core.plugins.plugin_utils.here import Here, HereAction

from tests.support.kube_stub import Stub, kube_stub, ok


class Loop:
    """Over the same module, at a server that notes by which connections it was asked."""

    def __init__(self, stub: Stub) -> None:
        self.stub, self.ports = stub, list[int]()
        stub.always = self.note

    def note(self, handler: Any) -> None:
        self.ports.append(handler.client_address[1])
        ok({"metadata": {}, "items": []})(handler)

    def item(self, **options: Any) -> dict[str, Any]:
        given = {"host": self.stub.url, "api_key": "ann's", **options}
        return here.carried(flavour_info, given, {}, check=False, diff=False, loop=True)


@pytest.fixture
def loop() -> Iterator[Loop]:
    with kube_stub() as stub:
        yield Loop(stub)
        if Here.kept is not None:
            Here.kept.close()
        Here.kept = None


def test_items_share_a_connection_also_past_one_that_is_refused(loop: Loop) -> None:
    assert loop.item()["objects"] == []
    assert loop.item(unknown=1)["failed"]
    assert loop.item()["objects"] == []
    assert loop.ports[0] == loop.ports[1]


def test_another_user_and_another_server_have_connections_of_their_own(loop: Loop) -> None:
    with kube_stub() as stub:
        other = Loop(stub)
        loop.item()
        loop.item(api_key="ben's")
        other.item()
        loop.item()
        assert len(set(loop.ports)) == 3
        assert [one.header("Authorization") for one in loop.stub.seen] == [
            "Bearer ann's",
            "Bearer ben's",
            "Bearer ann's",
        ]


def test_an_item_after_one_that_was_stopped_goes_on(loop: Loop) -> None:
    loop.item()
    assert Here.kept is not None
    Here.kept.stop.set()
    assert loop.item()["objects"] == []
    assert len(set(loop.ports)) == 2


def test_only_the_first_item_spares_what_ansible_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the items leave is garbage."""
    spared: list[bool] = []
    monkeypatch.setattr(gc, "freeze", lambda: spared.append(True))
    monkeypatch.setattr(HereAction, "_spared", False)
    monkeypatch.setattr(ActionBase, "run", lambda *_given: {})
    monkeypatch.setattr(HereAction, "arguments", lambda *_given: {})
    monkeypatch.setattr(HereAction, "_carried", lambda *_given: {})
    for _item in range(3):
        HereAction.__new__(HereAction).run()
    assert spared == [True]
