# SPDX-License-Identifier: Apache-2.0
"""Provider `existing` as a user runs it, against a real API server: a cluster that can hold the platform is used as it is,
and any other is refused in a sentence before anything is changed."""

from __future__ import annotations

import base64
import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from paddleflow_core.plan.access import GRANTING, NEEDS, Need

from tests.support.binaries import artifacts, built
from tests.support.control_plane import ControlPlane, free_port
from tests.support.named_cluster import Site, printed
from tests.support.plays import Play

VERSION = f"v{artifacts()['artifacts_kubernetes_version']}"
SECRET = "planted-s3cret"
# What follows the role writes into the cluster by the facts that it left, as the other roles of the collection do.
PLAYBOOK = """\
- hosts: all
  gather_facts: false
  environment:
    PATH: "{{ path }}"
  tasks:
    - name: Use the cluster
      ansible.builtin.include_role:
        name: paddleflow.core.kubernetes

    - name: Show the facts
      ansible.builtin.debug:
        msg:
          client: "{{ kubernetes_client }}"
          argv: "{{ kubernetes_kubectl_argv }}"
          images: "{{ kubernetes_ctr_argv }}"
          cluster: "{{ kubernetes_existing_cluster }}"

    - name: Write into the cluster
      ansible.builtin.include_role:
        name: paddleflow.core.kubernetes
        tasks_from: apply
      vars:
        kubernetes_apply_title: the namespace
        kubernetes_apply_objects:
          - apiVersion: v1
            kind: Namespace
            metadata:
              name: "existing-{{ inventory_hostname }}"
"""


def made(site: Site) -> set[str]:
    """The namespaces that the playbook made."""
    names = site.api.kubectl("get", "namespaces", "--output=jsonpath={.items[*].metadata.name}").split()
    return {name for name in names if name.startswith("existing-")}


@pytest.fixture(scope="module")
def site(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(api, tmp_path_factory.mktemp("existing"))


# ---- a cluster that can hold the platform ---------------------------------------------------------------------------

CONTEXT = "admin@test"


@dataclass(frozen=True)
class Used:
    """Runs, one after the other, and the namespaces that were there before the first that makes some, and at the end."""

    check: Play
    refused: Play
    before: set[str]
    first: Play
    second: Play
    after: set[str]


@pytest.fixture(scope="module")
def used(site: Site) -> Used:
    """Two hosts name the cluster: by a variable, and by what kubernetes.core reads of the environment. The second has a
    kubectl that is too old, so that the compiled one is used; in the check run that one would still have to be compiled."""
    site.write("good", site.admin)
    by_variable: dict[str, dict[str, Any]] = {"by-variable": dict(site.named("good"))}
    by_environment = {"kubernetes_provider": "auto", "path": site.search_path(site.folder / "old")}
    # Nothing is compiled, whatever this machine has room for.
    room: dict[str, Any] = {"preflight_build_gib": 0, "preflight_build_inodes": 0, "preflight_memory_build_gib": 0}
    cold = {"by-environment": {**by_environment, **room, "artifacts_cache_dir": f"{site.folder}/cache"}}
    environment = {"K8S_AUTH_KUBECONFIG": str(site.path("good")), "K8S_AUTH_CONTEXT": CONTEXT}
    with site.node():
        check = site.run(PLAYBOOK, by_variable | cold, "--check", **environment).ok()
        refused = site.run(PLAYBOOK, {**by_variable, "missing": site.named("missing")})
        before = made(site)
        first = site.run(PLAYBOOK, {**by_variable, "by-environment": by_environment}, **environment).ok()
        return Used(check, refused, before, first, site.run(PLAYBOOK, by_variable).ok(), made(site))


def test_a_check_run_says_what_would_be_done_and_does_nothing(site: Site, used: Used) -> None:
    would = "paddleflow.core.kubernetes : Would apply the namespace"
    assert used.check.changed_tasks() == ["paddleflow.core.artifacts : Compile kube", would, would]
    assert "A kubectl would be built; until then the cluster cannot be asked" in used.check.output
    assert used.before == set()
    assert not (site.folder / "cache").exists()


@pytest.mark.parametrize("host", ["by-variable", "by-environment"])
def test_a_named_cluster_is_used_by_the_facts_that_the_role_leaves(site: Site, used: Used, host: str) -> None:
    kubectl = ["kubectl"] if host == "by-variable" else [str(built("kube") / "kube"), "kubectl"]
    conf = str(site.path("good"))
    facts = printed(used.first, "Show the facts", f"ok: [{host}]")
    assert facts["client"] == {"kubectl": kubectl, "kubeconfig": conf, "context": CONTEXT}
    assert facts["argv"] == [*kubectl, "--kubeconfig", conf, "--context", CONTEXT]
    assert facts["images"] == []
    assert (facts["cluster"]["version"], facts["cluster"]["nodes"]) == (VERSION, ["existing"])
    assert f"existing-{host}" in used.after


def test_a_second_run_changes_nothing(used: Used) -> None:
    assert (used.first.recap["changed"], used.second.recap["changed"]) == (2, 0)


def test_one_host_that_is_refused_stops_the_others_before_they_change_anything(used: Used) -> None:
    assert used.refused.code != 0
    assert (used.refused.recap["failed"], used.refused.recap["changed"]) == (1, 0)
    assert used.before == set()


def test_nodes_that_the_images_would_not_run_on_are_told(site: Site, stranger: str) -> None:
    site.write("processor", site.admin)
    registry = {"images_registry": f"{stranger}/platform", "images_registry_tls_verify": False}
    given = {**site.named("processor"), **registry, "preflight_images": True}
    with site.node():
        refused = site.run(PLAYBOOK, {"processor": given})
        other = site.run(PLAYBOOK, {"processor": {**given, "images_push": False}})
    assert "has nodes of another processor (existing with riscv64), but the images are built" in refused.output
    assert refused.code != 0
    assert "another processor" not in other.output


# ---- every other cluster --------------------------------------------------------------------------------------------

# The host, which is also the name of its kubeconfig: what is found, and the remedy.
ASKED = "The API server {server} cannot be asked:"
CLERKS = "of-the-clerk"
REFUSED = {
    "missing": (
        "The kubeconfig {conf} does not exist",
        "set kubernetes_kubeconfig (or K8S_AUTH_KUBECONFIG) to the cluster's kubeconfig",
    ),
    "context": ("The kubeconfig {conf} has no context lba", "set kubernetes_context to one of admin@test"),
    "expired": (
        "The client certificate of user eve in {conf} expired on ",
        "renew it (kubeadm certs renew, or ask who gave it to you), or name another kubeconfig",
    ),
    "stopped": (f"{ASKED} nothing listens there (", "start the cluster, or correct the server's address"),
    "authority": (
        f"{ASKED} its certificate is by another authority than the kubeconfig's (",
        "fetch the cluster's kubeconfig again",
    ),
    "token": (f"{ASKED} it refuses the credentials (", "log in again, or fetch the cluster's kubeconfig again"),
    "hidden": (
        f"{ASKED} the proxy does not lead there (Forbidden)",
        "add its host to NO_PROXY, or correct proxy-url in the kubeconfig; the requests went through the proxy {proxy}",
    ),
    "tunnel": (
        f"{ASKED} the proxy does not lead there (proxyconnect tcp: ",
        "add its host to NO_PROXY, or correct proxy-url in the kubeconfig; the requests went through the proxy {proxy}",
    ),
    "nobody": (
        "The user nobody may not list nodes, storageclasses.storage.k8s.io, daemonsets.apps, ",
        "bind it to the ClusterRole cluster-admin, or grant just these",
    ),
    "clerk": (
        f"The user clerk may not create, patch, list, delete secrets in {CLERKS}, but ",
        "bind it to the ClusterRole cluster-admin, or grant just these",
    ),
    "clock": (
        "The clock of the API server {server} is ",
        "set the clock that is wrong, and let chrony or systemd-timesyncd keep it",
    ),
    "nodes": ("The cluster of {server} has no node", "add one, or make one Ready"),
    "classes": (
        "The PriorityClass system-node-critical has the value 2000001000, but volcano_priority_classes says 1",
        "give ours another name or the value 2000001000 in volcano_priority_classes, or remove that one",
    ),
    "volcano": (
        f"The cluster of {{server}} already has a Volcano 1.14.1 (Deployment {CLERKS}/volcano-scheduler)",
        "remove it, or set volcano_adopt to adopt (preview says first what that does)",
    ),
    "registry": (
        "The variable images_registry is empty, but nothing is put on the nodes of a cluster that is there already",
        "set it to a registry that this machine can push to and the nodes can pull from (host/prefix)",
    ),
    # Volcano and the images are made after the cluster; that they fit is looked at before it.
    "cache": ("The file system ", "free some there, or set artifacts_cache_dir to a directory on a larger one"),
    # The ambient KUBECONFIG would do; what is refused is the machine, by the preflight of another provider.
    "auto": (
        "The instance name 'a-very-long-instance' has 20 characters",
        "set kubernetes_instance to a shorter or plainer name",
    ),
}


class Stranger(http.server.BaseHTTPRequestHandler):
    """As a proxy it opens no tunnel; as an API server it tells its version, and its clock is ten minutes ahead."""

    def do_CONNECT(self) -> None:
        self.send_error(403)

    def do_GET(self) -> None:
        body = json.dumps({"gitVersion": VERSION}).encode()
        self.send_response_only(200)
        self.send_header("Date", format_datetime(datetime.now(UTC) + timedelta(minutes=10), usegmt=True))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def stranger() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def all_but_secrets() -> Iterator[Need]:
    for need in (*NEEDS, *GRANTING):
        if "secrets" in need.resources:
            yield replace(need, resources=("secrets",), verbs=("get",))
            need = replace(need, resources=tuple(name for name in need.resources if name != "secrets"))
        yield need


def write_kubeconfigs(site: Site, stranger: str) -> None:
    """One for each of REFUSED but `missing`."""
    for name in ("context", "nodes", "auto", "classes", "volcano", "registry", "cache"):
        site.write(name, site.admin)
    expired = site.config_of("eve", "--validity-period=1ns")
    user = expired["users"][0]["user"]
    (site.folder / "eve.crt").write_bytes(base64.b64decode(user.pop("client-certificate-data")))
    user["client-certificate"] = "eve.crt"  # found beside the kubeconfig
    site.write("expired", expired)
    site.change("stopped", server=f"https://127.0.0.1:{free_port()}")
    another = base64.b64encode((site.api.pki / "front-proxy-ca.crt").read_bytes()).decode()
    site.change("authority", certificate_authority_data=another)
    site.change("token", user={"token": SECRET})
    # An address for documentation: nothing is sent there, and loopback would never go through a proxy.
    site.change("hidden", server="https://198.51.100.1:6443")
    site.change("tunnel", proxy_url=f"http://ann:{SECRET}@127.0.0.1:{free_port()}")
    site.api.kubectl("create", "namespace", CLERKS)
    # The namespace of the demonstration need not be there for a permission in it.
    site.grant("clerk", all_but_secrets(), {"volcano": CLERKS, "demo": CLERKS})
    for name in ("nobody", "clerk"):
        site.write(name, site.config_of(name))
    site.change("clock", server=f"http://{stranger}")


@pytest.fixture(scope="module")
def refusals(site: Site, stranger: str) -> Play:
    """One play, in which each host comes as far as it can: `free` lets no host wait for, or end with, another. It says all
    that Ansible ever says, which no secret may be in."""
    write_kubeconfigs(site, stranger)
    hosts: dict[str, dict[str, Any]] = {name: dict(site.named(name)) for name in REFUSED}
    hosts["context"]["kubernetes_context"] = "lba"
    hosts["clerk"] |= {"volcano_namespace": CLERKS, "verify_demo_namespace": CLERKS}
    hosts["classes"]["volcano_priority_classes"] = {"system-node-critical": 1}
    hosts["registry"]["preflight_images"] = True
    hosts["cache"] |= {"preflight_images": True, "images_registry": "registry.example/platform", "images_push": False}
    hosts["cache"] |= {"artifacts_cache_dir": f"{site.folder}/cache", "preflight_build_gib": "9999999"}
    hosts["cache"]["preflight_control"] = True  # else the first host answers for the control node
    hosts["auto"] = {"kubernetes_provider": "auto", "kubernetes_instance": "a-very-long-instance"}
    # Every host that may look finds it, and says so beside what else is wrong.
    other = ("deployment", "volcano-scheduler", f"--namespace={CLERKS}")
    site.api.kubectl("create", *other, "--image=docker.io/volcanosh/vc-scheduler:v1.14.1")
    ambient = {"KUBECONFIG": str(site.path("auto")), "HTTPS_PROXY": f"http://ann:{SECRET}@{stranger}"}
    try:
        return site.run(PLAYBOOK, hosts, "-vvvv", ANSIBLE_STRATEGY="free", **ambient)
    finally:
        site.api.kubectl("delete", *other)


@pytest.mark.parametrize("host", REFUSED)
def test_a_cluster_that_cannot_be_used_is_refused_with_the_remedy(
    site: Site, stranger: str, refusals: Play, host: str
) -> None:
    report = printed(refusals, "Use the cluster", f"fatal: [{host}]: FAILED!")
    assert "; nothing was changed\n" in report
    path = site.path(host)
    cluster = json.loads(path.read_text())["clusters"][0]["cluster"] if path.exists() else {}
    proxy = cluster.get("proxy-url", f"http://{stranger}").replace(f"ann:{SECRET}@", "")
    values = {"conf": str(path), "server": cluster.get("server", ""), "proxy": proxy.replace("//", "//***@")}
    found, remedy = (text.format(**values) for text in REFUSED[host])
    errors = [line for line in report.splitlines() if line.startswith(f"  error: {found}")]
    assert len(errors) == 1, report
    assert errors[0].endswith(f": {remedy}.")


def test_nothing_was_changed_and_nothing_secret_was_shown(site: Site, refusals: Play) -> None:
    assert (refusals.recap["failed"], refusals.recap["changed"]) == (len(REFUSED), 0)
    assert made(site).isdisjoint(f"existing-{host}" for host in REFUSED)
    assert not (site.folder / "data").exists()
    assert SECRET not in refusals.output


def test_auto_leaves_an_ambient_kubeconfig_alone_and_says_so(site: Site, refusals: Play) -> None:
    assert "The provider is embedded because " in refusals.output
    assert f"The KUBECONFIG of the environment ({site.path('auto')}) is left alone" in refusals.output
