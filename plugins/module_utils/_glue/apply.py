# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Applies any objects. The same code whether a module process runs it or the action plugin within ansible-playbook: options
and environment in, the task's result out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from .._core.kube import sets
from .._core.kube.declare import Outcome, Run, Wanted
from .._core.kube.errors import KubeError
from .._core.kube.queue_tree import carry as declare
from .._core.plan import manifests
from .._core.plan.prune import TooManyError
from . import arguments, connect, documents, results

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .._core.kube.client import Client
    from .._core.kube.conditions import Check

SPEC: dict[str, Any] = {
    "definition": {"type": "raw", "aliases": ["resource_definition"]},
    "src": {"type": "list", "elements": "path"},
    "template": {"type": "list", "elements": "path"},
    "recursive": {"type": "bool", "default": False},
    "places": {"type": "list", "elements": "str"},
    "namespace": {"type": "str"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "set": {"type": "str"},
    "prune": {"type": "bool", "default": False},
    "prune_max": {"type": "int", "default": 10},
    "writers": {"type": "int", "default": 8},
    "wait_for": {
        "type": "dict",
        "options": {"condition": {"type": "str"}, "path": {"type": "str"}, "value": {"type": "raw"}},
    },
    **arguments.AUTH,
    **arguments.WRITE,
    **arguments.WAIT,
}
# Kinds whose schema we know, so that a difference is one and not the server's own way to write it.
_EXACT = ("paddleflow.org/", "batch.paddlepaddle.org/", "paddlepaddle.org/", "scheduling.volcano.sh/v1beta1")


def carry(params: Mapping[str, Any], environment: Mapping[str, str], *, check: bool, diff: bool) -> dict[str, Any]:
    """The result of the task."""
    client = None
    try:
        wrong = _contradiction(params)
        if wrong:
            return refused(params, wrong)
        found = manifests.objects(_documents(params), params["namespace"] or "")
        client = connect.to(params, environment, discover=True)
        client.namespace = params["namespace"] or client.namespace
        run = Run(
            client, time.monotonic() + params["wait_timeout"], check, params["force_conflicts"], params["writers"]
        )
        outcomes = _declared(run, params, found)
        if not check and not any(one.error for one in outcomes):
            outcomes = _waited(run, params, outcomes)
    except (KubeError, manifests.ManifestError, documents.DocumentError, TooManyError) as error:
        return {**refused(params, str(error)), **_warnings(client)}
    return {**results.answer(outcomes, params["return_content"], diff), **_invocation(params), **_warnings(client)}


def _contradiction(params: Mapping[str, Any]) -> str:
    if params["definition"] is None:
        return "Nothing is given: give definition, src or template."
    if params["prune"] and not params["set"]:
        return "prune is given without set: name the set whose objects these are all of."
    if params["prune"] and params["state"] == "absent":
        return "prune is given with state absent: leave one of them out."
    if not 1 <= params["writers"] <= 64:
        return f"writers is {params['writers']}, but must be from 1 to 64."
    wait_for = params["wait_for"] or {}
    if wait_for and bool(wait_for.get("condition")) == bool(wait_for.get("path")):
        return "wait_for must have either condition, or path and value."
    return ""


def _documents(params: Mapping[str, Any]) -> list[tuple[Any, str]]:
    given, places = params["definition"], params["places"]
    if isinstance(given, str):
        return list(documents.parse(given, "definition"))
    if places is not None:
        return list(zip(given, places, strict=True))
    return [(given, "definition")]


def _declared(run: Run, params: Mapping[str, Any], found: Sequence[manifests.Manifest]) -> list[Outcome]:
    name, state = params["set"], params["state"]
    objects = [sets.label(run, one.object, name) if name and state == "present" else one.object for one in found]
    wanted = [
        Wanted(one, state, exact=one["apiVersion"].startswith(_EXACT), recreate=params["recreate"], where=source.where)
        for one, source in zip(objects, found, strict=True)
    ]
    if not name:
        return declare(run, wanted)
    now, before = sets.places(run, objects), sets.remembered(run, name)
    surplus = sets.surplus(run, name, objects, before | now, params["prune_max"]) if params["prune"] else []
    if state == "present" and not now <= before:
        sets.remember(run, name, before | now)
    outcomes = declare(run, [*wanted, *(Wanted(dict(one), "absent", where=f"set {name}") for one in surplus)])
    kept = not params["prune"] or any(one.error for one in outcomes)
    if not kept and before - now:
        sets.remember(run, name, now)
    return outcomes


def _waited(run: Run, params: Mapping[str, Any], outcomes: list[Outcome]) -> list[Outcome]:
    if not params["wait"] or params["state"] == "absent":
        return outcomes
    from .._core.kube import conditions
    from .noun import waited

    asked = params["wait_for"] or {}
    checks: dict[int, Check] = {}
    for position, outcome in enumerate(outcomes):
        if outcome.after is None:
            continue
        if asked.get("condition"):
            checks[position] = conditions.condition(asked["condition"])
        elif asked.get("path"):
            checks[position] = conditions.value(asked["path"], asked.get("value"))
        else:
            usual = _usual(outcome.after)
            if usual is not None:
                checks[position] = usual
    return waited(run, checks, outcomes) if checks else outcomes


def _usual(live: Mapping[str, Any]) -> Check | None:
    """By which objects of the usual kinds say that they are ready."""
    from .._core.kube import conditions

    kind = live["kind"]
    if kind == "CustomResourceDefinition":
        return conditions.condition("Established")
    if kind == "Deployment":
        return conditions.condition("Available")
    if kind in ("Job", "Pod") and live["apiVersion"] in ("batch/v1", "v1"):
        return conditions.condition("Complete" if kind == "Job" else "Ready")
    if kind == "PersistentVolumeClaim":
        return conditions.value("status.phase", "Bound")
    if kind == "Queue":
        return conditions.one_of("status.state", ["Open", "Closing", "Closed"])
    if kind in ("FileSystem", "FileSystemLink"):
        return conditions.condition("Ready")
    return None


def refused(params: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {"failed": True, "changed": False, "msg": text, **_invocation(params)}


def _warnings(client: Client | None) -> dict[str, Any]:
    found = connect.warnings(client.transport) if client else []
    return {"warnings": found} if found else {}


def _invocation(params: Mapping[str, Any]) -> dict[str, Any]:
    return {"invocation": {"module_args": connect.shown(params)}}
