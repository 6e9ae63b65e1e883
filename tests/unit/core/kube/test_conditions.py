# SPDX-License-Identifier: Apache-2.0
"""What can be waited for."""

from __future__ import annotations

from typing import Any

import pytest
from paddleflow_core.kube.conditions import (
    Check,
    PathError,
    Verdict,
    at,
    condition,
    deleted,
    either,
    exists,
    one_of,
    satisfies,
    there,
    unless,
    value,
)

READY = Verdict("ready")


def thing(status: Any = None, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x", **metadata}, **({"status": status} if status is not None else {})}


def conditions(*items: dict[str, Any], **status: Any) -> dict[str, Any]:
    return thing({"conditions": list(items), **status}, generation=2)


def waiting(why: str) -> Verdict:
    return Verdict("waiting", why)


ABSENT = waiting("it does not exist")


@pytest.mark.parametrize(
    ("check", "found", "verdict"),
    [
        (exists(), None, ABSENT),
        (exists(), thing(), READY),
        (deleted(), None, READY),
        (deleted(), thing(), waiting("it still exists")),
        (deleted("u"), thing(uid="u"), waiting("it still exists")),
        (deleted("u"), thing(uid="v"), READY),
        (deleted(), thing(deletionTimestamp="now"), waiting("it still exists")),
        (
            deleted(),
            thing(deletionTimestamp="now", finalizers=["a/b", "c"]),
            waiting("it is being deleted, which waits for its finalizers a/b, c"),
        ),
        (condition("Ready"), None, ABSENT),
        (condition("Ready"), thing(), waiting("it has no condition Ready")),
        (condition("Ready"), conditions({"type": "Other", "status": "True"}), waiting("it has no condition Ready")),
        (condition("ready"), conditions({"type": "Ready", "status": "True"}), READY),
        (
            condition("Ready"),
            conditions({"type": "Ready", "status": "False", "reason": "Why", "message": "because"}),
            waiting("its condition Ready is False, Why: because"),
        ),
        (condition("Ready", "false"), conditions({"type": "Ready", "status": "False"}), READY),
        (condition("Ready", reason="Done"), conditions({"type": "Ready", "status": "True", "reason": "Done"}), READY),
        (
            condition("Ready", reason="Done"),
            conditions({"type": "Ready", "status": "True"}),
            waiting("its condition Ready is True"),
        ),
        (
            condition("Ready"),
            conditions({"type": "Ready", "status": "True", "observedGeneration": 1}),
            waiting("its condition Ready is True, of an earlier generation"),
        ),
        (condition("Ready"), conditions({"type": "Ready", "status": "True", "observedGeneration": 2}), READY),
        (
            condition("Ready"),
            conditions({"type": "Ready", "status": "True"}, observedGeneration=1),
            waiting("its condition Ready is True, of an earlier generation"),
        ),
        (value("status.state", "Open"), None, ABSENT),
        (value("status.state", "Open"), thing({"state": "Open"}), READY),
        (
            value("status.state", "Open"),
            thing({"state": "Closed"}),
            waiting("its status.state is 'Closed', and not 'Open'"),
        ),
        (value("status.state", "Open"), thing(), waiting("its status.state is not set, and not 'Open'")),
        (value("status.n", "3"), thing({"n": 3}), READY),
        (value("status.on", True), thing({"on": "True"}), READY),
        (value("status.list", [1]), thing({"list": [1]}), READY),
        (
            value("status.n", 3),
            thing({"n": 3, "observedGeneration": 1}, generation=2),
            waiting("its status.n is of an earlier generation"),
        ),
        (value("metadata.name", "x"), thing({"observedGeneration": 1}, generation=2), READY),
        (satisfies(lambda found: bool(found["status"]), "it runs"), None, ABSENT),
        (satisfies(lambda found: bool(found["status"]), "it runs"), thing({"a": 1}), READY),
        (satisfies(lambda found: bool(found["status"]), "it runs"), thing({}), waiting("not yet so: it runs")),
    ],
)
def test_checks(check: Check, found: dict[str, Any] | None, verdict: Verdict) -> None:
    assert check(found) == verdict


def test_what_fails_for_good_fails_first() -> None:
    check = unless(lambda found: found["status"].get("error", ""), value("status.state", "Done"))
    assert check(None) == ABSENT
    assert check(thing({"state": "Done"})) == READY
    assert check(thing({"state": "Done", "error": "no GPU"})) == Verdict("failed", "no GPU")


DEEP = {
    "status": {
        "tasks": [{"name": "a", "n": 1}, {"name": "b", "n": 2}],
        "conditions": [{"type": "Ready", "status": "True"}],
    },
    "metadata": {"labels": {"a.b/c": "x"}},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("status.tasks[0].name", "a"),
        ("status.tasks[-1].name", "b"),
        ("status.tasks[2].name", None),
        (".status.tasks[1].n", 2),
        ("{.status.tasks[1].n}", 2),
        ("$.status.tasks[1].n", 2),
        ("metadata.labels['a.b/c']", "x"),
        ('metadata.labels["a.b/c"]', "x"),
        ('status.conditions[?(@.type=="Ready")].status', "True"),
        ("status.conditions[?(@.type == 'Other')].status", None),
        ("status.tasks.name", None),
        ("status[0]", None),
        ("status[?(@.a=='b')]", None),
        ("status.tasks[0].name.x", None),
    ],
)
def test_paths(path: str, found: Any) -> None:
    assert at(DEEP, path) == found


@pytest.mark.parametrize("path", ["", "$", "a..b", "a[", "a[x]", "a b", "a[?(@.x>1)]", "a.*"])
def test_paths_that_cannot_be_read(path: str) -> None:
    with pytest.raises(PathError, match=r"write it as status.state.phase"):
        value(path, 1)


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        ({"phase": "Ready"}, Verdict("ready")),
        ({"phase": "PartialReady"}, Verdict("ready")),
        ({"phase": "Broken"}, Verdict("failed", "its status.phase is 'Broken'")),
        ({"phase": "Mount"}, Verdict("waiting", "its status.phase is 'Mount', and not one of 'Ready', 'PartialReady'")),
        ({}, Verdict("waiting", "its status.phase is not set, and not one of 'Ready', 'PartialReady'")),
    ],
)
def test_one_of_several_words_will_do_and_others_end_the_wait(status: dict[str, Any], verdict: Verdict) -> None:
    assert one_of("status.phase", ["Ready", "PartialReady"], ["Broken"])(thing(status)) == verdict


def test_words_of_an_earlier_generation_neither_end_a_wait_nor_fail_it() -> None:
    old = {**thing({"phase": "Broken", "observedGeneration": 1})}
    old["metadata"] = {**old["metadata"], "generation": 2}
    assert one_of("status.phase", ["Ready"], ["Broken"])(old).state == "waiting"
    assert one_of("status.phase", ["Ready"], ["Broken"])(None).state == "waiting"


def test_either_of_two_will_do() -> None:
    ended = either(deleted("u"), value("status.phase", "Completed"))
    assert ended(None).state == "ready"
    assert ended(thing({"phase": "Completed"}, uid="u")).state == "ready"
    assert ended(thing({"phase": "Running"}, uid="v")).state == "ready"
    assert ended(thing({"phase": "Running"}, uid="u")).state == "waiting"


NEWER = {
    "type": "Synced",
    "status": "False",
    "reason": "NoKey",
    "message": "the key is wrong",
    "lastTransitionTime": "2026-02-01",
}
OLDER = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01"}


@pytest.mark.parametrize(
    "check",
    [
        value("status.phase", "Bound"),
        one_of("status.phase", ["Bound"], ["Lost"]),
        one_of("status.phase", ["Bound"], ["Pending"]),
        there("status.other"),
        satisfies(lambda _found: False, "it runs"),
    ],
)
def test_what_the_newest_condition_says_is_told_whatever_is_waited_for(check: Check) -> None:
    found = {"metadata": {"name": "a"}, "status": {"phase": "Pending", "conditions": [NEWER, OLDER]}}
    assert check(found).why.endswith("; its condition Synced is False, NoKey: the key is wrong")


def test_anything_may_stand_at_a_path() -> None:
    check = there("status.ip")
    assert check(None) == ABSENT
    assert check({"metadata": {}, "status": {"ip": None}}).state == "waiting"
    assert check({"metadata": {}, "status": {"ip": 0}}).state == "ready"
