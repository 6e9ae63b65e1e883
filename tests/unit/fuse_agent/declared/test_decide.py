# SPDX-License-Identifier: Apache-2.0
"""From what is and what is declared to what is done."""

from __future__ import annotations

import pytest
from paddleflow_fuse.declared.decide import Agent, Step, Wanted, is_due, some, steps

RELEASES = "/opt/fuse/releases"


def agent(label: str = "one:new", programs: tuple[str, str] = (f"{RELEASES}/b", f"{RELEASES}/b")) -> Agent:
    return Agent("/run/x.sock", "/mnt/one", label, 10, 11, True, programs)


@pytest.mark.parametrize(
    ("state", "label", "dead", "up", "known", "wanted"),
    [
        ("mounted", None, False, False, True, "mount"),
        ("mounted", None, False, True, True, "mount"),
        ("mounted", None, True, True, True, "unmount mount"),
        ("mounted", "one:new", False, True, True, ""),
        ("mounted", "one:new", False, False, True, "enable"),
        ("mounted", "one:old", False, True, True, "unmount mount"),
        ("mounted", "", False, False, True, "unmount mount"),
        ("mounted", "one:new.old", False, True, True, "change"),
        ("mounted", "one:new.old", False, False, True, "change enable"),
        ("mounted", "two:new.old", False, True, True, "unmount mount"),
        ("unmounted", "one:new", False, True, True, "unmount disable"),
        ("unmounted", None, False, True, True, "disable"),
        ("unmounted", None, True, False, True, "unmount"),
        ("unmounted", None, False, False, True, ""),
        ("absent", "one:new", False, True, True, "unmount disable forget"),
        ("absent", None, False, False, True, "forget"),
        ("absent", None, False, False, False, ""),
    ],
)
def test_the_steps_to_what_is_declared(
    state: str, label: str | None, dead: bool, up: bool, known: bool, wanted: str
) -> None:
    there = None if label is None else agent(label)
    found = steps(Wanted("one", state, "/mnt/one", "new"), there, dead=dead, up=up, known=known)
    assert " ".join(step.value for step in found) == wanted


def test_what_no_other_worker_can_go_on_with_is_mounted_anew() -> None:
    wanted = Wanted("one", "mounted", "/mnt/one", "new")
    found = steps(wanted, agent(wanted.label), dead=False, up=True, known=True, anew=True)
    assert list(found) == [Step.UNMOUNT, Step.MOUNT]
    other = agent("one:new.old")._replace(goes_on=False)
    assert list(steps(wanted, other, dead=False, up=True, known=True)) == [Step.UNMOUNT, Step.MOUNT]


@pytest.mark.parametrize(
    ("programs", "due"),
    [
        ((f"{RELEASES}/b", f"{RELEASES}/b"), False),
        ((f"{RELEASES}/a", f"{RELEASES}/a"), True),
        ((f"{RELEASES}/b", f"{RELEASES}/a"), True),  # a move that was cut off
        ((f"{RELEASES}/a", ""), True),
        ((f"{RELEASES}/b", ""), False),  # its worker is slow to answer, which is no reason to replace it
        (("/home/ann/venv", "/home/ann/venv"), False),
        (("", ""), False),
    ],
)
def test_who_runs_from_another_release_of_ours_is_moved(programs: tuple[str, str], due: bool) -> None:
    assert is_due(agent(programs=programs), RELEASES, "b") is due


def test_each_step_is_told_in_words() -> None:
    done = [step.told("x", check=False) for step in Step]
    would = [step.told("x", check=True) for step in Step]
    assert done == [
        "unmounted x", "mounted x", "changed x", "enabled x", "disabled x", "forgot x", "moved x to the release that is installed now", "loaded x",
        "set x", "removed x", "started x", "stopped x",
    ]  # fmt: skip
    assert all(text.startswith("would ") for text in would)
    assert len(set(would)) == len(would)


def test_many_names_are_some_of_them() -> None:
    assert some(["a", "b"]) == "a, b"
    assert some([str(number) for number in range(25)]).endswith("19 and 5 more")
