# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Documents in the form of the reference's JSON interface (spec 7.3), as documents are written otherwise.

Its keys are in camelCase, those of ours may stand among them, and the whole document may say what each step's environment
does. One is known by its `entryPoints`: in the other form that is no key at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.names import option

if TYPE_CHECKING:
    from collections.abc import Mapping

# Conveniences, and the environment variables that they stand for (spec 1.11).
_ENV = {"flavour": "PF_JOB_FLAVOUR", "queue": "PF_JOB_QUEUE_NAME", "job_type": "PF_JOB_TYPE"}
_LISTS = ("extra_fs", "fs_scope")
_INNER = ("cache", "fs_options", "main_fs", "failure_options", "reference", "retry")
_LEVELS = ("entry_points", "components", "post_process")
# Deeper than any document that is taken (component.DEEPEST), where what follows is no matter.
_DEEPEST = 100


def plain(value: Any) -> Any:
    """The document with the keys that its rules know; any other value as it is."""
    if not isinstance(value, dict) or "entryPoints" not in value:
        return value
    found = _named(value)
    found.pop("description", None)
    shared = found.pop("env", None) or {}
    if not isinstance(shared, dict):
        found["env"] = shared  # told as what a document does not have
        shared = {}
    shared = {**_taken(found), **shared}
    for level in _LEVELS:
        if level in found:
            found[level] = _members(found[level], shared, 0)
    return found


def _members(value: Any, shared: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(value, dict) or depth > _DEEPEST:
        return value
    return {name: _component(one, shared, depth) for name, one in value.items()}


def _component(value: Any, shared: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(value, dict):
        return value
    found = _named(value)
    if found.get("entry_points") is not None:
        return {**found, "entry_points": _members(found["entry_points"], shared, depth + 1)}
    own, env = _taken(found), found.get("env") or {}
    if isinstance(env, dict) and "reference" not in found:
        every = {**shared, **own, **env}
        return {**found, "env": every} if every else found
    return found


def _taken(found: dict[str, Any]) -> dict[str, Any]:
    """What the conveniences say, which are conveniences no more."""
    given = {variable: found.pop(key, None) for key, variable in _ENV.items()}
    return {variable: one for variable, one in given.items() if one is not None}


def _named(value: dict[Any, Any]) -> dict[Any, Any]:
    """With the keys of the other form, as far as keys are the document's words and not the author's names."""
    found: dict[Any, Any] = {}
    for key, one in value.items():
        name = option(key) if isinstance(key, str) else key
        if name in value:  # given in both forms: the other one is told as what it is not
            name = key
        if name in _INNER and isinstance(one, dict):
            found[name] = _named(one)
        elif name in _LISTS and isinstance(one, list):
            found[name] = [_named(each) if isinstance(each, dict) else each for each in one]
        else:
            found[name] = one
    return found
