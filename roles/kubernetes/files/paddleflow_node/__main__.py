# SPDX-License-Identifier: Apache-2.0
"""``python3 -m paddleflow_node <verb> --config FILE``; see the package's docstring."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from . import cgroups, kernel, leftovers, mounts, network, pki, services
from .host import Config, Host, NodeError

MARKER = "install.json"
OWNER = "data-dir"
ASIDE = ".removed"  # within a data folder that is a mount point
LOCKS = Path("/run")  # where only root puts something
FOLDERS = ("bin", "etc", "etcd", "kubelet", "containerd", "log", "services", "volumeplugins", "pods-log")


def ensure_folders(config: Config, host: Host) -> None:
    for folder in [*(config.data_dir / name for name in FOLDERS), config.run_dir]:
        if not folder.exists() and host.change(f"folder {folder}"):
            folder.mkdir(parents=True, mode=0o755)
    # By it preflight sees that this instance runs from another folder.
    owner = config.run_dir / OWNER
    if not host.check and not owner.exists():
        owner.write_text(str(config.data_dir))
    etcd = config.data_dir / "etcd"
    if etcd.exists() and etcd.stat().st_mode & 0o077 and host.change("etcd's data is root's alone"):
        etcd.chmod(0o700)


def link_applets(config: Config, host: Host) -> None:
    """`bin/kubelet` and the others are names of the one binary, which a new build replaces under a new path."""
    for name in config.applets:
        link = config.data_dir / "bin" / name
        if not (link.is_symlink() and os.readlink(link) == config.binary) and host.change(f"bin/{name}"):
            temporary = link.with_name(f".{name}.new")
            temporary.unlink(missing_ok=True)
            temporary.symlink_to(config.binary)
            temporary.replace(link)


def prepare(config: Config, host: Host) -> None:
    """What does not survive a boot."""
    ensure_folders(config, host)
    kernel.borrow(config, host, kernel.KUBELET)
    network.up(config, host)
    cgroups.up(config, host)
    mounts.up(config, host)


def up(config: Config, host: Host) -> None:
    prepare(config, host)
    link_applets(config, host)
    pki.up(config, host)
    services.up(config, host)
    remove_old_builds(config, host)


def remove_old_builds(config: Config, host: Host) -> None:
    """Nothing runs from them any more once the services are up."""
    current = Path(config.binary)
    for path in current.parent.glob(f"{current.name.partition('-')[0]}-*"):
        if path != current and host.change(f"no {path}"):
            path.unlink()


def stop(config: Config, host: Host) -> None:
    """No process, mount, interface or cgroup is left; the data stays."""
    services.stop(config, host, services.OF_PODS)
    # Before the API server, which else waits for those of them that watch it.
    cgroups.end_pods(config, host)
    services.stop(config, host)
    cgroups.down(config, host)
    mounts.down(config, host)
    network.down(config, host)
    kernel.give_back(config, host, kernel.KUBELET)
    leftovers.down(config, host)
    if mounts.is_mount(config.run_dir):
        if contents(config.run_dir) and host.change(f"nothing in {config.run_dir}"):
            remove_in(config.run_dir)
    elif config.run_dir.exists() and host.change(f"no folder {config.run_dir}"):
        shutil.rmtree(config.run_dir)


def down(config: Config, host: Host) -> None:
    """Stopped, and the data gone too. A disk that is mounted for the data is emptied, and stays mounted."""
    stop(config, host)
    services.remove(config, host)
    mounted = mounts.is_mount(config.data_dir)
    there = contents(config.data_dir) if mounted else config.data_dir.exists()
    if there and host.change(f"nothing in {config.data_dir}" if mounted else f"no folder {config.data_dir}"):
        if mounts.below(mounts.parse(mounts.MOUNTINFO.read_text()), [config.data_dir]):
            raise NodeError(
                f"Something is still mounted below {config.data_dir}: unmount it, then run again. Nothing was removed."
            )
        # Renamed first: a removal that is killed must not leave a cluster with half of its data.
        if mounted:
            set_aside(config.data_dir)
        else:
            remove(trash(config))
            config.data_dir.rename(trash(config))
    if not host.check:
        remove(config.data_dir / ASIDE if mounted else trash(config))


def trash(config: Config) -> Path:
    return config.data_dir.with_name(config.data_dir.name + ".removed")


def contents(folder: Path) -> list[Path]:
    """Without what a file system of its own brings along."""
    return [path for path in folder.iterdir() if path.name != "lost+found"] if folder.exists() else []


def set_aside(folder: Path) -> None:
    """The same for what cannot be renamed itself, because something is mounted on it. Once the first is gone no run takes
    the cluster for a whole one: etcd's data holds its state, and without node.json a removal does not ask for the tool."""
    aside = folder / ASIDE
    aside.mkdir(exist_ok=True)
    remove_in(aside)
    order = {"etcd": 0, "node.json": 1, MARKER: 3}
    for path in sorted(contents(folder), key=lambda path: order.get(path.name, 2)):
        if path != aside:
            path.rename(aside / path.name)


def remove(folder: Path) -> None:
    if folder.exists():
        remove_in(folder)
        shutil.rmtree(folder)


def remove_in(folder: Path) -> None:
    """The marker goes last: by it the next run knows what a removal that was killed has left."""
    for path in sorted(contents(folder), key=lambda path: path.name == MARKER):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Two runs at once take turns, and leave nothing behind."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists() or not os.path.samestat(os.fstat(lock.fileno()), path.stat()):
                continue  # whoever had it before took it away
            try:
                yield
            finally:
                path.unlink()
            return


VERBS: dict[str, Callable[[Config, Host], None]] = {"up": up, "stop": stop, "down": down}


def load(argument: str) -> Config:
    config = Config.load(sys.stdin.read() if argument == "-" else Path(argument).read_text())
    for folder in (config.data_dir, config.run_dir):
        if not folder.is_absolute() or len(folder.parts) < 3 or ".." in folder.parts:
            raise NodeError(
                f"{folder} cannot be a cluster's folder: name an absolute path of at least two parts, such as /var/lib/paddleflow."
            )
    return config


def main() -> int:
    parser = argparse.ArgumentParser(prog="paddleflow_node", description=__doc__)
    parser.add_argument("verb", choices=["prepare", *VERBS, "status"])
    parser.add_argument("--config", required=True, help="the node's JSON file, or - for standard input")
    parser.add_argument("--check", action="store_true", help="only say what would change")
    arguments = parser.parse_args()
    try:
        config = load(arguments.config)
        if arguments.verb == "status":
            print(services.render(services.status(config)))
            return 0
        host = Host(check=arguments.check)
        if arguments.verb == "prepare":
            # Called by systemd before the services, at a boot or while `up` starts the first one, holds the lock and waits.
            prepare(config, host)
        else:
            with turn(LOCKS / f"{config.instance}.lock"):
                VERBS[arguments.verb](config, host)
    except PermissionError as error:
        remedy = "run as root, or with become: true (option --become)"
        print(f"{error.filename} may not be changed by user {os.getuid()}: {remedy}.", file=sys.stderr)
        return 1
    except (NodeError, OSError) as error:
        print(str(error), file=sys.stderr)
        return 1
    print(json.dumps({"changed": bool(host.changes), "changes": host.changes}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
