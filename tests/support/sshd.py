# SPDX-License-Identifier: Apache-2.0
"""The distribution's OpenSSH server on a loopback port, with users, keys and a disk of its own: its namespaces end with it."""

from __future__ import annotations

import contextlib
import itertools
import os
import shlex
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import asyncssh
from paddleflow_fuse.sources.sftp.options import Login, Options

from tests.support.namespaces import LET_GO

PATIENCE = 30.0
PASSWORD = "planted-password"
# With every extension; with none; who is not root; for whom SFTP does not begin.
ROOT, BARE, USER, STUCK = "root", "bare", "user", "stuck"
USER_ID = 4242
ROOM = 4 << 20
_NUMBERS = itertools.count(1)
_EXTENSIONS = "posix-rename,statvfs,fstatvfs,fsync,lsetstat,limits,hardlink,copy-data,expand-path"


class Sshd:
    """
    :ivar full: a folder of the server's on a small disk of its own
    :ivar key: private, of every user
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.full = folder / "full"
        self.port = 0
        keys = [asyncssh.generate_private_key("ssh-ed25519") for _key in range(2)]
        self.host_key = keys[0].export_public_key().decode()
        self.key = keys[1].export_private_key().decode()
        hashed = subprocess.run(
            ["openssl", "passwd", "-6", "-stdin"], input=PASSWORD, capture_output=True, text=True, check=True
        ).stdout.strip()
        users = {ROOT: 0, BARE: 0, USER: USER_ID, STUCK: USER_ID}
        files = {
            "host": keys[0].export_private_key().decode(),
            "authorized": keys[1].export_public_key().decode(),
            "passwd": "".join(f"{name}:x:{number}:{number}::/:/bin/sh\n" for name, number in users.items())
            + "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n",
            "shadow": "".join(f"{name}:{hashed}:19000::::::\n" for name in users),
        }
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
            (folder / name).chmod(0o600 if name in ("host", "shadow") else 0o644)
        folder.chmod(0o711)
        self.full.mkdir()

    def options(self, user: str = ROOT) -> Options:
        """For a new folder, that everybody may write to."""
        root = self.folder / f"data-{next(_NUMBERS)}"
        root.mkdir()
        root.chmod(0o777)
        known = asyncssh.import_known_hosts(f"[127.0.0.1]:{self.port} {self.host_key}")
        return Options("127.0.0.1", user, self.port, os.fsencode(root), known, Login(key=self.key))

    def configure(self, port: int) -> None:
        self.port = port
        lines = [
            f"Port {port}", "ListenAddress 127.0.0.1", f"HostKey {self.folder}/host", "PidFile none", "UsePAM no",
            f"AuthorizedKeysFile {self.folder}/authorized", "StrictModes no", "PermitRootLogin yes", "MaxStartups 100",
            "Subsystem sftp internal-sftp", f"Match User {BARE}", f"ForceCommand internal-sftp -P {_EXTENSIONS}",
            f"Match User {STUCK}", "ForceCommand sleep 1000",
        ]  # fmt: skip
        (self.folder / "conf").write_text("\n".join([*lines, ""]), encoding="utf-8")


@contextlib.contextmanager
def sshd() -> Iterator[Sshd]:
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # every file that is stored is brought to the disk
    with tempfile.TemporaryDirectory(prefix="sshd-", dir=memory) as folder:
        server = Sshd(Path(folder))
        place = shlex.quote(folder)
        script = f"""set -e
{LET_GO}
mount -t tmpfs tmpfs /run
mkdir -m 755 /run/sshd
mount --bind {place}/passwd /etc/passwd
mount --bind {place}/shadow /etc/shadow
mount -t tmpfs -o size={ROOM} tmpfs {place}/full
exec /usr/sbin/sshd -D -e -f {place}/conf
"""
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc", "sh", "-c", script]
        process = _started(server, command)
        try:
            yield server
        finally:
            process.kill()
            process.wait(PATIENCE)


def _started(server: Sshd, command: list[str]) -> subprocess.Popen[bytes]:
    """It cannot take a port by itself, so another may take it before."""
    log = server.folder / "log"
    for _try in range(5):
        with socket.create_server(("127.0.0.1", 0)) as free:
            server.configure(free.getsockname()[1])
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output)
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            if "Server listening" in log.read_text(encoding="utf-8", errors="replace"):
                return process
            time.sleep(0.02)  # it announces nothing to whoever started it
        process.kill()
        process.wait(PATIENCE)
    raise RuntimeError(f"sshd did not start: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
