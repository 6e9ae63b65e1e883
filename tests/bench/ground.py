# SPDX-License-Identifier: Apache-2.0
"""What it costs to have a cluster: the first quickstart, the second, one after `make down`, and the idle platform.

All in one run on one machine, so that the ratios hold where absolute times do not. `--cold` begins with an empty cache,
which compiles everything and takes a quarter of an hour or more; without it the cache is as it is.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.support import plays
from tests.support.binaries import ROOT
from tests.support.binaries import cache as usual_cache

INSTANCE = "pfbench"
DATA = Path("/var/lib", INSTANCE)
VARIABLES = plays.embedded(INSTANCE, 198)
# What the recipe took on the machine where it was first tried, in seconds; the goal is one and a half times that.
API_READY, NODE_READY = 6.5, 11.0


def timed(playbook: str, cache: str) -> tuple[float, plays.Play]:
    started = time.monotonic()
    play = plays.run(playbook, VARIABLES, log=ROOT / "build/log/bench-ground.log", PADDLEFLOW_CACHE_DIR=cache).ok()
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
    trees = ("memory/" + INSTANCE, INSTANCE, INSTANCE + ".slice")
    (tree,) = [path for path in (Path("/sys/fs/cgroup", tree) for tree in trees) if path.is_dir()]
    for tasks in tree.rglob("cgroup.procs"):
        for pid in tasks.read_text().split():
            try:
                rollup = Path("/proc", pid, "smaps_rollup").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cold", action="store_true", help="begin with an empty cache")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="paddleflow-bench-") as empty:
        cache = empty if arguments.cold else str(usual_cache())
        try:
            timed("paddleflow.core.reset", cache)
            first, _play = timed("paddleflow.core.quickstart", cache)
            api, node = seconds_to_ready()
            memory = idle_megabytes()
            second, play = timed("paddleflow.core.quickstart", cache)
            timed("paddleflow.core.reset", cache)
            again, _play = timed("paddleflow.core.install", cache)
        finally:
            timed("paddleflow.core.reset", cache)
    metrics: dict[str, dict[str, Any]] = {
        "second quickstart, seconds": {
            "ours": second,
            "peer": first,
            "ratio": first / second,
            "goal": 10,
            "met": first / second > 10,
        },
        "second quickstart, changed tasks": {
            "ours": play.recap["changed"],
            "goal": 0,
            "met": play.recap["changed"] == 0,
        },
        "install after down, seconds": {
            "ours": again,
            "peer": first,
            "ratio": first / again,
            "goal": 10,
            "met": first / again >= 10,
        },
        "API server ready, seconds": {
            "ours": api,
            "peer": API_READY,
            "ratio": api / API_READY,
            "goal": 1.5,
            "met": api / API_READY <= 1.5,
        },
        "node ready after it, seconds": {
            "ours": node,
            "peer": NODE_READY,
            "ratio": node / NODE_READY,
            "goal": 1.5,
            "met": node / NODE_READY <= 1.5,
        },
        "memory of the idle platform, MB": {"ours": memory},
    }
    output = ROOT / "build/bench/ground.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({"cold": arguments.cold, "metrics": metrics}, indent=1) + "\n")
    for name, values in metrics.items():
        shown = "  ".join(
            f"{key} {value:.2f}" if isinstance(value, float) else f"{key} {value}" for key, value in values.items()
        )
        print(f"{name:<36} {shown}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
