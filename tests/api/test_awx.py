# SPDX-License-Identifier: Apache-2.0
"""A project in AWX: an inventory source and a job template with a survey, whose only credential is AWX's bearer token for Kubernetes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from paddleflow_core.kube.client import Client

from tests.support import inventories
from tests.support.awx import Project
from tests.support.control_plane import ControlPlane
from tests.support.inventories import User

NAMESPACE = "awx"
SOURCE = "inventory/site.paddleflow.yml"
GUIDE = inventories.guide("yaml")
# What the guide gives to the inventory, and what the queues of this play need.
RULES = [
    {
        "apiGroups": ["scheduling.volcano.sh"],
        "resources": ["queues"],
        "verbs": ["get", "list", "create", "patch", "delete"],
    },
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "create"]},
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
    assert told == ["gpu-1 at 10.1.0.2 of a100", "gpu-2 at 10.1.0.3 of a100"]
    everything = first.everything()
    assert user.token not in everything
    assert own not in everything

    second = project.launch("declare.yml", inventory, survey)
    assert second.status == "successful", second.stdout
    assert second.stats is not None
    assert second.stats["changed"] == {}
