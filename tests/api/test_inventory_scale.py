# SPDX-License-Identifier: Apache-2.0
"""An inventory of a thousand nodes and twenty thousand pods: read page by page, in little memory."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from paddleflow_core.kube import inventory as reader
from paddleflow_core.kube.client import PAGE, Client

from tests.support import inventories
from tests.support.control_plane import ControlPlane
from tests.support.inventories import config, listing

pytestmark = pytest.mark.own_api  # twenty thousand objects go with their server in a moment

NAMESPACE = "scale"
NODES, PODS, QUEUES = 1000, 20000, 200
MIB = 1024
# Runs a command and notes what it took at most. A small process of its own: a child begins with what its parent has.
PEAK = """
import pathlib, resource, subprocess, sys
code = subprocess.run(sys.argv[2:]).returncode
pathlib.Path(sys.argv[1]).write_text(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
"""


@pytest.fixture(scope="module")
def cluster(api: ControlPlane, client: Client) -> Client:
    inventories.served(api)
    client.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": NAMESPACE}}
    )

    def fill(number: int) -> None:
        name = f"node-{number:04}"
        inventories.put(client, inventories.node(name, f"10.2.{number // 250}.{number % 250}"))
        inventories.put(client, inventories.cache(name, scale_data=number + 1))
        for place in range(PODS // NODES):
            client.create(inventories.pod(f"{name}-{place}", NAMESPACE, name, f"job-{place}"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: inventories.put(client, inventories.queue(f"q-{number}")), range(QUEUES)))
        list(pool.map(fill, range(NODES)))
    return client


@pytest.mark.extended
def test_it_is_read_in_pages(cluster: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    send = cluster.transport.request

    def counted(method: str, path: str, **how: Any) -> Any:
        asked.append(f"{method} {path}")
        return send(method, path, **how)

    monkeypatch.setattr(cluster.transport, "request", counted)
    facts, missing = reader.read(cluster)
    assert missing == {}
    assert len(facts["pods"]) == NODES
    assert len(asked) == 2 * NODES // PAGE + PODS // PAGE + 1  # nodes and caches, pods, queues


@pytest.mark.extended
def test_it_takes_little_time_and_memory(cluster: Client, api: ControlPlane, tmp_path: Path) -> None:
    source = config(tmp_path, kubeconfig=str(api.kubeconfig))
    begun = time.monotonic()
    noted = tmp_path / "peak"
    found = listing(source, through=(sys.executable, "-c", PEAK, str(noted)))
    seconds = time.monotonic() - begun
    peak = int(noted.read_text()) // MIB
    print(
        f"{NODES} nodes, {PODS} pods, {QUEUES} queues: {seconds:.1f} s, {peak} MiB, {len(found.output) // 1024} KiB of inventory"
    )
    assert len(found.variables) == NODES
    assert found.variables["node-0500"]["paddleflow_requested"] == {"cpu": "30", "memory": "40Gi"}
    assert len(found.hosts("queue_q_7")) == len(found.hosts("cached_scale__data")) == NODES
    assert peak < 400
    assert cluster
