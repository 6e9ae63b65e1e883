# SPDX-License-Identifier: Apache-2.0
"""What the kubelet and containerd leave at fixed places of the host, whatever their folders are set to.

Only what this cluster made, or what nobody uses any more, is taken away: another cluster may live on the same host.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from .host import Config, Host

CONTAINER_LOGS = Path("/var/log/containers")
DEVICE_PLUGINS = Path("/var/lib/kubelet/device-plugins")
SHIM_SOCKETS = Path("/run/containerd/s")
CNI_RESULTS = Path("/var/lib/cni/results")


def container_logs(config: Config) -> list[Path]:
    """Links into this cluster's logs."""
    if not CONTAINER_LOGS.is_dir():
        return []
    links = [path for path in CONTAINER_LOGS.iterdir() if path.is_symlink()]
    return [path for path in links if still(os.readlink, path).startswith(f"{config.data_dir}/")]


def still(read: Callable[[Path], str], path: Path) -> str:
    """What a file says that may be a neighbour's, who may just have taken it away: nothing, then."""
    try:
        return read(path)
    except FileNotFoundError:
        return ""


def shim_sockets(config: Config) -> list[Path]:
    """Each shim of this cluster wrote the address of its socket beside the container's state."""
    tasks = config.run_dir / "containerd" / "io.containerd.runtime.v2.task"
    addresses = (file.read_text().strip() for file in tasks.glob("*/*/address"))
    paths = (Path(address.removeprefix("unix://")) for address in addresses if address.startswith("unix://"))
    return sorted({path for path in paths if path.exists()})


def cni_results(config: Config) -> list[Path]:
    """What the CNI library remembers of each pod: by the name of the network, which is the instance's, and by the pod's
    network namespace, for the loopback's name is the same for every containerd of the host."""
    network = re.compile(rf"{re.escape(config.instance)}-[0-9a-f]{{64}}-\w+")
    namespace = re.compile(rf'"sandbox":\s*"{re.escape(str(config.run_dir))}/')
    found = CNI_RESULTS.iterdir() if CNI_RESULTS.is_dir() else ()
    return sorted(
        path for path in found if network.fullmatch(path.name) or namespace.search(still(Path.read_text, path))
    )


def device_plugin_files() -> list[Path]:
    """The device manager's socket and checkpoint, once no kubelet listens there."""
    server = DEVICE_PLUGINS / "kubelet.sock"
    if not DEVICE_PLUGINS.is_dir() or listens(server):
        return []
    names = {"kubelet.sock", "kubelet_internal_checkpoint", "DEPRECATION"}
    files = sorted(DEVICE_PLUGINS.iterdir())
    return files if {path.name for path in files} <= names else []


def listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


def empty_folders() -> Iterator[Path]:
    """Folders that only the above lived in, innermost first."""
    for folder in (
        CONTAINER_LOGS,
        DEVICE_PLUGINS,
        DEVICE_PLUGINS.parent,
        SHIM_SOCKETS,
        SHIM_SOCKETS.parent,
        CNI_RESULTS,
        CNI_RESULTS.parent,
    ):
        if folder.is_dir() and not any(folder.iterdir()):
            yield folder


def down(config: Config, host: Host) -> None:
    for path in [*container_logs(config), *shim_sockets(config), *cni_results(config), *device_plugin_files()]:
        if host.change(f"no {path}"):
            path.unlink()
    for folder in empty_folders():
        if host.change(f"no folder {folder}"):
            folder.rmdir()
