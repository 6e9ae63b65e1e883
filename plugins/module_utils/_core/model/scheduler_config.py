# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""The configuration of Volcano's scheduler, checked before the scheduler reads it.

Volcano reads the file without complaint about unknown keys, looks a plugin up by name in each session and logs an error
when there is none, and keeps its old configuration when the new one has an unknown action. All of that is seen only in
its log, by which time queues are no longer enforced. So what can be known beforehand is refused here.
"""

from __future__ import annotations

import difflib
import re
import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

Problems = Iterator[str]
Check = t.Callable[[t.Any], str]  # what is wrong with a value, or nothing


def _boolean(value: t.Any) -> str:
    return "" if isinstance(value, bool) else "true or false"


def _whole(value: t.Any) -> str:
    return "" if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else "a whole number, 0 or more"


def _number(value: t.Any) -> str:
    return (
        "" if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 else "a number, 0 or more"
    )


def _text(value: t.Any) -> str:
    return "" if isinstance(value, str) else "text"


def _duration(value: t.Any) -> str:
    good = isinstance(value, str) and re.fullmatch(r"(\d+(\.\d+)?(ms|s|m|h))+", value) and re.search(r"[1-9]", value)
    return "" if good else "a duration above 0 such as 10m"


@dataclass(frozen=True)
class Plugin:
    """What one plugin of the scheduler is, as far as a configuration can be wrong about it."""

    # Which victims of an eviction it can veto. The scheduler intersects the victims of the plugins of one tier only, and
    # takes the first tier that has an answer: a veto that stands in a later tier is never asked.
    vetoes: frozenset[str] = frozenset()
    # Argument names and what their values must be; None: any (upstream's own, not all documented).
    arguments: Mapping[str, Check] | None = None
    # Names that start so are arguments too.
    argument_prefixes: tuple[str, ...] = ()
    ours: bool = False


RECLAIM = frozenset({"reclaim"})
PREEMPT = frozenset({"preempt"})
BOTH = RECLAIM | PREEMPT

# By the minor version of Volcano; `ours` are registered by this collection's build of it.
PLUGINS: Mapping[str, Mapping[str, Plugin]] = {
    "1.14": {
        "binpack": Plugin(
            arguments={
                "binpack.weight": _whole,
                "binpack.cpu": _whole,
                "binpack.memory": _whole,
                "binpack.resources": _text,
            },
            argument_prefixes=("binpack.resources.",),
        ),
        "capacity": Plugin(vetoes=RECLAIM, arguments={}),
        "cdp": Plugin(vetoes=BOTH),
        "conformance": Plugin(vetoes=BOTH, arguments={}),
        "deviceshare": Plugin(),
        "drf": Plugin(vetoes=BOTH),
        "extender": Plugin(vetoes=BOTH),
        "gang": Plugin(vetoes=BOTH, arguments={}),
        "network-topology-aware": Plugin(),
        "nodegroup": Plugin(arguments={"strict": _boolean}),
        "nodeorder": Plugin(
            arguments={
                f"{name}.weight": _whole
                for name in (
                    "balancedresource",
                    "imagelocality",
                    "leastrequested",
                    "mostrequested",
                    "nodeaffinity",
                    "podaffinity",
                    "podtopologyspread",
                    "tainttoleration",
                )
            }
        ),
        "numa-aware": Plugin(arguments={"weight": _whole}),
        "overcommit": Plugin(arguments={"overcommit-factor": _number}),
        "pdb": Plugin(vetoes=BOTH, arguments={}),
        "predicates": Plugin(
            arguments={
                f"predicate.{name}Enable": _boolean
                for name in (
                    "Cache",
                    "DynamicResourceAllocation",
                    "NodeAffinity",
                    "NodePorts",
                    "NodeVolumeLimits",
                    "PodAffinity",
                    "PodTopologySpread",
                    "TaintToleration",
                    "VolumeBinding",
                    "VolumeZone",
                )
            }
        ),
        "priority": Plugin(vetoes=PREEMPT, arguments={}),
        "proportion": Plugin(vetoes=RECLAIM, arguments={}),
        "rescheduling": Plugin(),
        "resource-strategy-fit": Plugin(),
        "resourcequota": Plugin(arguments={}),
        "sla": Plugin(arguments={"sla-waiting-time": _text}),
        "task-topology": Plugin(arguments={"task-topology.weight": _whole}),
        "tdm": Plugin(vetoes=PREEMPT),
        "usage": Plugin(),
        "cacheaffinity": Plugin(
            arguments={"cacheaffinity.weight": _number, "cacheaffinity.maxAge": _duration}, ours=True
        ),
    },
}
# An action and whether it evicts.
ACTIONS: Mapping[str, Mapping[str, bool]] = {
    "1.14": {
        "allocate": False,
        "backfill": False,
        "enqueue": False,
        "preempt": True,
        "reclaim": True,
        "shuffle": True,
    },
}
SWITCHES = frozenset(
    {
        "EnabledClusterOrder",
        "enableBestNode",
        "enableHierarchy",
        "enableJobEnqueued",
        "enableJobOrder",
        "enableJobPipelined",
        "enableJobReady",
        "enableJobStarving",
        "enableNodeOrder",
        "enablePredicate",
        "enablePreemptable",
        "enablePreemptive",
        "enableQueueOrder",
        "enableReclaimable",
        "enableReservedNodes",
        "enableTargetJob",
        "enableTaskOrder",
        "enabledAllocatable",
        "enabledHyperNodeGradient",
        "enabledHyperNodeOrder",
        "enabledOverused",
        "enabledSubJobOrder",
        "enabledSubJobPipelined",
        "enabledSubJobReady",
        "enabledVictim",
    }
)
TOP_LEVEL = ("actions", "tiers", "configurations", "metrics")
QUEUE_PLUGINS = ("capacity", "proportion")


@dataclass(frozen=True)
class Entry:
    """One plugin where it stands in the configuration."""

    tier: int
    place: int
    body: Mapping[str, t.Any]

    @property
    def name(self) -> str:
        return str(self.body["name"])

    @property
    def where(self) -> str:
        return f"tiers[{self.tier}].plugins[{self.place}] {self.name}"

    def vetoes(self, plugin: Plugin) -> bool:
        """Whether it is asked about victims, its switches considered."""
        off = {"reclaim": "enableReclaimable", "preempt": "enablePreemptable"}
        return any(self.body.get(off[kind]) is not False for kind in plugin.vetoes)


def _minor(version: str) -> str:
    return ".".join(version.removeprefix("v").split(".")[:2])


def _known(name: str, names: Iterable[str]) -> str:
    names = sorted(names)
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]}?" if close else f"use one of {', '.join(names)}"


def action_names(actions: t.Any) -> list[str]:
    """The actions in order, from the comma-separated text of the file or from a list; none from anything else."""
    if not isinstance(actions, (str, Sequence)):
        return []
    items = actions.split(",") if isinstance(actions, str) else actions
    return [str(item).strip() for item in items]


def entries(config: Mapping[str, t.Any]) -> list[Entry]:
    """All plugin entries that are well formed enough to have a name."""
    tiers = config.get("tiers")
    found = []
    for i, tier in enumerate(tiers if isinstance(tiers, Sequence) else ()):
        plugins = tier.get("plugins") if isinstance(tier, Mapping) else None
        for j, body in enumerate(plugins if isinstance(plugins, Sequence) else ()):
            if isinstance(body, Mapping) and isinstance(body.get("name"), str):
                found.append(Entry(i, j, body))
    return found


def _shape(config: Mapping[str, t.Any]) -> Problems:
    for key in config:
        if key not in TOP_LEVEL:
            yield f"{key}: not a part of the configuration and would be ignored; {_known(str(key), TOP_LEVEL)}"
    tiers = config.get("tiers")
    if not isinstance(tiers, Sequence) or isinstance(tiers, str) or not tiers:
        yield "tiers: must be a list of at least one tier, each with a list named plugins"
        return
    for i, tier in enumerate(tiers):
        plugins = tier.get("plugins") if isinstance(tier, Mapping) else None
        if not isinstance(plugins, Sequence) or isinstance(plugins, str) or not plugins:
            yield f"tiers[{i}]: must be a mapping with a list named plugins that has at least one entry"
            continue
        for j, body in enumerate(plugins):
            if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
                yield f"tiers[{i}].plugins[{j}]: must be a mapping with a name, for example `name: gang`"


def _actions(config: Mapping[str, t.Any], known: Mapping[str, bool], version: str) -> Problems:
    raw = config.get("actions")
    if not isinstance(raw, (str, Sequence)) or not raw:
        yield "actions: must name the actions in their order, for example `enqueue, allocate, reclaim, backfill`"
        return
    names = action_names(raw)
    for i, name in enumerate(names):
        if name not in known:
            yield f"actions[{i}] {name}: Volcano {version} has no such action; {_known(name, known)}"
        elif name in names[:i]:
            yield f"actions[{i}] {name}: named twice; remove one"
    if "allocate" not in names:
        yield "actions: allocate is missing, so nothing would ever be placed; add it"
    if "enqueue" in names and names[0] != "enqueue":
        yield (
            f"actions[{names.index('enqueue')}] enqueue: must come first, the other actions skip jobs that are not "
            "enqueued; move it to the front"
        )


def _plugin(entry: Entry, plugin: Plugin) -> Problems:
    for key, value in entry.body.items():
        if key in ("name", "arguments"):
            continue
        if key not in SWITCHES:
            yield f"{entry.where}: {key} is unknown and would be ignored; {_known(str(key), SWITCHES)}"
        elif not isinstance(value, bool):
            yield f"{entry.where}: {key} is {value!r}, allowed are true and false"
    arguments = entry.body.get("arguments")
    if arguments is None:
        return
    if not isinstance(arguments, Mapping):
        yield f"{entry.where}: arguments must be a mapping of names to values"
        return
    if plugin.arguments is None:
        return
    for name, value in arguments.items():
        if str(name).startswith(plugin.argument_prefixes or "\0"):
            continue
        if name not in plugin.arguments:
            remedy = (
                _known(str(name), plugin.arguments) if plugin.arguments else "remove it, the plugin has no arguments"
            )
            yield f"{entry.where}: argument {name} is unknown and would be ignored; {remedy}"
            continue
        wanted = plugin.arguments[name](value)
        if wanted:
            yield f"{entry.where}: argument {name} is {value!r}, want {wanted}"


def _duplicates(found: Sequence[Entry]) -> Problems:
    first: dict[str, Entry] = {}
    for entry in found:
        if entry.name in first:
            yield (
                f"{entry.where}: stands already at {first[entry.name].where.rsplit(' ', 1)[0]}; one plugin runs once, "
                "with the settings of either; remove one"
            )
        first.setdefault(entry.name, entry)


def _together(config: Mapping[str, t.Any], found: Sequence[Entry], evicting: Sequence[str]) -> Problems:
    """What the plugins and actions need of each other."""
    by_name = {entry.name: entry for entry in found}
    if "gang" not in by_name:
        yield "tiers: gang is missing, so pods of one job would be placed one by one and hold what others need; add it"
    if "predicates" not in by_name:
        yield "tiers: predicates is missing, so taints, affinity and volumes of pods would be ignored; add it"
    queues = [by_name[name] for name in QUEUE_PLUGINS if name in by_name]
    if len(queues) > 1:
        yield (
            f"{queues[1].where}: stands beside capacity; both compute what a queue may have, with different results; "
            "keep capacity (queues with deserved and capability) and remove proportion (queues with weights)"
        )
    elif not queues:
        yield "tiers: capacity is missing, so no queue would have a limit; add it"
    drf = by_name.get("drf")
    if drf and drf.body.get("enableHierarchy") is True and "proportion" in by_name:
        yield f"{drf.where}: enableHierarchy and proportion exclude each other, the scheduler would not start; turn one off"
    if evicting and "conformance" not in by_name:
        yield (
            f"tiers: conformance is missing, so {' and '.join(evicting)} could evict pods of kube-system and critical "
            "pods; add it"
        )
    yield from _enqueue(config, by_name, evicting)


def _enqueue(config: Mapping[str, t.Any], by_name: Mapping[str, Entry], evicting: Sequence[str]) -> Problems:
    """On a full cluster an entitled job must still be enqueued, else nothing is ever taken back for it."""
    if "enqueue" not in action_names(config.get("actions")) or not evicting:
        return
    for name in ("capacity", "proportion", "overcommit"):
        entry = by_name.get(name)
        if entry and entry.body.get("enableJobEnqueued") is not False:
            remedy = "remove the plugin" if name == "overcommit" else "set enableJobEnqueued: false"
            yield (
                f"{entry.where}: refuses to enqueue a job on a full cluster even when the job's queue is entitled to "
                f"room, and {' and '.join(evicting)} can only help jobs that are enqueued; {remedy}"
            )


def _veto_tiers(found: Sequence[Entry], known: Mapping[str, Plugin]) -> Problems:
    vetoing = [entry for entry in found if entry.name in known and entry.vetoes(known[entry.name])]
    for entry in vetoing[1:]:
        if entry.tier != vetoing[0].tier:
            yield (
                f"{entry.where}: may veto victims of an eviction, as {vetoing[0].name} of tiers[{vetoing[0].tier}] may; "
                "the first tier that names victims decides alone, so its veto would not be heard; move it to "
                f"tiers[{vetoing[0].tier}]"
            )


def _configurations(config: Mapping[str, t.Any], known: Mapping[str, bool]) -> Problems:
    items = config.get("configurations") or ()
    if not isinstance(items, Sequence) or isinstance(items, str):
        yield "configurations: must be a list of mappings with name and arguments"
        return
    for i, item in enumerate(items):
        name = item.get("name") if isinstance(item, Mapping) else None
        if name not in known:
            yield f"configurations[{i}] {name}: must be named like an action; {_known(str(name), known)}"


def problems(config: t.Any, version: str) -> list[str]:
    """Everything that is wrong with a scheduler configuration for a version of Volcano; empty when nothing is."""
    if not isinstance(config, Mapping):
        return ["the configuration must be a mapping with actions and tiers"]
    minor = _minor(version)
    if minor not in PLUGINS:
        return [f"Volcano {version}: no list of plugins and actions for it; known are {', '.join(sorted(PLUGINS))}"]
    known = PLUGINS[minor]
    actions = ACTIONS[minor]
    found = entries(config)
    evicting = [name for name in action_names(config.get("actions")) if actions.get(name)]
    result = [*_shape(config), *_actions(config, actions, version)]
    for entry in found:
        if entry.name in known:
            result += _plugin(entry, known[entry.name])
        else:
            result.append(f"{entry.where}: Volcano {version} has no such plugin; {_known(entry.name, known)}")
    result += _duplicates(found)
    result += _together(config, found, evicting)
    result += _veto_tiers(found, known)
    result += _configurations(config, actions)
    return result
