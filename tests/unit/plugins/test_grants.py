# SPDX-License-Identifier: Apache-2.0
"""What is said when a queue is gone and its grants cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.paddleflow.core.plugins.module_utils._core.model import queue
from ansible_collections.paddleflow.core.plugins.module_utils._glue import noun, queues
from ansible_collections.paddleflow.core.plugins.module_utils._glue.module import Module

from tests.support.kube_stub import Handler, Step, kube_stub, ok, refuse

LIVE = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue",
    "metadata": {"name": "team-a", "uid": "1", "resourceVersion": "5"},
    "spec": {},
}


def taken_away(grants: Step, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    def cluster(handler: Handler) -> None:
        seen = handler.server.seen[-1]
        if seen.path.endswith("/clusterrolebindings"):
            grants(handler)
        elif seen.path.endswith("/queues/team-a"):
            ok(LIVE)(handler)
        else:
            ok({"items": [], "metadata": {"resourceVersion": "7"}})(handler)

    with kube_stub(always=cluster) as stub:
        given = {"host": stub.url, "api_key": "t0ken", "name": "team-a", "state": "absent"}
        with patch_module_args(given), pytest.raises(SystemExit):
            noun.run(queue, queues.carry, queues.BESIDE)
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_that_a_queue_is_gone_is_told_when_its_grants_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    answer = taken_away(refuse(400, "", "not now"), capsys)
    assert (answer["failed"], answer["changed"]) == (True, True)
    assert [(one["kind"], one["name"], one["action"]) for one in answer["objects"]] == [
        ("Queue", "team-a", "deleted"),
        ("ClusterRoleBinding", "", "failed"),
    ]
    said = "Grants of what is gone may be left, and hold for the next one of that name: Could not list ClusterRoleBinding: "
    assert said in answer["msg"]
    assert answer["msg"].endswith(" Run the task again.")


def test_who_may_not_read_grants_is_warned(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(Module, "warn", lambda _module, text: told.append(text))
    answer = taken_away(refuse(403, "Forbidden", "no"), capsys)
    assert [one["action"] for one in answer["objects"]] == ["deleted"]
    assert "failed" not in answer
    assert [text.partition(":")[0] for text in told] == ["Its grants stay, and hold for the next one of that name"]
