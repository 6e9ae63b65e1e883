# SPDX-License-Identifier: Apache-2.0
"""A realm of Kerberos with a key distribution center of MIT's on a loopback port, and all that it keeps in a folder of its own."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 30.0
REALM = "EXAMPLE.ORG"


class Realm:
    """
    :ivar config: a krb5.conf, for whoever is no client of ours
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.config = folder / "krb5.conf"
        self.log = folder / "kdc.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.environment = {
            **os.environ, "KRB5_CONFIG": str(self.config), "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
        }  # fmt: skip

    def configure(self, port: int) -> None:
        self.port = port
        place = f"127.0.0.1:{port}"
        self.config.write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n rdns = false\n dns_canonicalize_hostname = false\n"
            f"[realms]\n {REALM} = {{\n  kdc = {place}\n }}\n",
            encoding="utf-8",
        )
        (self.folder / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_listen = {place}\n kdc_tcp_listen = {place}\n[realms]\n {REALM} = {{\n"
            f"  database_name = {self.folder}/principal\n  key_stash_file = {self.folder}/stash\n }}\n"
            f"[logging]\n kdc = FILE:{self.log}\n",
            encoding="utf-8",
        )

    def start(self) -> None:
        """The KDC."""
        output = self.folder / "output"
        with output.open("ab") as file:
            self._process = subprocess.Popen(["krb5kdc", "-n"], env=self.environment, stdout=file, stderr=file)
        _wait(self, self._process, output)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE)

    def logins(self, principal: str) -> int:
        """How often it proved who it is, and was given a ticket for that."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return sum("AS_REQ" in line and "ISSUE" in line and f" {principal}@{REALM} for" in line for line in lines)

    def keytab(self, *principals: str, seconds: int = 0) -> Path:
        """Of new ones.

        :param seconds: that a ticket of theirs holds, where it is not the usual time
        """
        path = self.folder / f"{principals[0].replace('/', '-')}.keytab"
        life = f"-maxlife {seconds}s " if seconds else ""
        for one in principals:
            self.run("kadmin.local", "-q", f"addprinc -randkey {life}{one}")
            self.run("kadmin.local", "-q", f"ktadd -k {path} {one}")
        return path

    def run(self, *words: str) -> None:
        subprocess.run(words, env=self.environment, check=True, capture_output=True, timeout=PATIENCE)


@contextlib.contextmanager
def realm() -> Iterator[Realm]:
    with tempfile.TemporaryDirectory(prefix="kdc-") as folder:
        one = Realm(Path(folder))
        one.configure(_free())
        one.run("kdb5_util", "create", "-s", "-P", "planted", "-r", REALM)
        try:
            one.start()
            yield one
        finally:
            one.stop()


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _wait(one: Realm, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", one.port), PATIENCE):
            return
        time.sleep(0.02)  # it announces nothing to whoever started it
    raise RuntimeError(f"the KDC did not start: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
