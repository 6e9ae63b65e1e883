# SPDX-License-Identifier: Apache-2.0
"""What it costs to have a cluster: the first quickstart, the second, one after `make down`, and the idle platform.

All in one run on one machine, so that the ratios hold where absolute times do not. `--cold` begins with an empty cache,
which compiles everything and takes a quarter of an hour or more; without it the cache is as it is.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.bench.report import report
from tests.support import plays
from tools import tree

INSTANCE = "pfbench"
DATA = Path("/var/lib", INSTANCE)
VARIABLES = plays.embedded(INSTANCE, 198)
# The least memory of a server that K3s documents, in MB, to which its user would add Volcano's.
K3S_MEMORY = 2048.0
# What tools/callback/task_times.py prints of a task that compiles.
COMPILED = re.compile(r"^ *([\d.]+) s  .*\bCompile \S+$", re.M)
# What the recipe took on the machine where it was first tried, in seconds; the goal is one and a half times that.
API_READY, NODE_READY = 6.5, 11.0


def timed(playbook: str, cache: str) -> tuple[float, plays.Play]:
    started = time.monotonic()
    play = plays.run(playbook, VARIABLES, log=tree.ROOT / "build/log/bench-ground.log", PADDLEFLOW_CACHE_DIR=cache).ok()
    return time.monotonic() - started, play


def seconds_to_ready() -> tuple[float, float]:
    """From etcd's first line until the API server's namespaces and the node's readiness, by the cluster's own clock."""
    first = (DATA / "log/etcd/current").read_text().split(" ", 1)[0]
    started = datetime.strptime(first[:25] + "+0000", "%Y-%m-%d_%H:%M:%S.%f%z").timestamp()
    kubectl = [str(DATA / "bin/kubectl"), f"--kubeconfig={DATA}/pki/admin.conf", "get", "--output=json"]

    def get(*what: str) -> Any:
        return json.loads(subprocess.run([*kubectl, *what], check=True, capture_output=True, text=True).stdout)

    namespace = datetime.fromisoformat(get("namespace", "kube-system")["metadata"]["creationTimestamp"]).timestamp()
    (node,) = get("nodes")["items"]
    ready = next(item for item in node["status"]["conditions"] if item["type"] == "Ready")
    return namespace - started, datetime.fromisoformat(ready["lastTransitionTime"]).timestamp() - namespace


def idle_megabytes() -> float:
    """Resident memory of every process of the cluster, shared pages counted once (PSS)."""
    total = 0
    # One of these: cgroup v1, v2, v2 with systemd.
    groups = ("memory/" + INSTANCE, INSTANCE, INSTANCE + ".slice")
    (group,) = [path for path in (Path("/sys/fs/cgroup", name) for name in groups) if path.is_dir()]
    for tasks in group.rglob("cgroup.procs"):
        for pid in tasks.read_text().split():
            try:
                rollup = Path("/proc", pid, "smaps_rollup").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total / 1024


def faster(ours: float, peer: float, goal: float) -> dict[str, Any]:
    """How many times less ours takes, of which there shall be many."""
    return {"ours": ours, "peer": peer, "ratio": peer / ours, "goal": goal, "met": peer / ours >= goal}


def share(ours: float, peer: float, most: float) -> dict[str, Any]:
    """Which part of the peer's ours is, which shall be small."""
    return {"ours": ours, "peer": peer, "ratio": ours / peer, "goal": most, "met": ours / peer <= most}


def measured(cache: str) -> dict[str, dict[str, Any]]:
    timed("paddleflow.core.reset", cache)
    first, play = timed("paddleflow.core.quickstart", cache)
    compiled = sum(float(seconds) for seconds in COMPILED.findall(play.output))
    api, node = seconds_to_ready()
    memory = idle_megabytes()
    second, unchanged = timed("paddleflow.core.quickstart", cache)
    timed("paddleflow.core.reset", cache)
    again, _play = timed("paddleflow.core.install", cache)
    changed = unchanged.recap["changed"]
    return {
        "compiling, of the first quickstart, seconds": {"ours": compiled, "peer": first, "ratio": compiled / first},
        "second quickstart, seconds": faster(second, first, 10),
        "second quickstart, changed tasks": {
            "ours": changed,
            "peer": play.recap["changed"],
            "ratio": changed / play.recap["changed"],
            "goal": 0,
            "met": changed == 0,
        },
        "install after down, seconds": faster(again, first, 10),
        "API server ready, seconds": share(api, API_READY, 1.5),
        "node ready after it, seconds": share(node, NODE_READY, 1.5),
        "memory of the idle platform, MB": share(memory, K3S_MEMORY, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cold", action="store_true", help="begin with an empty cache")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="paddleflow-bench-") as empty:
        cache = empty if arguments.cold else str(tree.cache())
        try:
            metrics = measured(cache)
        finally:
            timed("paddleflow.core.reset", cache)
    return report("ground", {"cold": arguments.cold, "metrics": metrics})


if __name__ == "__main__":
    raise SystemExit(main())
