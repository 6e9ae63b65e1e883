# SPDX-License-Identifier: Apache-2.0
"""What is refused of a scheduler configuration, and that the refusal says where and what to do."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from paddleflow_core.model import scheduler_config
from paddleflow_core.model.scheduler_config import problems

from tools import tree

VERSION = "1.14.1"
GOOD = yaml.safe_load(
    """
    actions: enqueue, allocate, reclaim, backfill
    tiers:
      - plugins:
          - {name: capacity, enableHierarchy: true, enableJobEnqueued: false}
          - {name: priority}
          - {name: gang}
          - {name: conformance}
      - plugins:
          - {name: predicates}
          - {name: nodeorder, arguments: {leastrequested.weight: 0}}
          - {name: binpack, arguments: {binpack.weight: 5, binpack.resources: nvidia.com/gpu, binpack.resources.nvidia.com/gpu: 2}}
          - {name: nodegroup, enableHierarchy: true, arguments: {strict: false}}
          - {name: cacheaffinity, arguments: {cacheaffinity.weight: 10, cacheaffinity.maxAge: 10m}}
    configurations: []
    """
)


def changed(**parts: Any) -> dict[str, Any]:
    return {**copy.deepcopy(GOOD), **parts}


def with_plugins(*more: dict[str, Any], tier: int = 1, without: str = "") -> dict[str, Any]:
    """The good configuration with plugins added to a tier, and one taken away."""
    config = copy.deepcopy(GOOD)
    for group in config["tiers"]:
        group["plugins"] = [plugin for plugin in group["plugins"] if plugin["name"] != without]
    config["tiers"][tier]["plugins"] += more
    return dict(config)


def test_a_good_configuration_has_no_problem() -> None:
    assert problems(GOOD, VERSION) == []
    assert problems(changed(actions=["enqueue", "allocate"]), "v1.14.9") == []


def test_the_defaults_of_the_role_have_no_problem() -> None:
    defaults = yaml.safe_load((tree.ROOT / "roles/volcano/defaults/main.yml").read_text(encoding="utf-8"))
    weight = defaults["volcano_cache_affinity_weight"]
    text = yaml.safe_dump(defaults["volcano_scheduler_tiers"]).replace(
        "'{{ volcano_cache_affinity_weight }}'", str(weight)
    )
    config = {"actions": defaults["volcano_scheduler_actions"], "tiers": yaml.safe_load(text)}
    artifacts = yaml.safe_load((tree.ROOT / "roles/artifacts/defaults/main.yml").read_text(encoding="utf-8"))
    assert problems(config, artifacts["artifacts_volcano_version"]) == []


CASES = {
    "no mapping": ([], "must be a mapping with actions and tiers"),
    "unknown key": (changed(action="x"), "action: not a part of the configuration and would be ignored; did you mean actions?"),
    "no tiers": (changed(tiers=[]), "tiers: must be a list of at least one tier"),
    "tiers as text": (changed(tiers="gang"), "tiers: must be a list of at least one tier"),
    "tier without plugins": (changed(tiers=[*GOOD["tiers"], {}]), "tiers[2]: must be a mapping with a list named plugins"),
    "tier that is text": (changed(tiers=[*GOOD["tiers"], "gang"]), "tiers[2]: must be a mapping"),
    "plugin without name": (with_plugins({"nmae": "gang"}), "tiers[1].plugins[5]: must be a mapping with a name"),
    "no actions": (changed(actions=""), "actions: must name the actions in their order"),
    "actions of a wrong kind": (changed(actions=7), "actions: must name the actions in their order"),
    "unknown action": (
        changed(actions="enqueue, alocate, allocate"),
        "actions[1] alocate: Volcano 1.14.1 has no such action; did you mean allocate?",
    ),
    "action of later": (changed(actions="enqueue, allocate, zzz"), "use one of allocate, backfill, enqueue"),
    "action twice": (changed(actions="enqueue, allocate, allocate"), "actions[2] allocate: named twice"),
    "no allocate": (changed(actions="enqueue, backfill"), "actions: allocate is missing"),
    "enqueue not first": (changed(actions="allocate, enqueue"), "actions[1] enqueue: must come first"),
    "unknown plugin": (
        with_plugins({"name": "cacheafinity"}),
        "tiers[1].plugins[5] cacheafinity: Volcano 1.14.1 has no such plugin; did you mean cacheaffinity?",
    ),
    "plugin twice": (with_plugins({"name": "gang"}, tier=0), "tiers[0].plugins[4] gang: stands already at tiers[0].plugins[2]"),
    "unknown switch": (
        with_plugins({"name": "usage", "enableNodeorder": True}),
        "tiers[1].plugins[5] usage: enableNodeorder is unknown and would be ignored; did you mean enableNodeOrder?",
    ),
    "switch of a wrong kind": (with_plugins({"name": "usage", "enableNodeOrder": "yes"}), "enableNodeOrder is 'yes', allowed are true and false"),
    "arguments of a wrong kind": (with_plugins({"name": "usage", "arguments": ["a"]}), "usage: arguments must be a mapping"),
    "unknown argument": (
        with_plugins({"name": "cacheaffinity", "arguments": {"cacheaffinity.wieght": 1}}, without="cacheaffinity"),
        "argument cacheaffinity.wieght is unknown and would be ignored; did you mean cacheaffinity.weight?",
    ),
    "argument of a plugin without": (
        with_plugins({"name": "pdb", "arguments": {"x": 1}}, tier=0),
        "argument x is unknown and would be ignored; remove it, the plugin has no arguments",
    ),
    "capacity and proportion": (
        with_plugins({"name": "proportion", "enableJobEnqueued": False}, tier=0),
        "keep capacity (queues with deserved and capability) and remove proportion",
    ),
    "neither": (with_plugins(without="capacity"), "tiers: capacity is missing, so no queue would have a limit"),
    "no gang": (with_plugins(without="gang"), "tiers: gang is missing"),
    "no predicates": (with_plugins(without="predicates"), "tiers: predicates is missing"),
    "no conformance": (with_plugins(without="conformance"), "tiers: conformance is missing, so reclaim could evict"),
    "enqueue that never enqueues": (
        with_plugins({"name": "capacity", "enableHierarchy": True}, tier=0, without="capacity"),
        "job's queue is entitled to room, and reclaim can only help jobs that are enqueued; set enableJobEnqueued: false",
    ),
    "overcommit": (with_plugins({"name": "overcommit"}), "overcommit: refuses to enqueue a job on a full cluster"),
    "drf hierarchy": (
        with_plugins({"name": "drf", "enableHierarchy": True}, {"name": "proportion"}, tier=0),
        "drf: enableHierarchy and proportion exclude each other",
    ),
    "vetoes in two tiers": (with_plugins({"name": "gang"}, without="gang"), "gang: may veto victims of an eviction, as capacity of tiers[0] may"),
    "preempting veto in another tier": (with_plugins({"name": "tdm"}), "tdm: may veto victims of an eviction"),
    "configurations of a wrong kind": (changed(configurations="x"), "configurations: must be a list"),
    "configuration of no action": (changed(configurations=[{"name": "alloc"}]), "configurations[0] alloc: must be named like an action"),
    "configuration that is text": (changed(configurations=["allocate"]), "configurations[0] None: must be named like an action"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_bad_configuration_is_refused_with_the_entry_and_the_remedy(case: str) -> None:
    config, expected = CASES[case]
    found = problems(config, VERSION)
    assert any(expected in problem for problem in found), found


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("cacheaffinity.weight", "10", "a number, 0 or more"),
        ("cacheaffinity.weight", -1, "a number, 0 or more"),
        ("cacheaffinity.weight", True, "a number, 0 or more"),
        ("cacheaffinity.maxAge", "soon", "a duration above 0 such as 10m"),
        ("cacheaffinity.maxAge", "0s", "a duration above 0 such as 10m"),
        ("cacheaffinity.maxAge", 600, "a duration above 0 such as 10m"),
    ],
)
def test_our_arguments_have_types(name: str, value: object, wanted: str) -> None:
    config = with_plugins({"name": "cacheaffinity", "arguments": {name: value}}, without="cacheaffinity")
    assert problems(config, VERSION) == [
        f"tiers[1].plugins[4] cacheaffinity: argument {name} is {value!r}, want {wanted}"
    ]


@pytest.mark.parametrize(
    ("plugin", "arguments"),
    [
        ("nodegroup", {"strict": "no"}),
        ("binpack", {"binpack.weight": 1.5}),
        ("binpack", {"binpack.resources": ["gpu"]}),
        ("predicates", {"predicate.CacheEnable": 1}),
    ],
)
def test_stock_arguments_have_types(plugin: str, arguments: dict[str, object]) -> None:
    found = problems(with_plugins({"name": plugin, "arguments": arguments}, without=plugin), VERSION)
    assert len(found) == 1
    assert "want " in found[0]


def test_a_veto_that_is_switched_off_may_stand_anywhere() -> None:
    switched_off = {"name": "drf", "enableReclaimable": False, "enablePreemptable": False}
    assert problems(with_plugins(switched_off), VERSION) == []
    assert problems(with_plugins({**switched_off, "enablePreemptable": True}), VERSION) != []


def test_what_never_evicts_may_do_without_conformance() -> None:
    config = {**with_plugins(without="conformance"), "actions": "enqueue, allocate, backfill"}
    assert problems(config, VERSION) == []


def test_without_enqueue_its_check_does_not_matter() -> None:
    config = with_plugins({"name": "capacity", "enableHierarchy": True}, tier=0, without="capacity")
    assert problems({**config, "actions": "allocate, reclaim"}, VERSION) == []


def test_arguments_that_are_not_listed_are_let_through() -> None:
    usage = {"name": "usage", "arguments": {"thresholds": {"cpu": 80}}}
    assert problems({**with_plugins(usage), "configurations": [{"name": "allocate", "arguments": {}}]}, VERSION) == []


def test_a_version_without_a_list_is_refused() -> None:
    assert problems(GOOD, "1.99.0") == ["Volcano 1.99.0: no list of plugins and actions for it; known are 1.14"]


def test_entries_of_a_broken_configuration_are_left_out() -> None:
    assert scheduler_config.entries({"tiers": 5}) == []
    assert scheduler_config.entries({"tiers": [{"plugins": "gang"}, {"plugins": 5}, 7]}) == []


def test_the_lists_name_what_the_build_registers() -> None:
    """Our own plugins, by their names in the Go sources."""
    sources = (tree.ROOT / "roles/volcano/files/volcano/plugins").glob("*/*.go")
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    ours = {name for name, plugin in scheduler_config.PLUGINS["1.14"].items() if plugin.ours}
    assert all(f'PluginName = "{name}"' in text for name in ours)
    assert text.count("PluginName = ") == len(ours)
