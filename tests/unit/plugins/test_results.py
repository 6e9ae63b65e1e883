# SPDX-License-Identifier: Apache-2.0
"""How a task tells what became of its objects."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.errors import KubeError
from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.wanted import Outcome, Wanted
from ansible_collections.paddleflow.core.plugins.module_utils._glue import results
from ansible_collections.paddleflow.core.plugins.plugin_utils.here import Here, Left


def outcome(action: Any, error: str = "") -> Outcome:
    wanted = Wanted({"kind": "ConfigMap", "metadata": {"name": "a"}}, where="here")
    return Outcome(wanted, action, error=KubeError(error) if error else None)


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        ([("created", "late"), ("created", "late")], "2 of 2 objects failed, 2 were changed, 0 needed nothing:"),
        ([("failed", "no"), ("unchanged", "")], "1 of 2 objects failed, 0 were changed, 1 needed nothing:"),
        (
            [("failed", "no"), ("kept", ""), ("changed", "")],
            "1 of 3 objects failed, 1 were changed, 0 needed nothing, 1 were kept because of that:",
        ),
    ],
)
def test_each_object_is_counted_as_what_it_is(actions: list[tuple[str, str]], said: str) -> None:
    text = results.failure([outcome(*one) for one in actions])
    assert text.splitlines()[0] == said
    assert len(text.splitlines()) == 1 + sum(bool(error) for _action, error in actions)


def test_a_check_says_what_would_become_of_the_others() -> None:
    text = results.failure(
        [outcome("failed", "no"), outcome("kept"), outcome("changed"), outcome("unchanged")], check=True
    )
    said = "1 of 4 objects failed, 1 would be changed, 1 need nothing, 1 would be kept because of that:"
    assert text.splitlines()[0] == said


@pytest.mark.parametrize(("before", "after"), [("created", "created"), ("deleted", "deleted"), ("unchanged", "failed")])
def test_what_was_done_stays_done_when_something_goes_wrong_after_it(before: str, after: str) -> None:
    failed = outcome(before).failing(KubeError("no"))
    assert (failed.action, failed.changed) == (after, before != "unchanged")


def test_what_check_mode_takes_for_made_by_an_earlier_task_is_a_warning() -> None:
    module = Here({"return_content": {"type": "bool"}}, "x", given={}, environment={}, check=True, diff=False)
    wanted = Wanted({"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "team"}}, "amended")
    there = {"kind": "ConfigMap", "metadata": {"name": "a"}}
    with pytest.raises(Left) as left:
        results.leave(module, [Outcome(wanted, "changed"), Outcome(wanted, "changed", there), outcome("created")])
    assert left.value.result["warnings"] == [
        "ConfigMap team/a is not there yet: check mode assumes that an earlier task would have made it."
    ]


def test_without_pyyaml_a_difference_is_shown_as_ansible_shows_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    after = {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"b": "1"}}
    (shown,) = results.diffs([outcome("created")._replace(after=after)])
    assert (shown["before"], shown["after"]["data"]) == ("", {"b": "1"})
