# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What modules return: one shape, whatever was declared and however many."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .._core.plan import view

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from .._core.kube.wanted import Outcome
    from .module import Module


def leave(module: Module, outcomes: Sequence[Outcome]) -> NoReturn:
    """Ends the task with what became of each object."""
    for one in outcomes:
        if one.action == "changed" and one.before is None:  # only in check mode
            title = view.title(one.wanted.object)
            module.warn(f"{title} is not there yet: check mode assumes that an earlier task would have made it.")
    found = answer(outcomes, module.params["return_content"], module._diff, module.check_mode)
    if found.pop("failed", False):
        module.fail_json(**found)
    module.exit_json(**found)


def answer(outcomes: Sequence[Outcome], content: bool, diff: bool, check: bool = False) -> dict[str, Any]:
    """What a task returns."""
    found: dict[str, Any] = {
        "changed": any(one.changed for one in outcomes),
        "objects": [entry(one, content) for one in outcomes],
    }
    if diff:
        found["diff"] = diffs(outcomes)
    if any(one.error is not None for one in outcomes):
        found |= {"failed": True, "msg": failure(outcomes, check)}
    return found


def entry(outcome: Outcome, content: bool) -> dict[str, Any]:
    found = outcome.after or outcome.before or outcome.wanted.object
    metadata = found.get("metadata", {})
    result: dict[str, Any] = {
        "kind": found.get("kind", ""),
        "namespace": metadata.get("namespace", ""),
        "name": metadata.get("name", ""),
        "changed": outcome.changed,
        "action": _action(outcome),
    }
    if outcome.error is not None:
        result["error"] = str(outcome.error)
    if content and outcome.after is not None:
        result["object"] = view.pair(None, outcome.after)[1] | (
            {"status": outcome.after["status"]} if "status" in outcome.after else {}
        )
    return result


def _action(outcome: Outcome) -> str:
    if outcome.steered and outcome.action == "unchanged":
        return outcome.steered[0]
    return (outcome.wanted.done if outcome.action == "changed" else "") or outcome.action


def diffs(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    try:
        import yaml  # only for who asked to see the difference
    except ImportError:  # of what is no text, Ansible makes JSON
        text: Callable[[Any], Any] = dict
    else:
        text = partial(yaml.safe_dump, sort_keys=True, default_flow_style=False, allow_unicode=True)
    found = []
    for outcome in outcomes:
        if outcome.changed:
            header = view.title(outcome.after or outcome.before or outcome.wanted.object)
            old, new = view.pair(outcome.before, outcome.after)
            if outcome.steered:
                _verb, old["state"], new["state"] = outcome.steered
            before, after = (text(one) if one else "" for one in (old, new))
            found.append({"before_header": header, "after_header": header, "before": before, "after": after})
    return found


def failure(outcomes: Sequence[Outcome], check: bool = False) -> str:
    """Every object that failed, where it stands in the declaration, and what became (or would become) of the others."""
    bad = [one for one in outcomes if one.error is not None]
    lines = [f"{one.wanted.where}: {one.error}" if one.wanted.where else str(one.error) for one in bad]
    if len(outcomes) == 1:
        return lines[0]
    done = sum(one.changed for one in outcomes)
    kept = sum(one.action == "kept" for one in outcomes)
    same = sum(not one.changed and one.error is None for one in outcomes) - kept
    were, needed = ("would be", "need") if check else ("were", "needed")
    spared = f", {kept} {were} kept because of that" if kept else ""
    return "\n".join(
        [
            f"{len(bad)} of {len(outcomes)} objects failed, {done} {were} changed, {same} {needed} nothing{spared}:",
            *lines,
        ]
    )
