# SPDX-License-Identifier: Apache-2.0
"""Who is measured, and how each is mounted: with the settings that its own documentation gives for speed.

What is in braces is filled in for each mount: ``ttl`` is for how many seconds anything may be believed without asking, ``names`` and
``attributes`` for how many the kernel may believe these. The table in docs/benchmarks.md is made from this file (``--settings``).
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tests.bench.agent.builds import RECIPES, BuildError, built

OURS = (sys.executable, "-m", "paddleflow_fuse.cli.__main__")
NATIVE = "native"
# Of all of ours that hold anything; they differ in what is behind.
_COMMON = (
    "-o endpoint={url} -o s3ForcePathStyle=true -o data-cache-path={cache} -o free-space-ratio=0.1 "
    "-o meta-cache-expire={ttl} -o entry-cache-expire={ttl} -o attr-timeout={attributes} -o entry-timeout={names}"
)


class Contender(NamedTuple):
    """
    :ivar start: the command without its settings
    :ivar settings: those with which it is read
    :ivar writes: the settings of a mount that is written to, where they differ; None where nobody can write
    :ivar syncs: it stores when it is asked to, and not when a file is closed; so it is asked before
    :ivar files: what has to lie in the mount's own folder first, by name; nobody else may read it
    :ivar environment: beside the path and the home
    :ivar loads: which it has; all without
    :ivar remarks: for the table
    """

    name: str
    start: str
    settings: str
    writes: str | None = ""
    syncs: bool = False
    files: Mapping[str, str] = {}
    environment: Mapping[str, str] = {}
    remarks: str = ""
    loads: tuple[str, ...] = ()

    @property
    def is_ours(self) -> bool:
        return self.start.startswith("{ours}")

    def words(self, writes: bool, facts: Mapping[str, str]) -> list[str]:
        settings = self.writes or self.settings if writes else self.settings
        found: list[str] = []
        for word in f"{self.start} {settings}".split():
            if word == "{ours}":
                found += OURS
            else:
                found.append(word.format(**facts))
        return found


_RCLONE = "--attr-timeout {attributes}s --dir-cache-time {ttl}s --use-server-modtime --no-checksum --vfs-fast-fingerprint --transfers 16"
_JUICEFS = (
    "--cache-dir {cache} --cache-size 20480 --free-space-ratio 0.1 --buffer-size 1024 --max-uploads 50 --verify-cache-checksum none "
    "--attr-cache {attributes} --entry-cache {names} --dir-entry-cache {names} --negative-entry-cache {names} --open-cache {ttl} "
    "--readdir-cache --backup-meta 0 --no-usage-report"
)
_GEESEFS = (
    "--cache {cache} --stat-cache-ttl {attributes}s --memory-limit 4000 --entry-limit 1000000 --no-checksum --max-flushers 32 "
    "--max-parallel-parts 32 --part-sizes 25 --disable-xattr"
)
_OURS = "{{ours}} --run {{folder}}/run mount s3://{{bucket}} {{point}} --secrets {{folder}}/secrets {0}"
_SECRETS = {"secrets": '{{"accessKey": "{key}", "secretKey": "{secret}"}}'}
NO_DISK, ASLEEP, STOCK = "ours without a disk", "ours without spin", "ours, pyfuse3"

CONTENDERS: tuple[Contender, ...] = (
    Contender(NATIVE, "", "", remarks="a folder of the same ext4"),
    Contender(
        "s3fs", "{program} {bucket} {point} -f",
        "-o url={url},passwd_file={folder}/secrets,use_path_request_style,use_cache={cache},kernel_cache,big_writes,"
        "entry_timeout={names},attr_timeout={attributes},stat_cache_expire={ttl},max_stat_cache_size=1000000,enable_noobj_cache,"
        "notsup_compat_dir,multireq_max=64,parallel_count=16,multipart_size=16",
        files={"secrets": "{key}:{secret}\n"},
        remarks="the distribution's package; stores at close",
    ),
    Contender(
        "rclone", "{program} mount b:{bucket} {point} --config {folder}/secrets --cache-dir {cache}",
        f"--vfs-cache-mode full --vfs-cache-max-age 24h --vfs-read-chunk-size 4M --vfs-read-chunk-streams 16 {_RCLONE}",
        writes=f"--vfs-cache-mode off --s3-upload-concurrency 16 --s3-chunk-size 16M {_RCLONE}",
        files={"secrets": "[b]\ntype = s3\nprovider = Minio\nendpoint = {url}\naccess_key_id = {key}\nsecret_access_key = {secret}\n"},
        remarks="written without its cache, which stores only after the close; it has one time for names and attributes",
    ),
    Contender(
        "geesefs", "{program} -f --endpoint {url} --shared-config {folder}/secrets", f"{_GEESEFS} {{bucket}} {{point}}",
        syncs=True,
        files={"secrets": "[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n"},
        remarks="from PATH; it has one time for names, attributes, the kernel and itself; stores behind the close, so an fsync is before it",
    ),
    Contender(
        "juicefs", "{program} mount {meta} {point}", _JUICEFS,
        remarks="metadata in SQLite on the same disk, which is never cold; blocks of 4 MiB in a bucket of its own",
    ),
    Contender(
        "pfs-fuse", "{program} mount --mount-point {point} --config {folder}/secrets --log-dir {folder}/log",
        "--data-cache-path {cache} --data-cache-expire 24h --block-size 20971520 --data-read-ahead-size 209715200 "
        "--meta-cache-driver mem --meta-cache-expire {ttl}s --entry-cache-expire {ttl}s --path-cache-expire {ttl}s "
        "--attr-timeout {attributes}s --entry-timeout {names}s",
        files={"secrets": '{{"id": "bench", "name": "bench", "type": "s3", "serverAddress": "{address}", "subPath": "", "properties": '
               '{{"endpoint": "{address}", "accessKey": "{key}", "secretKey": "{secret}", "bucket": "{bucket}", "region": "us-east-1", '
               '"s3ForcePathStyle": "true"}}}}\n'},
    ),
    Contender("large", _OURS.format(_COMMON), "", files=_SECRETS, remarks="the default: each open asks the store"),
    Contender(
        "large, relaxed", _OURS.format(_COMMON), "-o relaxedOpen=true", files=_SECRETS,
        remarks="an open believes what is known, as the peers do", loads=("A", "A1", "F"),
    ),
    Contender(
        "small", _OURS.format(_COMMON), "-o read-only -o relaxedOpen=true", writes=None, files=_SECRETS, remarks="no request for an open",
        loads=("A", "A1", "F", "G"),
    ),
    Contender(
        NO_DISK, _OURS.format(_COMMON), "-o block-size=0", writes=None, files=_SECRETS, remarks="for sequential reading of what is cold",
        loads=("B",),
    ),
    Contender(
        ASLEEP, _OURS.format(_COMMON), "-o spin=0", files=_SECRETS, remarks="its loop is woken for each request", loads=("D",),
    ),
    Contender(
        STOCK, _OURS.format(_COMMON), "-o session=pyfuse3 -o relaxedOpen=true", files=_SECRETS, remarks="over libfuse, without passthrough",
        loads=("A", "B", "D", "E"),
    ),
)  # fmt: skip
BY_NAME = {one.name: one for one in CONTENDERS}
PEERS = ("s3fs", "rclone", "geesefs", "juicefs")
REFERENCE = "pfs-fuse"


def here(wanted: Sequence[str]) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """Who is here, in which version, and who is not, and why."""
    names, versions, absent = [], {}, {}
    for one in CONTENDERS:
        if wanted and one.name not in wanted:
            continue
        try:
            versions[one.name] = version(one)
        except BuildError as error:
            absent[one.name] = str(error)
        else:
            names.append(one.name)
    return names, versions, absent


@functools.cache
def program(name: str) -> str:
    """
    :raises BuildError: with what to do about it
    """
    if name in RECIPES:
        return str(built(name))
    found = shutil.which(name)
    if found is None:
        raise BuildError(f"{name} is not on PATH: install it, on Debian and its kin by apt-get install {name}")
    return found


def version(contender: Contender) -> str:
    """
    :raises BuildError:
    """
    name = contender.name
    if name in RECIPES:
        program(name)
        return RECIPES[name].version
    if name == STOCK and find_spec("pyfuse3") is None:
        raise BuildError("pyfuse3 is not installed; it is compiled, for which `make env` needs libfuse3-dev")
    if contender.is_ours or name == NATIVE:
        return ""
    said = subprocess.run([program(name), "--version"], capture_output=True, text=True, check=False)
    return (said.stdout or said.stderr).splitlines()[0]


def secure(folder: Path, contender: Contender, facts: Mapping[str, str]) -> None:
    for name, content in contender.files.items():
        path = folder / name
        path.touch(mode=0o600)
        path.write_text(content.format(**facts), encoding="utf-8")


def settings() -> str:
    """As a table."""
    rows = ["| who | mounted with | written with, where it differs | remarks |", "|---|---|---|---|"]
    for one in CONTENDERS:
        if one.name != NATIVE:
            common = f"{_COMMON} {one.settings}" if one.is_ours else one.settings
            writes = {None: "not written to", "": ""}.get(one.writes, f"`{one.writes}`")
            name = f"ours, {one.name}" if one.is_ours and not one.name.startswith("ours") else one.name
            rows.append(f"| {name} | `{common.strip()}` | {writes} | {one.remarks} |")
    return "\n".join(rows) + "\n"
