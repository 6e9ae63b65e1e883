# SPDX-License-Identifier: Apache-2.0
"""A user who is not root, with a home of his own, on a machine as a distribution sets it up: /dev/fuse is for everybody. All that he
starts and mounts is in namespaces of his, and ends with them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.namespaces import LET_GO
from tools import tree

NOBODY = 65534
PATH = "/usr/local/bin:/usr/bin:/bin"
# What is needed may lie in a folder that is root's alone: such a folder is shown as an empty one that holds just that.
_SETUP = rf"""
set -eu
{LET_GO}
mount -t tmpfs -o mode=0755 tmpfs "$1/machine"
mkdir "$1/machine/kept"
mknod -m 0666 "$1/machine/fuse" c 10 229
mount --bind "$1/machine/fuse" /dev/fuse
shift
for path in "$@"; do
  top=$path closed=
  while [ "$top" != / ]; do
    case $(stat -c %A "$top") in *[xt]) ;; *) closed=$top ;; esac
    top=$(dirname "$top")
  done
  [ "$closed" ] || continue
  mount --bind "$path" "$0/machine/kept"
  mount -t tmpfs -o mode=0755 tmpfs "$closed"
  mkdir -p "$path"
  mount --move "$0/machine/kept" "$path"
done
echo ready
exec cat
"""


class User:
    """
    :ivar home: a folder of his
    """

    def __init__(self, home: Path, process: int) -> None:
        self.home, self._process = home, process

    def __call__(self, *words: str, code: int = 0, path: str = PATH) -> str:
        """What the command says, also what it complains of."""
        done = self.run(sys.executable, "-m", "paddleflow_fuse.cli.__main__", *words, path=path)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def run(self, *words: str, uid: int = NOBODY, path: str = PATH) -> subprocess.CompletedProcess[str]:
        given = {"HOME": str(self.home), "PATH": path, "PYTHONPATH": str(tree.ROOT / "build/py")}
        become = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        inside = ["nsenter", f"--target={self._process}", "--mount", "--pid", "--wd=/"]
        alone = ["env", "-i", *(f"{name}={value}" for name, value in given.items())]
        return subprocess.run(
            [*inside, *become, *alone, *words], capture_output=True, text=True, timeout=120, check=False
        )


@contextlib.contextmanager
def another_user() -> Iterator[User]:
    with TemporaryDirectory(prefix="pf") as folder:
        home = Path(folder, "home")
        for path in (home, Path(folder, "machine")):
            path.mkdir()
        Path(folder).chmod(0o755)
        os.chown(home, NOBODY, NOBODY)
        needed = [str(Path(sys.base_prefix).resolve()), str(Path(sys.prefix).resolve()), str(tree.ROOT)]
        alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        with subprocess.Popen(
            [*alone, "sh", "-c", _SETUP, folder, folder, *needed],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as there:
            assert there.stdin
            assert there.stdout
            try:
                assert there.stdout.readline() == "ready\n"
                children = Path(f"/proc/{there.pid}/task/{there.pid}/children").read_text(encoding="ascii")
                yield User(home, int(children))
            finally:
                there.stdin.close()
                there.wait(60)
