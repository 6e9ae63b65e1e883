# SPDX-License-Identifier: Apache-2.0
"""Our modules and kubernetes.core's, on the same real API server, interleaved, medians of several rounds.

What ansible-playbook takes to read a play with as much in it and to do nothing is measured before each play and taken off: the time and the
CPU are those of the tasks, also on a machine that becomes slower meanwhile.
`--rounds` and `--scale` make a quick look of it.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from tests.bench.report import report
from tests.support.control_plane import ControlPlane, control_plane
from tests.support.kube_api import define
from tools import tree

ANSIBLE = Path(sys.executable).with_name("ansible-playbook")
AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [{"level": "Metadata"}],
    "omitStages": ["RequestReceived"],
}


@dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float
    memory: float  # MB, of all processes of the play
    server: float  # seconds that the API server spent on the requests, by its audit log

    def per(self, items: int, empty: Cost) -> Cost:
        """Of one item, without what Ansible takes to do nothing at that time."""
        return Cost((self.wall - empty.wall) / items, (self.cpu - empty.cpu) / items, self.memory, self.server / items)


def median(costs: list[Cost]) -> Cost:
    return Cost(*(statistics.median(values) for values in zip(*map(astuple, costs), strict=True)))


def peer(folder: Path) -> Path:
    """A collections path with kubernetes.core in it."""
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    lock = tree.ROOT / "locks/bench.txt"
    subprocess.run([*download, f"--requirement={lock}", f"--dest={folder}"], check=True)
    (wheel,) = folder.glob("ansible-*.whl")
    with zipfile.ZipFile(wheel) as file:
        names = [name for name in file.namelist() if name.startswith("ansible_collections/kubernetes/core/")]
        file.extractall(folder / "peer", names)
    return folder / "peer"


class Bench:
    def __init__(self, api: ControlPlane, folder: Path) -> None:
        self.api, self.folder = api, folder
        self.paths = f"{peer(folder)}:{tree.BUILD / 'collections'}"
        self.read = 0  # of the audit log, bytes

    def cost(self, task: dict[str, Any], items: int = 1, inline: Sequence[dict[str, Any]] = ()) -> Cost:
        """Of each item of a task.

        :param inline: objects that are a part of the play
        """
        empty = self.play({"ansible.builtin.debug": {"msg": list(inline)}, "when": False})
        return self.play(task).per(items, empty)

    def play(self, *tasks: dict[str, Any]) -> Cost:
        groups = ("group/paddleflow.core.paddleflow", "group/kubernetes.core.k8s")
        play = {
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "module_defaults": {group: {"kubeconfig": str(self.api.kubeconfig)} for group in groups},
            "tasks": list(tasks),
        }
        file = self.folder / "play.yml"
        file.write_text(yaml.dump([play], Dumper=yaml.CSafeDumper))
        mark = uuid.uuid4().hex
        ours = {
            "PADDLEFLOW_BENCH": mark,
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_HOME": str(self.folder / "ansible"),
            "ANSIBLE_COLLECTIONS_PATH": self.paths,
            "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
            "ANSIBLE_DISPLAY_OK_HOSTS": "false",
        }
        self.events()
        memory = Memory(mark)
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        memory.start()
        command = [str(ANSIBLE), "--inventory=localhost,", str(file)]
        done = subprocess.run(command, env=ours, cwd=self.folder, capture_output=True, text=True, check=False)
        wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(done.stdout[-3000:] + done.stderr[-3000:])
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.asked = self.events()
        return Cost(wall, cpu, memory.peak(), sum(map(spent, self.asked)))

    def events(self) -> list[dict[str, Any]]:
        """Answers of the API server about what the plays declare, since the last time."""
        with (self.api.folder / "audit.log").open("rb") as log:
            log.seek(self.read)
            found = [json.loads(line) for line in log]
            self.read = log.tell()
        return [one for one in found if one.get("objectRef", {}).get("resource") in ("configmaps", "flavours")]

    def requests(self) -> dict[str, int]:
        """What the last play asked, by verb; a dry run is one of its own."""
        dry = [" (dry run)" if "dryRun" in event["requestURI"] else "" for event in self.asked]
        return dict(collections.Counter(event["verb"] + how for event, how in zip(self.asked, dry, strict=True)))


def spent(event: dict[str, Any]) -> float:
    began, ended = (datetime.fromisoformat(event[name]) for name in ("requestReceivedTimestamp", "stageTimestamp"))
    return (ended - began).total_seconds()


class Memory(threading.Thread):
    """How much memory the processes with a mark in their environment have together at most, in MB; what they share, such as
    Ansible and its workers, counts once."""

    EVERY = 0.1  # seconds

    def __init__(self, mark: str) -> None:
        super().__init__(daemon=True)
        self.mark, self.most, self.over = mark.encode(), 0.0, threading.Event()
        self.others: set[Path] = set()

    def run(self) -> None:
        while not self.over.wait(self.EVERY):
            self.most = max(self.most, sum(map(self.of, Path("/proc").iterdir())))

    def of(self, folder: Path) -> float:
        if not folder.name.isdigit() or folder in self.others:
            return 0.0
        with contextlib.suppress(OSError):  # it has just ended
            if self.mark in (folder / "environ").read_bytes():
                share = re.search(r"(?m)^Pss: +(\d+)", (folder / "smaps_rollup").read_text())
                return int(share[1]) / 1024 if share else 0.0
            self.others.add(folder)
        return 0.0

    def peak(self) -> float:
        self.over.set()
        self.join()
        return self.most


def config(name: str, value: str = "1") -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "bench"}, "data": {"value": value},
    }  # fmt: skip


def flavour(name: str) -> dict[str, Any]:
    kind = {"apiVersion": "paddleflow.org/v1alpha1", "kind": "Flavour"}
    return {**kind, "metadata": {"name": name}, "spec": {"cpu": "1", "memory": "1Gi"}}


def compared(
    rounds: int, ours: Callable[[int], list[Cost]], theirs: Callable[[int], list[Cost]]
) -> list[tuple[Cost, Cost]]:
    """Medians of each of the costs that one round gives, ours and theirs in turn."""
    found = [list(zip(ours(number), theirs(number), strict=True)) for number in range(rounds)]
    return [
        (median([one[position][0] for one in found]), median([one[position][1] for one in found]))
        for position in range(len(found[0]))
    ]


def looped(bench: Bench, rounds: int, items: int) -> dict[str, tuple[Cost, Cost]]:
    def run(task: Callable[[str], dict[str, Any]], prefix: str) -> Callable[[int], list[Cost]]:
        def twice(number: int) -> list[Cost]:
            one = {**task(f"{prefix}-{number}-{{{{ item }}}}"), "loop": list(range(items))}
            return [bench.cost(one, items) for _time in ("created", "unchanged")]

        return twice

    k8s = "kubernetes.core.k8s"
    noun = compared(
        rounds,
        run(lambda name: {"paddleflow.core.flavour": {"name": name, "cpu": 1, "memory": "1Gi"}}, "ours"),
        run(lambda name: {k8s: {"definition": flavour(name)}}, "theirs"),
    )
    apply = compared(
        rounds,
        run(lambda name: {"paddleflow.core.apply": {"definition": config(name)}}, "apply"),
        run(lambda name: {k8s: {"definition": config(name)}}, "k8s"),
    )
    names = ("created", "unchanged")
    return {f"noun module, looped, {name}": pair for name, pair in zip(names, noun, strict=True)} | {
        f"apply, looped, {name}": pair for name, pair in zip(names, apply, strict=True)
    }


def listed(bench: Bench, rounds: int, number: int, form: str) -> dict[str, tuple[Cost, Cost]]:
    """Many objects in one task: inline, where Ansible itself reads them as a part of the play, or in a file."""

    def run(task: Callable[..., dict[str, Any]], prefix: str) -> Callable[[int], list[Cost]]:
        def twice(turn: int) -> list[Cost]:
            objects = [config(f"{form}-{number}-{prefix}-{turn}-{item}") for item in range(number)]
            file = bench.folder / "objects.yml"
            file.write_text(yaml.dump_all(objects, Dumper=yaml.CSafeDumper))
            one = task(definition=objects) if form == "inline" else task(src=str(file))
            inline = objects if form == "inline" else ()
            return [bench.cost(one, inline=inline) for _time in ("created", "unchanged")]

        return twice

    manager = {"field_manager": "bench"}
    pairs = compared(
        rounds,
        run(lambda **given: {"paddleflow.core.apply": given}, "ours"),
        run(lambda **given: {"kubernetes.core.k8s": {**given, "apply": True, "server_side_apply": manager}}, "theirs"),
    )
    return {
        f"{number} objects in one task ({form}), {name}": pair
        for name, pair in zip(("created", "unchanged"), pairs, strict=True)
    }


def counts(bench: Bench, number: int) -> dict[str, tuple[dict[str, int], dict[str, int]]]:
    """What an unchanged run of one task asks, ours and theirs."""
    objects = [config(f"counted-{item}") for item in range(number)]
    found = []
    for task in (
        {"paddleflow.core.apply": {"definition": objects}},
        {"kubernetes.core.k8s": {"definition": objects, "apply": True, "server_side_apply": {"field_manager": "paddleflow"}}},
    ):  # fmt: skip
        bench.play(task)
        bench.play(task)
        found.append(bench.requests())
    return {f"requests of an unchanged run of {number} objects": (found[0], found[1])}


# How much better ours has to be, by what was done and by which cost. Not CPU and memory of objects inline: most of that is
# what Ansible needs for arguments of that size, whosever module then gets them.
GOALS = {
    ("noun module, looped, created", "wall"): 2.5,
    ("noun module, looped, unchanged", "wall"): 2.5,
    ("apply, looped, created", "wall"): 15,
    ("apply, looped, unchanged", "wall"): 25,
    ("many objects in one task (inline), created", "wall"): 3,
    ("many objects in one task (inline), unchanged", "wall"): 10,
    ("many objects in one task (file), created", "wall"): 3,
    ("many objects in one task (file), created", "cpu"): 5,
    ("many objects in one task (file), unchanged", "wall"): 10,
    ("most objects in one task (file), created", "memory"): 2,
}


UNITS = {"wall": "s", "cpu": "s of CPU", "memory": "MB", "server": "s of the server"}


def metrics(found: dict[str, tuple[Cost, Cost]], words: dict[str, str]) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for name, (ours, theirs) in found.items():
        number, _blank, rest = name.partition(" ")
        for what, unit in UNITS.items():
            goal = GOALS.get((f"{words.get(number, number)} {rest}", what))
            one, other = getattr(ours, what), getattr(theirs, what)
            row = {"ours": one, "peer": other, "ratio": other / one if one else 0.0}
            rows[f"{name}, {unit}"] = row | ({"goal": goal, "met": row["ratio"] >= goal} if goal else {})
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of items and objects")
    arguments = parser.parse_args()
    items, many, most = (max(2, int(number * arguments.scale)) for number in (40, 1000, 10000))
    with tempfile.TemporaryDirectory(prefix="paddleflow-bench-") as name:
        folder = Path(name)
        (folder / "policy.yaml").write_text(yaml.safe_dump(AUDIT))
        flags = (f"--audit-policy-file={folder}/policy.yaml", "--audit-log-path=audit.log", "--audit-log-maxsize=10000")
        with control_plane(*flags) as api:
            define(api, tree.ROOT / "crds")
            api.kubectl("create", "namespace", "bench")
            bench = Bench(api, folder)
            asked = counts(bench, many)
            found = looped(bench, arguments.rounds, items)
            for form in ("inline", "file"):
                found |= listed(bench, arguments.rounds, many, form)
            found |= listed(bench, 1, most, "file")
    rows = metrics(found, {str(many): "many", str(most): "most"})
    for what, (ours, theirs) in asked.items():
        one, other = sum(ours.values()), sum(theirs.values())
        rows[what] = {"ours": one, "peer": other, "ratio": other / one, "by verb": {"ours": ours, "peer": theirs}}
    return report("modules", {"metrics": rows})


if __name__ == "__main__":
    raise SystemExit(main())
