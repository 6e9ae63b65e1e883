# SPDX-License-Identifier: Apache-2.0
"""An HDFS cluster of one process: a name node and two data nodes of Hadoop's own tests, with their data in a folder of its own."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import hashlib
import itertools
import json
import os
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import hdfs_native
from paddleflow_fuse.sources.hdfs.options import Options

from tools import tree

PATIENCE = 120.0
_CENTRAL = "https://repo.maven.apache.org/maven2"  # or a mirror of it, as the variable says
_MIRROR = "PADDLEFLOW_MAVEN_MIRROR"
_JARS = {
    "org/apache/hadoop/hadoop-client-minicluster/3.4.2/hadoop-client-minicluster-3.4.2.jar": "ae2406c544825b7734b8aad4f87eff60d9ec422284f0b16c2856032083b63c77",
    "org/apache/hadoop/hadoop-client-runtime/3.4.2/hadoop-client-runtime-3.4.2.jar": "18d071c7f72f8a946677b398a57af9c7afa2dd41a81023c310f99373fec200b3",
    "org/apache/hadoop/hadoop-client-api/3.4.2/hadoop-client-api-3.4.2.jar": "607c0299f4df33013bd0a0f37c8cf255c635bbaddd247b8fec68c210cc17d19f",
    "org/slf4j/slf4j-api/1.7.36/slf4j-api-1.7.36.jar": "d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0",
    "commons-logging/commons-logging/1.3.0/commons-logging-1.3.0.jar": "66d3c980470b99b0c511dad3dfc0ae7b265ec1fb144e96bc0253a8a175fd34d9",
    "junit/junit/4.13.2/junit-4.13.2.jar": "8e495b634469d64fb8acfa3495a065cbacc8a0fff55ce1e31007be4c16dc57d3",
}
_JAVA = ("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
# A file is whole as soon as its writer says so, if it has more copies than it needs; else its writer waits half a second for a report.
_SETTINGS = {"dfs.namenode.file.close.num-committed-allowed": "1"}
_NUMBERS = itertools.count(1)


class Hadoop:
    """
    :ivar client: of its superuser, who this process is
    """

    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self.port, self.process = port, process
        self.user = getpass.getuser()
        self.client = hdfs_native.Client(f"hdfs://127.0.0.1:{port}", {}, os.devnull)

    def options(self) -> Options:
        """For a new folder."""
        root = f"/data-{next(_NUMBERS)}"
        self.client.mkdirs(root)
        return Options((f"127.0.0.1:{self.port}",), self.user, root, copies=2)


@contextlib.contextmanager
def hadoop(settings: Mapping[str, str] = MappingProxyType({}), *java: str) -> Iterator[Hadoop]:
    """
    :param java: more options of the process
    """
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # every file that is stored is brought to the disk
    with tempfile.TemporaryDirectory(prefix="hdfs-", dir=memory) as name:
        folder = Path(name)
        log, details, site = folder / "log", folder / "details", folder / "site"
        site.mkdir()
        for file in ("core-site.xml", "hdfs-site.xml"):  # each has defaults of its own, which are read before it
            (site / file).write_text(_xml({**_SETTINGS, **settings}), encoding="utf-8")
        words = [
            *_JAVA,
            *java,
            f"-Dtest.build.data={folder}/data",
            "-cp",
            ":".join(str(one) for one in (site, *jars())),
        ]
        words += ["org.apache.hadoop.test.MiniDFSClusterManager", "-format", "-datanodes", "2"]
        words += ["-nnport", "0", "-httpport", "0", "-writeDetails", str(details)]
        with log.open("wb") as output, subprocess.Popen(words, cwd=folder, stdout=output, stderr=output) as process:
            try:
                yield Hadoop(_ready(process, details, log), process)
            finally:
                process.kill()
                process.wait(PATIENCE)


def _xml(settings: Mapping[str, str]) -> str:
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items()
    )
    return f"<configuration>{rows}</configuration>"


def jars() -> list[Path]:
    """Those that are pinned here, in a folder that all checkouts share."""
    folder = tree.cache() / "jars"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return [_jar(folder, path, digest) for path, digest in _JARS.items()]


def _jar(folder: Path, path: str, digest: str) -> Path:
    place = folder / f"{digest[:16]}-{Path(path).name}"
    if not place.exists():
        unfinished = place.with_suffix(".unfinished")
        with urllib.request.urlopen(
            f"{os.environ.get(_MIRROR, _CENTRAL).rstrip('/')}/{path}", timeout=PATIENCE
        ) as answer:
            content = answer.read()
        found = hashlib.sha256(content).hexdigest()
        if found != digest:
            raise RuntimeError(f"{path} has the checksum {found}, but should have {digest}")
        unfinished.write_bytes(content)
        unfinished.rename(place)
    return place


def _ready(process: subprocess.Popen[bytes], details: Path, log: Path) -> int:
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError):  # it is not there yet, or not whole
            return int(json.loads(details.read_bytes())["namenode_port"])
        time.sleep(0.05)  # it announces nothing to whoever started it
    raise RuntimeError(f"HDFS did not become ready: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
