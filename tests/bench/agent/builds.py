# SPDX-License-Identifier: Apache-2.0
"""Peers that are Go programs, compiled once from the module proxy into the cache of all that is compiled.

Each is its own main module with its own replacements, so it is built from a copy of its source, and not as a tool of a module of ours.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from tools import tree
from tools.go import load_gobuild, toolchain


class Recipe(NamedTuple):
    """
    :ivar sum: of the module's content, as go.sum writes it
    :ivar package: within the module
    :ivar without: build tags that leave out what the benchmark does not use
    :ivar links_c: whether it needs a C compiler
    """

    module: str
    version: str
    sum: str
    package: str = "."
    without: str = ""
    links_c: bool = False


RECIPES = {
    "rclone": Recipe("github.com/rclone/rclone", "v1.75.1", "h1:kIxQcoDLj2Gke/gMSHK7OnxhX1Gu1cJBLP1kJZoaFp0="),
    "juicefs": Recipe(
        "github.com/juicedata/juicefs", "v1.3.1", "h1:xB2I2vnOEMS77XpZuOm/Cl9SqSfUWohw+U0Wsw4N5C0=",
        without="nogateway,nowebdav,nocos,nobos,nohdfs,noibmcos,noobs,nooss,noqingstor,nosftp,noswift,noazure,nogs,noufile,nob2,"
        "nonfs,nodragonfly,nomysql,nopg,notikv,nobadger,noetcd",
        links_c=True,  # SQLite
    ),
    "pfs-fuse": Recipe(
        "github.com/PaddlePaddle/PaddleFlow", "v0.14.6", "h1:RAsxXJ3AUParcPrRaoDwxWULo3zDA9PD+xrpjQbs+0Q=", "./cmd/fs/fuse"
    ),
}  # fmt: skip


class BuildError(Exception):
    """Why there is no such program."""


def built(name: str) -> Path:
    """The program; compiles it (minutes) when the cache has none.

    :raises BuildError:
    """
    recipe, gobuild = RECIPES[name], _gobuild()
    go, environment = toolchain()
    environment |= {"GOFLAGS": "-mod=mod -trimpath -buildvcs=false", "CGO_ENABLED": str(int(recipe.links_c))}
    facts = repr((recipe, gobuild.go_version(go, environment), os.uname().machine))
    builds = tree.cache() / "builds"
    target = builds / f"bench-{name}-{hashlib.sha256(facts.encode()).hexdigest()[:16]}"
    with gobuild.locked(builds / f"bench-{name}.lock", gobuild.Progress("")):
        if not gobuild.finished(target):
            print(f"compiling {recipe.module} {recipe.version}, which takes minutes", flush=True)
            _compile(name, recipe, go, environment, target)
            gobuild.prune(builds, f"bench-{name}", target)
    return target / name


def _compile(name: str, recipe: Recipe, go: str, environment: dict[str, str], target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=f".bench-{name}-", dir=target.parent) as folder:
        source, made = Path(folder, "source"), Path(folder, "made")
        made.mkdir()
        # The module cache is read-only, and go.mod may have to name what a newer toolchain wants to be named.
        shutil.copytree(_source(recipe, go, environment), source, copy_function=shutil.copyfile)
        for path in (source, *source.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        words = [go, "build", "-tags", recipe.without, "-ldflags", "-s -w", "-o", str(made / name), recipe.package]
        _run(words, source, {**environment, "GOTMPDIR": folder})
        sizes = {name: (made / name).stat().st_size}
        (made / "manifest.json").write_text(json.dumps({"sizes": sizes}), encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)


def _source(recipe: Recipe, go: str, environment: dict[str, str]) -> Path:
    # Outside of any module, or that would want to know of it.
    said = _run([go, "mod", "download", "-json", f"{recipe.module}@{recipe.version}"], Path("/"), environment)
    told = json.loads(said)
    if told["Sum"] != recipe.sum:
        raise BuildError(f"{recipe.module} {recipe.version} is not what it was: it has {told['Sum']}, not {recipe.sum}")
    return Path(told["Dir"])


def _run(words: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(_gobuild().explain(done.stderr or done.stdout))
    return done.stdout


def _gobuild() -> Any:
    return load_gobuild()
