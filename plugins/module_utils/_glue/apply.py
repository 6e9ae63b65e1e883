# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Applies any objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .._core.kube import sets
from .._core.kube.errors import KubeError
from .._core.kube.queue_tree import carry as declare
from .._core.kube.wanted import Outcome, Run, Wanted
from .._core.plan import manifests, prune
from .._core.plan.prune import TooManyError
from . import arguments, connect, documents, results

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

    from .._core.kube.conditions import Check
    from .module import Module

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
# It stands in labels, and in selectors of them.
SET_NAME = r"(?=.{1,63}\Z)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
# Kinds whose schema we know, so that a difference is one and not the server's own way to write it.
_EXACT = ("paddleflow.org/", "batch.paddlepaddle.org/", "paddlepaddle.org/", "scheduling.volcano.sh/v1beta1")


def carry(module: Module) -> NoReturn:
    params, check = module.params, module.check_mode
    try:
        wrong = _contradiction(params)
        if wrong:
            module.fail_json(msg=wrong)
        client = connect.client(module, discover=True)
        client.namespace = params["namespace"] or client.namespace
        found = manifests.objects(_documents(params), client.namespace)
        until = connect.deadline(module)
        whole = module._diff or params["wait"] or params["return_content"]
        run = Run(client, until, check, params["force_conflicts"], params["writers"], params["wait"], whole=whole)
        outcomes = _declared(run, params, found)
        if not check and not any(one.error for one in outcomes):
            outcomes = _waited(run, params, outcomes)
    except (KubeError, manifests.ManifestError, documents.DocumentError, TooManyError) as error:
        module.fail_json(msg=str(error))
    results.leave(module, outcomes)


def _contradiction(params: Mapping[str, Any]) -> str:
    if params["definition"] is None:
        return "Nothing is given: give definition, src or template."
    if params["prune"] and not params["set"]:
        return "prune is given without set: name the set whose objects these are all of."
    if params["set"] and not re.fullmatch(SET_NAME, params["set"]):
        return f"set is {params['set']!r}, but must be a label's value: at most 63 letters, digits, dots, underscores and hyphens."
    if params["prune"] and params["state"] == "absent":
        return "prune is given with state absent: leave one of them out."
    if not 1 <= params["writers"] <= 64:
        return f"writers is {params['writers']}, but must be from 1 to 64."
    return _contradiction_of_waiting(params)


def _contradiction_of_waiting(params: Mapping[str, Any]) -> str:
    from .._core.kube.conditions import PathError

    wait_for = params["wait_for"]
    if not wait_for:
        return ""
    if bool(wait_for.get("condition")) == bool(wait_for.get("path")):
        return "wait_for must have either condition, or path and value."
    if wait_for.get("condition") and wait_for.get("value") is not None:
        return "wait_for has condition and value: leave value out, or give the path at which it has to stand."
    if not params["wait"] or params["state"] == "absent":
        return "wait_for is given without anything to wait for: set wait, with state present, or leave wait_for out."
    try:
        _asked(params)
    except PathError as error:
        return f"wait_for: {error}"
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
    objects = [one.object for one in found]
    if name and state == "present":
        objects = sets.members(run, objects, name)
    wanted = [
        Wanted(one, state, exact=one["apiVersion"].startswith(_EXACT), recreate=params["recreate"], where=source.where)
        for one, source in zip(objects, found, strict=True)
    ]
    if not name:
        return declare(run, wanted)
    now, before = sets.places(run, objects), sets.remembered(run, name)
    left: list[Wanted] | None = None
    if params["prune"]:
        live = sets.live(run, name, before | now)
        surplus = prune.surplus(objects, live, name, params["prune_max"], run.client.manager, run.client.namespace)
        left = [Wanted(one, "absent", where=f"set {name}", leftover=True, known=one) for one in surplus]
        known = {(one["apiVersion"], prune.key(one)): one for one in live}
        wanted = [one._replace(known=known.get((one.object["apiVersion"], prune.key(one.object)))) for one in wanted]
    if state == "absent":
        return declare(run, wanted)
    return _remembering(run, name, now, before, wanted, left)


def _remembering(
    run: Run, name: str, now: set[sets.Place], before: set[sets.Place], wanted: list[Wanted], left: list[Wanted] | None
) -> list[Outcome]:
    """What became of a set. Its places are remembered before anything is written there, and forgotten when nothing is left."""
    # The namespace that remembers it has to be there for that.
    home = [] if run.check or now <= before else [one for one in wanted if _is_home(run, one)]
    first = declare(run, home)
    try:
        if not now <= before:
            sets.remember(run, name, before | now)
    except KubeError as error:
        if not any(one.changed or one.error for one in first):
            raise
        told = first[0] if first[0].error else first[0].failing(error)
        return [told if one in home else Outcome(one, "failed", error=error) for one in wanted]
    rest = iter(declare(run, [*(one for one in wanted if one not in home), *(left or ())]))
    outcomes = [first[0] if one in home else next(rest) for one in wanted] + list(rest)
    if left is not None and before - now and not any(one.error for one in outcomes):
        try:
            sets.remember(run, name, now)
        except KubeError as error:
            record = Wanted(sets.record(run, name, now), where=f"set {name}")
            outcomes.append(Outcome(record, "failed", error=error))
    return outcomes


def _is_home(run: Run, one: Wanted) -> bool:
    return bool(one.object["kind"] == "Namespace" and one.object["metadata"]["name"] == run.client.namespace)


def _waited(run: Run, params: Mapping[str, Any], outcomes: list[Outcome]) -> list[Outcome]:
    if not params["wait"] or params["state"] == "absent":
        return outcomes
    from .._core.kube.wait import waited

    asked = _asked(params)
    checks = {}
    for position, outcome in enumerate(outcomes):
        check = None if outcome.after is None else asked or _usual(run, outcome.after, outcome.before or {})
        if check is not None:
            checks[position] = check
    return waited(run, checks, outcomes) if checks else outcomes


def _asked(params: Mapping[str, Any]) -> Check | None:
    """What the user waits for.

    :raises PathError: when its path cannot be read
    """
    from .._core.kube import conditions

    asked = params["wait_for"] or {}
    if asked.get("condition"):
        return conditions.condition(asked["condition"])
    if asked.get("path"):
        return (
            conditions.there(asked["path"])
            if asked["value"] is None
            else conditions.value(asked["path"], asked["value"])
        )
    return None


def _usual(run: Run, live: Mapping[str, Any], before: Mapping[str, Any]) -> Check | None:
    """By which objects of the usual kinds say that they are ready, or never will be."""
    from .._core.kube import conditions, rollout

    over = conditions.either(conditions.value("status.phase", "Succeeded"), conditions.condition("Ready"))
    usual: dict[tuple[str, str], Check] = {
        ("", "PersistentVolumeClaim"): conditions.one_of("status.phase", ["Bound"], ["Lost"]),
        ("", "Pod"): conditions.unless(_has_failed, over),
        ("apiextensions.k8s.io", "CustomResourceDefinition"): conditions.condition("Established"),
        ("apps", "DaemonSet"): rollout.daemon_set,
        ("apps", "Deployment"): rollout.deployment({} if before == live else before),
        ("apps", "StatefulSet"): rollout.stateful_set,
        ("batch", "Job"): conditions.unless(_has_failed, conditions.condition("Complete")),
        ("paddleflow.org", "FileSystem"): conditions.condition("Ready"),
        ("paddleflow.org", "FileSystemLink"): conditions.condition("Ready"),
        ("scheduling.volcano.sh", "Queue"): conditions.one_of("status.state", ["Open", "Closing", "Closed"]),
    }
    which = (live["apiVersion"].rpartition("/")[0], live["kind"])
    return None if which == ("", "PersistentVolumeClaim") and _waits_for_a_pod(run, live) else usual.get(which)


def _waits_for_a_pod(run: Run, claim: Mapping[str, Any]) -> bool:
    """Whether a claim is bound only once a pod uses it, which its class alone says."""
    name = (claim.get("spec") or {}).get("storageClassName")
    if not name or (claim.get("status") or {}).get("phase") == "Bound":
        return False
    try:
        kind = run.client.kind("storage.k8s.io/v1", "StorageClass")
        found = run.client.find(kind, name, deadline=run.deadline) or {}
    except KubeError:  # not everybody may read it: then it is waited for like any other
        return False
    return found.get("volumeBindingMode") == "WaitForFirstConsumer"


def _has_failed(found: Mapping[str, Any]) -> str:
    from .._core.kube import conditions

    if conditions.at(found, "status.phase") == "Failed":
        return f"its status.phase is 'Failed'{conditions.last(found)}"
    failed = conditions.at(found, "status.conditions[?(@.type=='Failed')]")
    return conditions.said(failed) if failed and failed.get("status") == "True" else ""
