# SPDX-License-Identifier: Apache-2.0
"""How the images are made: a locked folder to work in, processes that end with us, buildah, and tars of the same bytes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import imageplan
from imageplan import ImageError

POLICY = '{"default": [{"type": "insecureAcceptAnything"}]}'  # only archives and folders of our own are read


class Progress:
    """One line, ``done/total text``, replaced as a whole so that a reader never sees half of it."""

    def __init__(self, path: str) -> None:
        self.path = Path(path) if path else None

    def say(self, done: int, total: int, text: str) -> None:
        if self.path:
            temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}.new")
            temporary.write_text(f"{done}/{total} {text}\n")
            temporary.replace(self.path)


def remove(path: Path) -> None:
    """A working folder, never what is mounted in it, and also what belongs to the users of our user namespace."""
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    inside = [mount for mount in mounts if mount.startswith(f"{path}/")]
    if inside:
        raise ImageError(f"{inside[0]} is a mount left by an earlier build: unmount it, then run again.")
    if os.geteuid() and shutil.which("buildah"):
        subprocess.run(["buildah", "unshare", "rm", "-rf", "--", str(path)], check=False)
    shutil.rmtree(path, ignore_errors=True)
    if path.exists():
        raise ImageError(
            f"{path} is left of an earlier build and cannot be removed: remove it as the user who made it."
        )


@contextlib.contextmanager
def workshop(folder: Path, name: str, progress: Progress) -> Iterator[Path]:
    """A folder to work in, held by one at a time; what a killed one left is removed first."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f".{name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say(0, 0, f"another build of {name} is running: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        for leftover in folder.glob(f".{name}-*"):
            remove(leftover)
        work = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=folder))
        work.chmod(0o711)  # mmdebstrap without root enters it as another user
        try:
            yield work
        finally:
            remove(work)


def dying_with_us(command: Sequence[str]) -> list[str]:
    """The command in namespaces of its own that vanish, with every mount and process in them, when we are killed."""
    guard = ["setpriv", "--pdeathsig", "KILL"]
    if os.geteuid() == 0:
        guard += ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
    return [*guard, *command]


def run(command: Sequence[str], env: Mapping[str, str] | None = None, on_line: Any = None) -> str:
    """Its output; an ImageError with the last lines when it fails. Each line is handed over as it comes."""
    lines: list[str] = []
    with subprocess.Popen(
        dying_with_us(command),
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                del lines[:-1000]
                if on_line:
                    on_line(line.strip())
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise ImageError(f"`{command[0]}` failed:\n{imageplan.explain(''.join(lines))}")
    return "".join(lines).strip()


class Buildah:
    """buildah with its storage in the working folder: nothing of it outlives the build, the host's is not touched."""

    def __init__(self, work: Path, authfile: str = "", insecure: str = "") -> None:
        policy, registries = work / "policy.json", work / "registries.conf"
        policy.write_text(POLICY)
        # Not every verb has options for a registry: what is said here holds for all of them.
        registries.write_text(f'[[registry]]\nlocation = "{insecure}"\ninsecure = true\n' if insecure else "")
        self.command = [
            "buildah",
            "--root",
            str(work / "storage"),
            "--runroot",
            str(work / "run"),
            "--storage-driver",
            "vfs",
        ]
        self.command += ["--registries-conf", str(registries)]
        self.policy = ["--signature-policy", str(policy)]
        self.env = {**os.environ, "TMPDIR": str(work)}
        if authfile:
            (work / "containers").mkdir()
            (work / "containers/auth.json").symlink_to(Path(authfile).absolute())
            self.env["XDG_RUNTIME_DIR"] = str(work)

    def __call__(self, verb: str, *arguments: str | Path) -> str:
        return run([*self.command, verb, *map(str, arguments)], self.env)

    def start(self, image: str = "scratch") -> str:
        return self("from", *self.policy, "--pull-never", image).splitlines()[-1]

    def commit(self, container: str, image: str) -> None:
        self(
            "commit",
            *self.policy,
            "--quiet",
            "--format",
            "oci",
            "--identity-label=false",
            "--timestamp",
            str(imageplan.EPOCH),
            container,
            image,
        )

    def load(self, archive: Path) -> str:
        return self("pull", *self.policy, "--quiet", f"oci-archive:{archive}").splitlines()[-1]


def write_tar(path: Path, files: Mapping[str, tuple[bytes, int]], links: Mapping[str, str] | None = None) -> None:
    """The same bytes for the same files."""
    with tarfile.open(path, "w") as tar:
        folders = sorted({str(parent) for name in [*files, *(links or {})] for parent in Path(name).parents} - {"."})
        for name in [*folders, *sorted({**files, **(links or {})})]:
            entry = tarfile.TarInfo(name)
            entry.mtime = imageplan.EPOCH
            content = b""
            if name in files:
                content, entry.mode = files[name]
                entry.size = len(content)
            elif name in folders:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            else:
                entry.type, entry.mode, entry.linkname = tarfile.SYMTYPE, 0o777, (links or {})[name]
            tar.addfile(entry, BytesIO(content))
