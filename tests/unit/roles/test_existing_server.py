# SPDX-License-Identifier: Apache-2.0
"""A named cluster is asked whether it is there before a kubectl is compiled, which takes ten minutes."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.support import checkout_play

pytestmark = checkout_play.NEEDS_ANSIBLE

PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: paddleflow.core.kubernetes
        tasks_from: existing_server
    - ansible.builtin.debug:
        msg: "{{ inventory_hostname }} would be asked by kubectl"
"""


@contextmanager
def listening() -> Iterator[tuple[str, list[str]]]:
    """An API server that knows nobody, and what it was asked; as a proxy it answers for the server behind it."""
    asked: list[str] = []

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(401)

        def log_message(self, *_arguments: object) -> None:
            """Not among what the tests print."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def nobody() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def test_what_gives_any_answer_is_asked_further_and_what_is_silent_is_said(tmp_path: Path) -> None:
    def host(server: str, proxy: str = "") -> dict[str, object]:
        target = {"server": server, "proxy": proxy, "context": "lab", "user": "ann"}
        return {"ansible_connection": "local", "kubernetes_existing": {"target": target}}

    silent = nobody()
    with listening() as (server, asked), listening() as (proxy, passed):
        hosts = {
            "answering": host(f"{server}/"),
            "behind": host("http://lab.invalid:8080", proxy),
            "socks": host("https://lab.invalid:6443", f"socks5://{silent}"),
            "silent": host(f"https://{silent}"),
            "lost": host("https://lab.invalid:6443", f"http://{silent}"),
        }
        (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
        inventory = ("-i", tmp_path / "hosts.json")
        # The environment's own settings have nothing to say any more.
        surroundings = {"http_proxy": f"http://{silent}", "no_proxy": "lab.invalid"}
        good = checkout_play.run(tmp_path, PLAY, *inventory, "--limit=answering,behind,socks", **surroundings)
        bad = [checkout_play.run(tmp_path, PLAY, *inventory, f"--limit={name}") for name in ("silent", "lost")]
    assert good.returncode == 0, good.stdout
    for name in ("answering", "behind", "socks"):
        assert f"{name} would be asked by kubectl" in good.stdout
    assert (asked, passed) == (["/version"], ["http://lab.invalid:8080/version"])
    texts = [" ".join(done.stdout.split()) for done in bad]
    assert [done.returncode for done in bad] == [2, 2], texts
    assert f"The API server https://{silent} cannot be asked: nothing listens there" in texts[0]
    assert f"the requests went through the proxy http://{silent}" in texts[1]


def test_nothing_is_compiled_for_a_server_that_is_not_there(tmp_path: Path) -> None:
    server = f"https://{nobody()}"
    config = {
        "current-context": "lab",
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "ann"}}],
        "clusters": [{"name": "lab", "cluster": {"server": server}}],
        "users": [{"name": "ann", "user": {"token": "t"}}],
    }
    (tmp_path / "config").write_text(json.dumps(config))
    variables = {
        "ansible_connection": "local",
        "cluster_provider": "existing",
        "kubernetes_kubeconfig": str(tmp_path / "config"),
        "kubernetes_data_dir": str(tmp_path / "data"),
        "artifacts_cache_dir": str(tmp_path / "cache"),
        # As if PATH held no kubectl that is new enough.
        "artifacts_kubernetes_supported": {"min": "99.0", "max": "99.0"},
    }
    play = PLAY.replace("existing_server", "client")
    done = checkout_play.run(tmp_path, play, "-i", "localhost,", "-e", json.dumps(variables))
    text = " ".join(done.stdout.split())
    assert done.returncode == 2, text
    assert f"The API server {server} cannot be asked: nothing listens there" in text
    assert "start the cluster, or correct the server's address" in text
    assert "Build kubectl" not in text
    assert not (tmp_path / "cache").exists()
