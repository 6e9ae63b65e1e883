# SPDX-License-Identifier: Apache-2.0
"""An HDFS cluster that takes nobody without a ticket, and encrypts what it sends."""

from __future__ import annotations

import base64
import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.agent_command import Command, command
from tests.support.granted import until
from tests.support.hadoop import Hadoop, hadoop
from tests.support.kerberos import REALM, Realm, realm
from tests.support.ports import held_port
from tests.support.relay import Relay, closing
from tests.support.shown import assert_nowhere

pytestmark = pytest.mark.extended  # half a minute, and a KDC

LIFE = 10  # seconds of a ticket


class Secure:
    """
    :ivar given: the properties of a file system on the cluster, by its superuser
    """

    def __init__(self, cluster: Hadoop, there: Realm, keytab: Path) -> None:
        self.port = cluster.port
        self.url = f"hdfs://localhost:{cluster.port}/"
        self.keytab = keytab
        self.given = {
            "principal": "hdfs/localhost",
            "realm": REALM,
            "kdc": f"127.0.0.1:{there.port}",
            "nameNodePrincipal": f"hdfs/localhost@{REALM}",
            "dataTransferProtection": "privacy",
            "replication": "2",
        }

    def secret(self, keytab: Path | None = None) -> str:
        return base64.b64encode((keytab or self.keytab).read_bytes()).decode()


@pytest.fixture(scope="module")
def there() -> Iterator[Realm]:
    with realm() as running:
        yield running


@pytest.fixture(scope="module")
def secure(there: Realm) -> Iterator[Secure]:
    keytab = there.keytab("hdfs/localhost", "HTTP/localhost")
    settings = {
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": "true",
        "hadoop.rpc.protection": "privacy",
        "dfs.data.transfer.protection": "privacy",
        "dfs.block.access.token.enable": "true",
        "ignore.secure.ports.for.testing": "true",  # its web pages would need certificates
        "dfs.web.authentication.kerberos.principal": f"HTTP/localhost@{REALM}",
        "dfs.web.authentication.kerberos.keytab": str(keytab),
    }
    for node in ("namenode", "datanode"):
        settings[f"dfs.{node}.kerberos.principal"] = f"hdfs/localhost@{REALM}"
        settings[f"dfs.{node}.keytab.file"] = str(keytab)
    with hadoop(settings, f"-Djava.security.krb5.conf={there.config}") as cluster:
        yield Secure(cluster, there, keytab)


# A process has one user, and one configuration of Kerberos.
ASK = """
import json, os, sys
from paddleflow_fuse.sources.base import quiet
from paddleflow_fuse.sources.make import Wanted, here
url, given = json.load(sys.stdin)
try:
    source = here(Wanted(url, given, ""), quiet)
    print(source.find(b"").kind.value, flush=True)
    source.make_folder(b"folder")
except OSError as error:
    print(error.errno, error.strerror)
os._exit(0)
"""


def ask(url: str, given: dict[str, object]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", ASK], input=json.dumps([url, given]), capture_output=True, text=True, check=True, timeout=120,
        env={name: value for name, value in os.environ.items() if name != "KRB5_CONFIG"},
    )  # fmt: skip
    return done.stdout.splitlines()


def test_a_cluster_is_mounted_by_a_key_table(secure: Secure, tmp_path: Path) -> None:
    with command(tmp_path) as agent:
        agent.mount(secure.url, options={**secure.given, "log-level": "DEBUG"}, secrets={"keyTabData": secure.secret()})
        data = os.urandom(3 << 20)
        (agent.point / "file").write_bytes(data)
        agent("clear", str(agent.point))
        assert (agent.point / "file").read_bytes() == data
        (agent.point / "file").unlink()
        whole = secure.secret()
        # A word of it wherever it may begin, as it is given and as it is used; the first are the same in all key tables.
        words = [whole[40:60], whole[-24:-4], secure.keytab.read_bytes()[-20:].decode(errors="replace")]
        assert_nowhere(agent, words)
        agent("umount", str(agent.point))
        assert not [word for word in words if word in agent.said()]
    left = [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes()[:2] == b"\x05\x02"]
    assert left == []  # no key table was written


class Short(NamedTuple):
    """A mount by tickets that end soon.

    :ivar relay: to the name node
    """

    agent: Command
    principal: str
    relay: Relay

    def outlives(self, seconds: float) -> None:
        """It is used all the time, and each question is the cluster's to answer."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.writes_and_reads()

    def writes_and_reads(self) -> None:
        data = os.urandom(1000)
        (self.agent.point / "short").write_bytes(data)
        self.agent("clear", str(self.agent.point))
        assert (self.agent.point / "short").read_bytes() == data


@pytest.fixture
def short(secure: Secure, there: Realm, tmp_path: Path) -> Iterator[Short]:
    principal = f"hdfs/{tmp_path.name}"  # who is the same user as hdfs/localhost
    keytab = there.keytab(principal, seconds=LIFE)
    with closing(lambda: Relay(("localhost", secure.port))) as relay, command(tmp_path) as agent:
        url = f"hdfs://localhost:{relay.port}/"
        agent.mount(
            url, options={**secure.given, "principal": principal}, secrets={"keyTabData": secure.secret(keytab)}
        )
        yield Short(agent, principal, relay)


def test_a_mount_outlives_its_ticket_and_gets_another_by_its_key_table(short: Short, there: Realm) -> None:
    short.outlives(2 * LIFE)  # by the connections that it has, too
    before = there.logins(short.principal)
    assert before
    assert short.relay.cut()
    short.writes_and_reads()
    assert there.logins(short.principal) > before


def test_a_realm_that_is_away_when_a_ticket_has_ended_is_waited_for(short: Short, there: Realm) -> None:
    there.stop()
    try:
        short.outlives(2 * LIFE)  # who is let in needs no ticket
        assert short.relay.cut()
        before = short.relay.connections
        with ThreadPoolExecutor(1) as waits:
            done = waits.submit(short.writes_and_reads)
            until("it comes again, without a ticket", lambda: short.relay.connections > before + 3)
            assert not done.done()
            there.start()
            done.result(60)
    finally:
        there.stop()
        there.start()


def test_another_user_is_let_in_but_may_not_write(secure: Secure, there: Realm) -> None:
    keytab = there.keytab("tester")
    said = ask(secure.url, {**secure.given, "principal": "tester", "keyTabData": secure.secret(keytab)})
    assert said[0] == "folder"
    assert said[1].startswith(f"{errno.EACCES} ")
    assert "user=tester" in said[1]


def test_a_key_table_of_somebody_else_is_refused(secure: Secure) -> None:
    said = ask(secure.url, {**secure.given, "principal": "tester", "keyTabData": secure.secret()})
    assert said[0].startswith(f"{errno.EACCES} ")


def test_who_has_no_ticket_is_told_to_bring_one(secure: Secure) -> None:
    said = ask(secure.url, {"user": "hdfs", "group": "any"})
    assert said[0].startswith(f"{errno.EIO} ")
    assert "whether it wants Kerberos: then give principal and keyTabData" in said[0]


def test_the_address_of_a_realm_that_is_away_is_told(secure: Secure) -> None:
    with held_port() as port:
        said = ask(secure.url, {**secure.given, "kdc": f"127.0.0.1:{port}", "keyTabData": secure.secret()})
    assert said[0].startswith(f"{errno.EACCES} ")
