# SPDX-License-Identifier: Apache-2.0
"""A project in AWX: an inventory source and a job template with a survey, whose only credential is AWX's bearer token for Kubernetes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from paddleflow_core.kube.client import Client

from tests.support import checkout_play, inventories, vault
from tests.support.awx import Project
from tests.support.control_plane import ControlPlane
from tests.support.inventories import User

NAMESPACE = "awx"
SOURCE = "inventory/site.paddleflow.yml"
GUIDE = inventories.guide("yaml")
# What the guide gives to the inventory, and what the objects of these plays need.
RULES = [
    {
        "apiGroups": ["scheduling.volcano.sh"],
        "resources": ["queues"],
        "verbs": ["get", "list", "create", "patch", "delete"],
    },
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "create"]},
    {
        "apiGroups": ["", "paddleflow.org"],
        "resources": ["secrets", "filesystems"],
        "verbs": ["get", "list", "create", "patch", "delete"],
    },
]
PLAYBOOK = """\
- name: Declare what the survey asks for
  hosts: localhost
  gather_facts: false
  tasks:
    - name: Declare the queues by the credential of the job
      paddleflow.core.queue:
        name: "{{ item }}"
        namespace: "{{ item }}"
        max: {cpu: "{{ cores }}", memory: "{{ memory }}"}
      loop: "{{ teams }}"

    - name: Declare one by a token of the survey
      paddleflow.core.queue:
        api_key: "{{ site_token }}"
        name: awx-own
        max: {cpu: "{{ cores }}"}

    - name: Say what came of it
      ansible.builtin.set_stats:
        data:
          left: "{{ lookup('paddleflow.core.queue', 'awx-own', api_key=site_token) | paddleflow.core.queue_headroom }}"

- name: Reach the nodes of a queue
  hosts: queue_team_a
  gather_facts: false
  tasks:
    - name: Tell where each one is
      ansible.builtin.debug:
        msg: "{{ inventory_hostname }} at {{ ansible_host }} of {{ paddleflow_node_group }}"
"""

# Every way in which a secret is given, into a diff, a result, a refusal by us, by Vault and by the API server.
SECRETIVE = """\
- name: Give secrets in every way
  hosts: localhost
  gather_facts: false
  diff: true
  module_defaults:
    paddleflow.core.filesystem: &shared
      namespace: awx
      url: s3://corpus/2026
      return_content: true
      properties: {endpoint: "https://minio.example.org"}
      vault_connection: {url: "{{ vault }}", token: "{{ vault_token }}"}
  tasks:
    - name: As a value, by a kubeconfig with a token in it
      paddleflow.core.filesystem:
        name: by-value
        kubeconfig: "{{ kubeconfig }}"
        properties: {endpoint: "https://minio.example.org", access_key: AKEXAMPLE, secret_key: "{{ value }}"}

    - name: As values of several
      paddleflow.core.filesystem:
        url: ~
        properties: ~
        objects:
          - name: by-password
            url: sftp://files.example.org:22/data
            properties: {user: reader, insecure_skip_verify: true, password: "{{ value }}", private_key: "{{ value }}-pem"}

    - name: In a manifest
      paddleflow.core.apply:
        return_content: true
        definition:
          apiVersion: v1
          kind: Secret
          metadata: {name: keys, namespace: awx}
          stringData: {accessKey: "{{ value }}-id", secretKey: "{{ value }}-key"}

    - name: By reference
      paddleflow.core.filesystem:
        name: by-reference
        secret_ref: {name: keys}

    - name: From Vault, by a token
      paddleflow.core.filesystem:
        name: from-vault
        vault: &keys {path: corpus, keys: {access_key: id, secret_key: key}}

    - name: From Vault, by a role
      paddleflow.core.filesystem:
        name: by-a-role
        vault: *keys
        vault_connection: &role {url: "{{ vault }}", auth_method: approle, role_id: "{{ role_id }}", secret_id: "{{ secret_id }}"}

    - name: Refused by Vault
      paddleflow.core.filesystem:
        name: refused
        vault: *keys
        vault_connection: {<<: *role, secret_id: "{{ value }}-wrong"}
      ignore_errors: true

    - name: Refused for what Vault holds
      paddleflow.core.filesystem:
        name: refused
        url: hdfs://namenode.example.org:8020/logs
        properties: {principal: a, realm: b, kdc: c, name_node_principal: d}
        vault: {path: corpus, keys: {key_tab_data: key}}
      ignore_errors: true

    - name: Refused for a value
      paddleflow.core.filesystem:
        name: refused
        url: hdfs://namenode.example.org:8020/logs
        properties: {principal: a, realm: b, kdc: c, name_node_principal: d, key_tab_data: "{{ value }}!"}
      ignore_errors: true

    - name: Refused by the API server
      paddleflow.core.apply:
        definition:
          apiVersion: v1
          kind: Secret
          metadata: {name: refused, namespace: awx}
          type: kubernetes.io/tls
          stringData: {tls.key: "{{ value }}"}
      ignore_errors: true

    - name: Not let in
      paddleflow.core.filesystem:
        name: by-value
        api_key: "{{ value }}"
        secret_ref: {name: keys}
      ignore_errors: true
"""


@pytest.fixture(scope="module")
def user(api: ControlPlane, client: Client, tmp_path_factory: pytest.TempPathFactory) -> User:
    inventories.served(api)
    for one in inventories.of_the_guide():
        inventories.put(client, one)
    role = yaml.safe_load(GUIDE["roles/inventory.yml"])
    role["rules"] += RULES
    return inventories.user(api, "awx", yaml.safe_dump(role), tmp_path_factory.mktemp("ca") / "ca.crt")


@pytest.fixture
def project(user: User, tmp_path: Path) -> Project:
    made = Project(tmp_path, user)
    made.write(SOURCE, GUIDE[SOURCE])
    made.write("declare.yml", PLAYBOOK)
    return made


def test_an_inventory_source_is_read(project: Project, user: User) -> None:
    done, data = project.update_inventory(SOURCE, verbosity=5)
    assert done.status == "successful", done.stdout
    assert data is not None
    assert sorted(data["_meta"]["hostvars"]) == ["gpu-1", "gpu-2", "main"]
    # AWX keeps variables as they stand there, so each has to be plain: an address must be text.
    assert data["_meta"]["hostvars"]["gpu-1"]["ansible_host"] == "10.1.0.2"
    assert "__ansible_unsafe" not in json.dumps(data)
    assert data["queue_team_a"]["children"] == ["node_group_a100"]
    assert user.token not in done.everything()
    again, same = project.update_inventory(SOURCE)
    assert same == data
    assert "WARNING" not in again.stdout


def test_an_inventory_source_that_cannot_be_read_fails_and_says_why(
    api: ControlPlane, user: User, tmp_path: Path
) -> None:
    wrong = User(user.token, {**user.environment, "K8S_AUTH_API_KEY": "planted-and-wrong"})
    project = Project(tmp_path, wrong)
    project.write(SOURCE, GUIDE[SOURCE])
    done, data = project.update_inventory(SOURCE, verbosity=5)
    assert done.status == "failed"
    assert data is None
    assert f"https://127.0.0.1:{api.port}" in done.stdout
    assert "does not accept the credentials" in " ".join(done.stdout.split())
    assert "planted-and-wrong" not in done.everything()


def test_a_job_template_declares_what_its_survey_says_and_shows_no_secret(
    api: ControlPlane, client: Client, project: Project, user: User
) -> None:
    own = api.kubectl("create", "token", "awx", "--namespace=default", "--duration=1h").strip()
    assert own != user.token
    # As the survey has them: several of several, a number, a text, a password.
    survey: dict[str, Any] = {"teams": ["awx-a", "awx-b"], "cores": 8, "memory": "32Gi", "site_token": own}
    _done, inventory = project.update_inventory(SOURCE)
    assert inventory is not None
    first = project.launch("declare.yml", inventory, survey, verbosity=4)
    assert first.status == "successful", first.stdout
    assert [result["changed"] for result in first.results() if "results" in result or "objects" in result] == [
        True,
        True,
    ]
    kind = client.kind("scheduling.volcano.sh/v1beta1", "Queue")
    for name in ("awx-a", "awx-b"):
        assert client.get(kind, name)["spec"]["capability"] == {"cpu": "8", "memory": "32Gi"}
    stats = [one["event_data"].get("artifact_data") for one in first.events if one["event"] == "playbook_on_stats"]
    assert stats[0]["left"]["cpu"]["left"] == "8"
    told = [result["msg"] for result in first.results() if " at " in result.get("msg", "")]
    assert sorted(told) == ["gpu-1 at 10.1.0.2 of a100", "gpu-2 at 10.1.0.3 of a100"]
    everything = first.everything()
    assert user.token not in everything
    assert own not in everything

    second = project.launch("declare.yml", inventory, survey)
    assert second.status == "successful", second.stdout
    assert second.stats is not None
    assert second.stats["changed"] == {}


def shown_in(text: str, planted: Iterable[str]) -> list[str]:
    """Also as a Secret holds them."""
    found = [secret for secret in planted if secret in text]
    return found + [secret for secret in planted if base64.b64encode(secret.encode()).decode().rstrip("=")[:-1] in text]


def test_no_secret_is_shown_or_kept_however_it_is_given(
    api: ControlPlane, project: Project, user: User, tmp_path_factory: pytest.TempPathFactory
) -> None:
    config = yaml.safe_load(api.kubectl("config", "view", "--raw"))
    config["users"] = [{"name": entry["name"], "user": {"token": user.token}} for entry in config["users"]]
    with vault.stand_in() as standing:
        standing.engine("secret", 2)
        role, secret = standing.approle("reader", "secret/data/corpus")
        given = {
            "kubeconfig": config, "vault": standing.url, "vault_token": standing.token,
            "role_id": role, "secret_id": secret, "value": "planted-value",
        }  # fmt: skip
        planted = ["planted", user.token, *(entry["user"].get("token", user.token) for entry in config["users"])]
        standing.put("secret", "corpus", {"id": "planted-id", "key": "planted-key"})
        project.write("secretive.yml", SECRETIVE)
        done = project.launch("secretive.yml", {}, given, verbosity=4)
        assert done.status == "successful", done.stdout
        assert done.stats is not None
        assert (done.stats["ok"], done.stats["ignored"]) == ({"localhost": 11}, {"localhost": 5})
        assert shown_in(done.everything(), planted) == []

        # Other values, by ansible-playbook itself: what has changed is shown too.
        standing.put("secret", "corpus", {"id": "planted-id-2", "key": "planted-key-2"})
        folder = tmp_path_factory.mktemp("plain")
        (folder / "given.json").write_text(json.dumps({**given, "value": "planted-value-2"}))
        plain = checkout_play.run(
            folder, SECRETIVE, "--inventory=localhost,", "--connection=local", "-vvvv", "--extra-vars=@given.json",
            **user.environment,
        )  # fmt: skip
    assert plain.returncode == 0, plain.stdout
    assert "ok=11   changed=5" in plain.stdout, plain.stdout
    assert "hidden, changed" in plain.stdout
    assert shown_in(plain.stdout + plain.stderr, planted) == []

    # The secrets are where they belong, and only there.
    kept = api.kubectl("get", "secrets", "--namespace=awx", "--output=json")
    assert len(shown_in(kept, ["planted-value-2", "planted-id-2", "planted-key-2"])) == 3
    kinds = [
        name for name in api.kubectl("api-resources", "--verbs=list", "--output=name").split() if name != "secrets"
    ]
    objects = api.kubectl("get", ",".join(kinds), "--all-namespaces", "--output=json", "--show-managed-fields")
    assert '"by-a-role"' in objects
    logs = "\n".join(log.read_text(encoding="utf-8", errors="replace") for log in api.folder.glob("*.log"))
    assert shown_in(objects + logs, planted) == []
