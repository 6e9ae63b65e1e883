# SPDX-License-Identifier: Apache-2.0
"""Volcano's real controllers, as their own service account with the permissions of the role, under the policies of grants:
what was let in comes to its groups and pods, in a namespace that no queue is granted to."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from paddleflow_core.kube.client import Object
from paddleflow_core.model import policies

from tests.support import granted, jobs, volcano
from tests.support.control_plane import ControlPlane
from tests.support.engine import Engine, engine_in
from tests.support.granted import VOLCANO, Granted, pod
from tests.support.kube_api import Session

pytestmark = pytest.mark.own_api

NAMESPACE = "grant-engine"
SPACE = "room"


@pytest.fixture(scope="module")
def world(api: ControlPlane, session: Session) -> Granted:
    made = granted.install(api, session)
    for name in ("namespace", "rbac"):
        made.apply(*volcano.rendered(name))
    made.settle()
    return made


@pytest.fixture(scope="module")
def engine(world: Granted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("engine")
    config = world.session.admin
    (user,) = config["users"]
    them = {**user["user"], "as": VOLCANO, "as-groups": ["system:authenticated", *granted.account_groups(VOLCANO)]}
    path = folder / "volcano.conf"
    path.write_text(json.dumps({**config, "users": [{**user, "user": them}]}), encoding="utf-8")
    with engine_in(world.api, SPACE, folder, "job-controller", "pg-controller", kubeconfig=path) as running:
        yield running


def test_the_job_of_an_administrator_runs_without_a_grant(engine: Engine) -> None:
    single = {"schedulingPolicy": jobs.POLICY, "image": "x", "command": "run", "flavour": {"cpu": 1}}
    engine.create("ours", single)
    engine.run("ours", 1)
    # Its pods are made anew after an eviction, too.
    engine.phase("ours-worker-0", "Failed", 143)
    engine.retried("ours", 1)
    engine.admit("ours")
    engine.has("ours", 1)


def test_the_pod_of_a_person_gets_its_group(world: Granted, engine: Engine) -> None:
    world.as_user("alice").create(pod("plain", SPACE, {policies.QUEUE_KEY: "team"}, schedulerName="volcano"))
    groups = world.admin.kind("scheduling.volcano.sh/v1beta1", "PodGroup")

    def mine() -> list[Object]:
        return [one for one in world.admin.list(groups, SPACE).items if one["spec"].get("queue") == "team"]

    (group,) = engine.wait(mine)
    assert group["metadata"]["ownerReferences"][0]["name"] == "plain"
    pods = world.admin.kind("v1", "Pod")

    def joined() -> bool:
        annotations = world.admin.get(pods, "plain", SPACE)["metadata"]["annotations"]
        return bool(annotations.get(policies.GROUP_KEYS[0]) == group["metadata"]["name"])

    engine.wait(joined)
