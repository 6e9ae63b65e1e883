# SPDX-License-Identifier: Apache-2.0
"""Build the collection's container images, once per content, and push them when there is a registry.

An archive lies in ``<cache>/images/<name>-<key>.tar``; imageplan.py says what the key is made of. An archive
appears by one rename, under a lock: two at once build once, and one that is killed leaves nothing but a working folder
that the next one removes. ``plan`` prints what is there, ``build`` and ``push`` make it so. Each prints one JSON object.

Standard library only; calls mmdebstrap for the Debian root and buildah for the images.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shlex
import shutil
import signal
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import imageplan
from imageplan import Archive, ImageError
from imagework import Buildah, Progress, run, workshop, write_tar

PROGRAMS = ("buildah", "mmdebstrap")
STEPS = 5  # of the paddleflow image, the longest


@dataclass(frozen=True)
class Settings:
    """What the role hands over, as one JSON object."""

    cache: str
    names: list[str]
    repository: str
    suite: str
    packages: list[str]
    build_packages: list[str]
    revision: str
    lock: str
    build_lock: str
    wheels: str
    sources: dict[str, str]
    go_requirement: str
    keep: int
    debian_mirror: str = ""
    debian_security_mirror: str = ""
    debian_keyring: str = ""
    pip_index: str = ""

    @classmethod
    def parse(cls, text: str) -> Settings:
        given = json.loads(text)
        unknown = set(given) - {field.name for field in fields(cls)}
        if unknown:
            raise ImageError(f"unknown settings: {', '.join(sorted(unknown))}")
        return cls(**given)

    @property
    def folder(self) -> Path:
        return Path(self.cache, "images")


# --- keys from files ------------------------------------------------------------------------------------------------


def read_needed(path: str, remedy: str) -> str:
    try:
        return Path(path).read_text()
    except FileNotFoundError:
        raise ImageError(f"{path} is missing: {remedy}") from None


def find_wheel(folder: str) -> tuple[Path, str]:
    """The product's wheel, and its checksum, which has to be the recorded one."""
    remedy = "install the collection from its tarball (in a checkout: `make collection`)."
    found = sorted(Path(folder).glob("paddleflow-*.whl"))
    if len(found) != 1:
        raise ImageError(
            f"{folder} holds {len(found) or 'no'} wheels of paddleflow, and exactly one is needed: {remedy}"
        )
    digest = hashlib.sha256(found[0].read_bytes()).hexdigest()
    recorded = read_needed(f"{found[0]}.sha256", remedy).split()
    if digest not in recorded:
        raise ImageError(f"{found[0].name} differs from its recorded checksum: {remedy}")
    return found[0], digest


def architecture() -> str:
    machine = os.uname().machine
    if machine not in imageplan.MACHINES:
        raise ImageError(
            f"Images are built for {', '.join(imageplan.MACHINES.values())}, and this machine is {machine}."
        )
    return imageplan.MACHINES[machine]


def keys(settings: Settings) -> dict[str, str]:
    """The key of each image asked for, and of the base below paddleflow."""
    result = {}
    machine = architecture()
    for name in settings.names:
        if name == "paddleflow":
            remedy = "install the collection from its tarball (in a checkout: `make collection`)."
            locks = {path: read_needed(getattr(settings, path), remedy) for path in ("lock", "build_lock")}
            packages = settings.packages + settings.build_packages
            base = imageplan.base_key(machine, settings.suite, packages, settings.revision, locks)
            result[imageplan.BASE] = base
            result[name] = imageplan.product_key(base, find_wheel(settings.wheels)[1])
        else:
            source = Path(settings.sources[name])
            files = {str(path.relative_to(source)): path.read_bytes() for path in source.rglob("*") if path.is_file()}
            result[name] = imageplan.binary_key(name, machine, imageplan.tree_digest(files), settings.go_requirement)
    return result


def archives_in(folder: Path) -> list[Archive]:
    """Another build may take any of them away meanwhile."""
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        with contextlib.suppress(FileNotFoundError):
            archive = imageplan.parse_archive(path.name, path.stat().st_mtime)
            found += [archive] if archive else []
    return found


def plan(settings: Settings) -> dict[str, Any]:
    current = keys(settings)
    images = []
    for name in settings.names:
        path = settings.folder / Archive(name, current[name]).file
        ref = f"{settings.repository}/{name}:{current[name]}"
        images.append({"name": name, "key": current[name], "ref": ref, "archive": str(path), "cached": path.is_file()})
    old = imageplan.prunable(archives_in(settings.folder), current, settings.keep)
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    return {"images": images, "prune": [str(settings.folder / archive.file) for archive in old], "missing": missing}


# --- the images -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    settings: Settings
    work: Path
    progress: Progress
    binaries: Path

    def finish(self, archive: Path, target: Path) -> None:
        with archive.open("rb") as file:
            os.fsync(file.fileno())
        archive.replace(target)


def build_binary(job: Job, name: str, ref: str, archive: Path) -> None:
    binary = job.binaries / name
    if not binary.is_file():
        raise ImageError(f"{binary} is missing: compile it first (option --binaries).")
    job.progress.say(0, 1, f"image {name}")
    links = {f"usr/bin/{command}": name for command in imageplan.VOLCANO_COMMANDS} if name == "volcano" else {}
    write_tar(job.work / "layer.tar", {f"usr/bin/{name}": (binary.read_bytes(), 0o755)}, links)
    buildah = Buildah(job.work)
    container = buildah.start()
    buildah("add", "--quiet", container, job.work / "layer.tar", "/")
    # Go's garbage collector has nothing to do in pause; one scheduling thread saves memory in every pod.
    entry = (
        ["--entrypoint", '["/usr/bin/pause"]', "--env", "GOGC=off", "--env", "GOMAXPROCS=1"] if name == "pause" else []
    )
    buildah("config", "--env", "PATH=/usr/bin", "--user", f"{imageplan.USER}:{imageplan.USER}", *entry, container)
    buildah.commit(container, f"oci-archive:{archive}:{ref}")


def pip_files(settings: Settings, target: Path) -> None:
    """What pip in the build root reads: locks, certificates, configuration."""
    # pip's configuration can hold a password. Without root, the build root's user is another one, and has to read it.
    target.mkdir(mode=0o755 if os.geteuid() else 0o700)
    shutil.copyfile(settings.lock, target / "image.txt")
    shutil.copyfile(settings.build_lock, target / "build.txt")
    bundles = [path for path in imageplan.certificate_candidates(os.environ) if Path(path).is_file()]
    if not bundles:
        raise ImageError("This machine has no certificates to check the Python index with: install ca-certificates.")
    shutil.copyfile(bundles[0], target / "certificates.pem")
    home = Path.home()
    places = [
        Path("/etc/pip.conf"),
        home / ".pip/pip.conf",
        home / ".config/pip/pip.conf",
        Path(sys.prefix, "pip.conf"),
    ]
    if os.environ.get("PIP_CONFIG_FILE"):
        places.append(Path(os.environ["PIP_CONFIG_FILE"]))
    texts = [place.read_text() for place in places if place.is_file()]
    (target / "pip.conf").write_text(imageplan.merged_pip_config(texts))


def mmdebstrap(job: Job, step: int, title: str, packages: Sequence[str], hooks: Sequence[str], target: Path) -> None:
    settings = job.settings
    configured = [
        path.read_text()
        for path in (Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*"))
        if path.is_file()
    ]
    sources = imageplan.apt_sources(settings.suite, settings.debian_mirror, settings.debian_security_mirror, configured)
    keyring = [f"--keyring={settings.debian_keyring}"] if settings.debian_keyring else []
    command = [
        "mmdebstrap", "--mode=unshare", "--variant=essential", f"--include={','.join(packages)}", *keyring,
        "--hook-dir=/usr/share/mmdebstrap/hooks/maybe-merged-usr", "--dpkgopt=force-unsafe-io",
        f"--skip={','.join(imageplan.SKIPPED)}",
        *(f"--dpkgopt={line}" for line in imageplan.EXCLUDED), *(f"--customize-hook={hook}" for hook in hooks),
        settings.suite, str(target), *sources,
    ]  # fmt: skip
    temporary = job.work / "tmp"
    temporary.mkdir(exist_ok=True)
    temporary.chmod(0o1777)
    env = {**os.environ, "TMPDIR": str(temporary), "SOURCE_DATE_EPOCH": str(imageplan.EPOCH), "LC_ALL": "C.UTF-8"}

    def show(line: str) -> None:
        if line.startswith("I: ") and line[3:].split()[0] in {"downloading", "extracting", "installing", "creating"}:
            job.progress.say(step, STEPS, f"image paddleflow, {title}: {line[3:]}")

    job.progress.say(step, STEPS, f"image paddleflow, {title}")
    run(command, env, show)


def build_packages_hooks(job: Job) -> list[str]:
    """Hooks that install the locked packages into a folder of the build root, and hand that out as a tar."""
    env = imageplan.pip_environment(os.environ, job.settings.pip_index, "/build")
    (job.work / "pip/environment").write_text(
        "".join(f"export {name}={shlex.quote(value)}\n" for name, value in env.items())
    )
    pip = "python3 -m pip install --quiet --no-warn-script-location --no-deps --require-hashes"
    script = (
        f". /build/environment && {pip} -r /build/build.txt"
        f" && {pip} --no-build-isolation --no-compile --root /out -r /build/image.txt"
    )
    return [
        f'cp -r {shlex.quote(str(job.work / "pip"))} "$1/build"',
        f'echo "I: installing the locked Python packages" && chroot "$1" env -i /bin/sh -c {shlex.quote(script)}',
        f'tar -C "$1/out" --sort=name --owner=0 --group=0 --numeric-owner -cf {shlex.quote(str(job.work / "tmp/packages.tar"))} usr',
    ]


def runtime_hooks(job: Job) -> list[str]:
    """Hooks that turn a Debian root with Python into the base of the image."""
    user = f"paddleflow:x:{imageplan.USER}"
    python = 'chroot "$1" env -i PATH=/usr/bin:/bin HOME=/tmp LC_ALL=C.UTF-8 python3 -B'
    compile_all = f"-m compileall -q --invalidation-mode unchecked-hash -x '{imageplan.NOT_COMPILED}' /{imageplan.PYTHON_PACKAGES}"
    forces = "--force-depends --force-remove-essential --force-remove-protected"
    # A user without a password, in files that nobody edits: no tool for that is worth its size.
    account = (
        f'echo "{user}:{imageplan.USER}::/home/paddleflow:/usr/sbin/nologin" >> "$1/etc/passwd"'
        f' && echo "{user}:" >> "$1/etc/group" && mkdir -m 0750 "$1/home/paddleflow"'
        f' && chown {imageplan.USER}:{imageplan.USER} "$1/home/paddleflow"'
    )
    return [
        f'tar -C "$1" -xf {shlex.quote(str(job.work / "tmp/packages.tar"))}',
        f"{python} {compile_all}",
        account,
        f'dpkg --root="$1" --purge {forces} {" ".join(imageplan.PURGED)}',
        "rm -rf " + " ".join(f'"$1"/{path}' for path in imageplan.CLEANED),
        # fusermount3 is the one program that somebody other than root has a reason to run as root.
        'find "$1" -xdev -type f -perm /6000 ! -name fusermount3 -exec chmod ug-s {} +',
        f"{python} -c {shlex.quote(imageplan.CHECK_IMPORTS)}",
    ]


def build_base(job: Job, archive: Path) -> None:
    """Two Debian roots: one with a compiler, of which only the installed packages are kept, and the image's own."""
    settings = job.settings
    pip_files(settings, job.work / "pip")
    mmdebstrap(job, 0, "build root", settings.build_packages, build_packages_hooks(job), Path("/dev/null"))
    mmdebstrap(job, 1, "root file system", settings.packages, runtime_hooks(job), job.work / "root.tar")
    job.progress.say(2, STEPS, "image paddleflow, base layer")
    buildah = Buildah(job.work)
    container = buildah.start()
    buildah("add", "--quiet", container, job.work / "root.tar", "/")
    (job.work / "root.tar").unlink()
    for setting in (
        "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "LANG=C.UTF-8",
        "PYTHONUNBUFFERED=1",
        "PYTHONDONTWRITEBYTECODE=1",
    ):
        buildah("config", "--env", setting, container)
    buildah("config", "--workingdir", "/home/paddleflow", "--cmd", '["python3"]', container)
    buildah.commit(container, f"oci-archive:{job.work / 'base.tar'}:localhost/paddleflow/base:{archive.stem[-12:]}")
    shutil.rmtree(job.work / "storage", ignore_errors=True)
    job.finish(job.work / "base.tar", archive)


def build_product(job: Job, base: Path, ref: str, archive: Path) -> None:
    """The wheel as a layer of its own on the base, byte-compiled and imported by the image's own Python."""
    wheel, _digest = find_wheel(job.settings.wheels)
    with zipfile.ZipFile(wheel) as file:
        content = {info.filename: file.read(info) for info in file.infolist() if not info.is_dir()}
    write_tar(job.work / "layer.tar", imageplan.wheel_layer(content))
    buildah = Buildah(job.work)
    job.progress.say(3, STEPS, "image paddleflow, adding the wheel")
    container = buildah.start(buildah.load(base))
    buildah("add", "--quiet", container, job.work / "layer.tar", "/")
    job.progress.say(4, STEPS, "image paddleflow, checking and writing")
    inside = ["--isolation", "chroot", container, "--"]
    buildah("run", *inside, "python3", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash",
            *(f"/{imageplan.PYTHON_PACKAGES}/{top}" for top in imageplan.wheel_tops(content)))  # fmt: skip
    buildah("config", "--user", f"{imageplan.USER}:{imageplan.USER}", container)
    buildah("run", *inside, "python3", "-c", imageplan.CHECK_IMPORTS, "paddleflow")
    buildah.commit(container, f"oci-archive:{archive}:{ref}")


def build(settings: Settings, name: str, progress: Progress, binaries: str) -> dict[str, Any]:
    image = next(image for image in plan(settings)["images"] if image["name"] == name)
    target = Path(image["archive"])
    if target.is_file():
        return {**image, "built": False}
    with workshop(settings.folder, name, progress) as work:
        built = not target.is_file()  # the one we waited for may have made it
        if built:
            job = Job(settings, work, progress, Path(binaries))
            if name == "paddleflow":
                base = settings.folder / Archive(imageplan.BASE, keys(settings)[imageplan.BASE]).file
                if not base.is_file():
                    build_base(job, base)
                build_product(job, base, image["ref"], work / "image.tar")
            else:
                build_binary(job, name, image["ref"], work / "image.tar")
            job.finish(work / "image.tar", target)
    return {**image, "cached": True, "built": built}


def in_registry(buildah: Buildah, ref: str) -> bool:
    try:
        buildah("manifest", "inspect", ref)
    except ImageError as error:
        if "not a list type" in str(error):  # older releases show lists only, and name what they found instead
            return True
        if any(
            words in str(error).lower() for words in ("manifest unknown", "name unknown", "unknown name", "not found")
        ):
            return False
        raise
    return True


def push(settings: Settings, name: str, progress: Progress, arguments: argparse.Namespace) -> dict[str, Any]:
    """To the registry unless it has the tag: a tag of ours says the content, so it is never another image."""
    image = next(image for image in plan(settings)["images"] if image["name"] == name)
    insecure = "" if arguments.tls_verify else settings.repository.partition("/")[0]
    with workshop(settings.folder, f"push-{name}", progress) as work:
        buildah = Buildah(work, arguments.authfile, insecure)
        if in_registry(buildah, image["ref"]):
            return {**image, "pushed": False, "present": True}
        if arguments.dry_run:
            return {**image, "pushed": False, "present": False}
        progress.say(0, 1, f"pushing {image['ref']}")
        loaded = buildah.load(Path(image["archive"]))
        buildah("push", *buildah.policy, "--quiet", loaded, f"docker://{image['ref']}")
    return {**image, "pushed": True, "present": True}


def main() -> None:
    # An ordered end also tidies up; only a kill leaves the working folder to the next run.
    signal.signal(signal.SIGTERM, lambda *_signal: sys.exit(143))
    parser = argparse.ArgumentParser(description="Build the collection's container images, once per content.")
    parser.add_argument("verb", choices=["plan", "build", "push"])
    parser.add_argument("--settings", required=True, help="one JSON object")
    parser.add_argument("--name", default="")
    parser.add_argument("--binaries", default="", help="folder with the compiled binary of the image")
    parser.add_argument("--progress", default="")
    parser.add_argument("--authfile", default="")
    parser.add_argument("--tls-verify", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--dry-run", action="store_true", help="push: only look whether the registry has the image")
    arguments = parser.parse_args()
    try:
        settings, progress = Settings.parse(arguments.settings), Progress(arguments.progress)
        if arguments.verb == "plan":
            result = plan(settings)
        elif arguments.verb == "build":
            result = build(settings, arguments.name, progress, arguments.binaries)
        else:
            result = push(settings, arguments.name, progress, arguments)
    except ImageError as error:
        sys.exit(str(error))
    except PermissionError as error:
        sys.exit(
            f"{error.filename} cannot be written: run as its owner, or set artifacts_cache_dir to a folder of yours."
        )
    print(json.dumps(result))


if __name__ == "__main__":
    main()
