# SPDX-License-Identifier: Apache-2.0
"""Build the complete collection tarball from a staging tree, and with `--install DIR` put it into a collections path.

The roles of a tarball may read nothing outside it, so the wheel and the CRDs are copied into the roles that install them.
The same tree gives the same bytes: a role that compares checksums sees a change only when there is one.
"""

from __future__ import annotations

import argparse
import fcntl
import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import yaml

from tools import tree

# The earliest time that a wheel, being a zip file, can hold.
EPOCH = 315532800
OUTPUT = tree.BUILD / "collection"


def build(output: Path = OUTPUT) -> Path:
    """Stage, build, and return the tarball."""
    stage = output / "stage"
    tree.copy(tree.files(), stage)
    wheel = build_wheel(stage, stage / "roles/artifacts/files")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    wheel.with_name(wheel.name + ".sha256").write_text(f"{digest}  {wheel.name}\n", encoding="utf-8")
    shutil.copytree(stage / "crds", stage / "roles/crds/files")
    for lock in ("image.txt", "image-build.txt"):
        shutil.copyfile(stage / "locks" / lock, stage / "roles/images/files" / lock)
    for lock, name in (("agent", "agent"), ("agent-pyfuse3", "pyfuse3"), ("image-build", "pyfuse3-build")):
        shutil.copyfile(stage / f"locks/{lock}.txt", stage / f"roles/fuse_agent/files/{name}.txt")
    ansible_galaxy("collection", "build", "--force", "--output-path", str(output), str(stage))
    galaxy = yaml.safe_load((stage / "galaxy.yml").read_text(encoding="utf-8"))
    tarball = output / f"{galaxy['namespace']}-{galaxy['name']}-{galaxy['version']}.tar.gz"
    make_deterministic(tarball)
    return tarball


def build_wheel(stage: Path, target: Path) -> Path:
    """By setuptools itself, without pip and its isolated environment: nothing is downloaded."""
    target.mkdir(parents=True, exist_ok=True)
    code = f"from setuptools import build_meta; print(build_meta.build_wheel({str(target)!r}))"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH), "PYTHONPATH": ""}
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=stage, env=environment, capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise SystemExit(f"The wheel could not be built:\n{result.stdout}{result.stderr}")
    return target / result.stdout.split()[-1]


def make_deterministic(tarball: Path) -> None:
    """ansible-galaxy writes the time of the build and the order of the folder: sort, and set all times to one."""
    plain = io.BytesIO()
    with tarfile.open(tarball) as source, tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as result:
        for member in sorted(source.getmembers(), key=lambda item: item.name):
            member.mtime = EPOCH
            member.pax_headers = {}
            result.addfile(member, source.extractfile(member) if member.isfile() else None)
    with tarball.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=EPOCH) as packed:
        packed.write(plain.getvalue())


def install(tarball: Path, target: Path) -> None:
    """Into a collections path of its own, replacing what an earlier version left there; the same one is left alone,
    since a play may be running from it."""
    digest = hashlib.sha256(tarball.read_bytes()).hexdigest()
    mark = target / "installed.sha256"
    if mark.is_file() and mark.read_text(encoding="utf-8") == digest:
        return
    shutil.rmtree(target / "ansible_collections/paddleflow", ignore_errors=True)
    ansible_galaxy(
        "collection", "install", "--offline", "--no-deps", "--force", "--collections-path", str(target), str(tarball)
    )
    mark.write_text(digest, encoding="utf-8")


def ansible_galaxy(*arguments: str) -> None:
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(OUTPUT / "empty")}
    command = [str(Path(sys.executable).with_name("ansible-galaxy")), *arguments]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"`{' '.join(['ansible-galaxy', *arguments])}` failed:\n{result.stdout}{result.stderr}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the collection tarball.")
    parser.add_argument("--install", type=Path, metavar="DIR", help="also install it into this collections path")
    arguments = parser.parse_args()
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with (OUTPUT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # `make quickstart` beside `make test`: they take turns
        tarball = build()
        print(f"built {tarball.relative_to(tree.ROOT)} sha256:{hashlib.sha256(tarball.read_bytes()).hexdigest()}")
        if arguments.install:
            install(tarball, arguments.install)
            print(f"installed it into {arguments.install}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
