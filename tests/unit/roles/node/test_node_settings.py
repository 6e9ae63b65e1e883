# SPDX-License-Identifier: Apache-2.0
"""What the variables of the embedded provider become in the configuration of its components."""

from __future__ import annotations

import json
import typing as t

import pytest
import yaml

from tests.support import checkout_play
from tools import tree

pytestmark = checkout_play.NEEDS_ANSIBLE

PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: paddleflow.core.kubernetes
        tasks_from: embedded/client
        public: true
    - ansible.builtin.set_fact:
        service_mgr: runit
        cacheable: true
    - ansible.builtin.copy:
        content: "{{ {'node': kubernetes_node_config, 'client': kubernetes_client, 'templates': rendered} | to_json }}"
        dest: "{{ playbook_dir }}/{{ inventory_hostname }}.json"
        mode: "0600"
      vars:
        names: [kubeadm.yaml, system.yaml, kubelet.yaml, kube-proxy.yaml, Corefile]
        rendered: "{{ dict(names | zip(query('ansible.builtin.template', *(names | map('regex_replace', '^(.*)$', templates ~ '/\\\\1.j2'))))) }}"
"""
DEFAULTS: dict[str, t.Any] = {
    "ansible_connection": "local",
    "kubernetes_binary": "/lib/kube-1",
    # May not lower the score of the out-of-memory killer.
    "kubernetes_capabilities": {"content": "Q2FwRWZmOgkwMDAwMDAwMDAwMDAwMDAwCg=="},
    "templates": str(tree.ROOT / "roles/kubernetes/templates"),
}
CHANGED: dict[str, t.Any] = {
    "kubernetes_api_port": 7443,
    "kubernetes_audit_policy": "/etc/audit.yaml",
    "kubernetes_certificate_renew_days": "90",  # as -e gives it
    "kubernetes_service_cidr": "10.203.7.16/28",
}


class Rendered(t.NamedTuple):
    node: dict[str, t.Any]
    templates: dict[str, str]

    def service(self, name: str) -> dict[str, t.Any]:
        (found,) = [service for service in self.node["services"] if service["name"] == name]
        return t.cast("dict[str, t.Any]", found)

    def documents(self, name: str) -> list[dict[str, t.Any]]:
        return list(yaml.safe_load_all(self.templates[name]))


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rendered]:
    """By host: `default`, and `changed`, whose variables are others."""
    folder = tmp_path_factory.mktemp("settings")
    hosts = {"default": DEFAULTS, "changed": {**DEFAULTS, **CHANGED}}
    (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    done = checkout_play.run(folder, PLAY, "-i", folder / "hosts.json")
    assert done.returncode == 0, done.stdout
    found = {name: json.loads((folder / f"{name}.json").read_text()) for name in hosts}
    return {name: Rendered(each["node"], each["templates"]) for name, each in found.items()}


@pytest.mark.parametrize(("host", "port"), [("default", 6443), ("changed", 7443)])
def test_everybody_is_told_the_same_port_of_the_api_server(rendered: dict[str, Rendered], host: str, port: int) -> None:
    one = rendered[host]
    assert f"--secure-port={port}" in one.service("apiserver")["argv"]
    assert one.service("apiserver")["ready"]["target"] == f"https://10.201.0.2:{port}/readyz"
    start, cluster = one.documents("kubeadm.yaml")
    assert start["localAPIEndpoint"] == {"advertiseAddress": "10.201.0.2", "bindPort": port}
    assert cluster["controlPlaneEndpoint"] == f"10.201.0.2:{port}"  # what every kubeconfig names
    (https,) = [
        item["ports"]
        for item in one.documents("system.yaml")
        if item["kind"] == "EndpointSlice" and item["metadata"]["name"] == "kubernetes"
    ]
    assert https == [{"name": "https", "port": port, "protocol": "TCP"}]
    everything = json.dumps([one.node, one.templates])
    assert ("6443" in everything) == (port == 6443)


def test_without_a_policy_there_is_no_audit_log(rendered: dict[str, Rendered]) -> None:
    assert "audit" not in json.dumps(rendered["default"].node)


def test_a_policy_is_read_and_what_it_says_is_logged_with_bounds(rendered: dict[str, Rendered]) -> None:
    apiserver = rendered["changed"].service("apiserver")
    flags = dict(word.removeprefix("--audit-").split("=") for word in apiserver["argv"] if word.startswith("--audit-"))
    assert flags == {
        "policy-file": "/etc/audit.yaml",
        "log-path": "/var/lib/paddleflow/log/audit.log",
        "log-maxsize": "100",
        "log-maxbackup": "5",
    }
    assert "/etc/audit.yaml" in apiserver["watch"], "a changed policy would be read by the next start only"


@pytest.mark.parametrize(("host", "days"), [("default", 30), ("changed", 90)])
def test_certificates_are_renewed_so_many_days_before_their_end(
    rendered: dict[str, Rendered], host: str, days: int
) -> None:
    assert rendered[host].node["pki"]["renew_days"] == days


@pytest.mark.parametrize(("host", "address"), [("default", "10.203.0.10"), ("changed", "10.203.7.26")])
def test_the_dns_lies_in_the_range_of_the_services(rendered: dict[str, Rendered], host: str, address: str) -> None:
    (service,) = [item for item in rendered[host].documents("system.yaml") if item["kind"] == "Service"]
    assert service["spec"]["clusterIP"] == address
    assert rendered[host].documents("kubelet.yaml")[0]["clusterDNS"] == [address]
