# SPDX-License-Identifier: Apache-2.0
"""What `apply` says when a server does what a real one does only on its worst days."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.client import Client
from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.conditions import (
    Verdict,
)
from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.connection import Connection, Credentials
from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.transport import Transport
from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.wanted import Run
from ansible_collections.paddleflow.core.plugins.module_utils._core.plan import prune
from ansible_collections.paddleflow.core.plugins.module_utils._glue import apply
from ansible_collections.paddleflow.core.plugins.plugin_utils.here import Here, Left

from tests.support.kube_stub import Handler, Stream, Stub, answer, kube_stub, ok, refuse

FORBIDDEN = refuse(
    403, "Forbidden", 'configmaps is forbidden: User "ann" cannot watch resource "configmaps" in API group ""'
)
NAMESPACED = "/api/v1/namespaces/"


class Cluster:
    """What is in it by path. Requests whose path and method are among `wrong` get that instead."""

    def __init__(self, stub: Stub) -> None:
        self.stub, self.objects, self.version = stub, dict[str, Any](), 0
        self.gone: list[dict[str, Any]] = []
        self.wrong: dict[tuple[str, str], Any] = {}
        stub.always = self.respond

    def respond(self, handler: Handler) -> None:
        seen = self.stub.seen[-1]
        step = self.wrong.get((seen.method, seen.path)) or getattr(self, seen.method.lower())(seen)
        step(handler)

    def get(self, seen: Any) -> Any:
        if seen.path in self.objects:
            return ok(self.objects[seen.path])
        plural = seen.path.rpartition("/")[2]
        if seen.query.get("watch"):
            events = [{"type": "DELETED", "object": one} for one in self.gone]
            events += [{"type": "MODIFIED", "object": one} for path, one in self.objects.items() if plural in path]
            return Stream(*events).until_left()
        if plural in ("configmaps", "namespaces"):
            below = [one for path, one in self.objects.items() if path.startswith(f"{seen.path}/")]
            wanted = dict(part.split("=") for part in seen.query.get("labelSelector", "").split(",") if part)
            items = [one for one in below if wanted.items() <= one["metadata"].get("labels", {}).items()]
            return ok({"metadata": {"resourceVersion": str(self.version)}, "items": items})
        return missing(seen.path)

    def patch(self, seen: Any) -> Any:
        parts = seen.path.split("/")
        if len(parts) > 5 and "/".join(parts[:5]) not in self.objects:
            return missing("/".join(parts[:5]))
        self.version += 1
        within = {"namespace": parts[4]} if len(parts) > 5 else {}
        entry = {"manager": "paddleflow", "operation": "Apply", "fieldsV1": {"f:data": {}}}
        metadata = {
            **seen.body["metadata"],
            **within,
            "uid": seen.path,
            "resourceVersion": str(self.version),
            "managedFields": [entry],
        }
        if not seen.query.get("dryRun"):
            self.objects[seen.path] = {**seen.body, "metadata": metadata}
        return ok({**seen.body, "metadata": metadata})

    def delete(self, seen: Any) -> Any:
        if seen.body.get("dryRun") and seen.path in self.objects:
            return ok({})
        self.version += 1
        found = self.objects.pop(seen.path, None)
        if found is None:
            return missing(seen.path)
        self.gone.append({**found, "metadata": {**found["metadata"], "resourceVersion": str(self.version)}})
        return ok({})

    def configs(self) -> set[str]:
        names = {path.rpartition("/")[2] for path in self.objects if "/configmaps/" in path}
        return {name for name in names if not name.startswith("paddleflow-set-")}


def missing(path: str) -> Any:
    *_rest, plural, name = path.split("/")
    return answer(404, {"code": 404, "reason": "NotFound", "details": {"name": name, "kind": plural}})


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with kube_stub() as stub:
        found = Cluster(stub)
        for name in ("team", "other"):
            found.objects[NAMESPACED + name] = namespace(name)
        yield found


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def config(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {"a": "b"}}


def carried(cluster: Cluster, check: bool = False, **options: Any) -> dict[str, Any]:
    given = {"host": cluster.stub.url, "api_key": "a-token", "namespace": "team", "wait_timeout": 5, **options}
    with pytest.raises(Left) as left:
        apply.carry(Here(apply.SPEC, name="apply", given=given, environment={}, check=check, diff=False))
    return left.value.result


def actions(result: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["action"] for one in result["objects"]}


def test_nothing_is_pruned_when_something_could_not_be_written(cluster: Cluster) -> None:
    given: dict[str, Any] = {"set": "s", "prune": True}
    carried(cluster, **given, definition=[config("web")])
    cluster.wrong["PATCH", f"{NAMESPACED}team/configmaps/web2"] = refuse(422, "Invalid")
    renamed = carried(cluster, **given, definition=[config("web2")])
    assert actions(renamed) == {"web2": "failed", "web": "kept"}
    assert "1 of 2 objects failed, 0 were changed, 0 needed nothing, 1 were kept" in renamed["msg"]
    assert cluster.configs() == {"web"}
    cluster.wrong.clear()
    assert actions(carried(cluster, **given, definition=[config("web2")])) == {"web2": "created", "web": "deleted"}


def test_check_mode_says_that_something_may_not_be_deleted_and_deletes_nothing(cluster: Cluster) -> None:
    given: dict[str, Any] = {"set": "s", "prune": True}
    carried(cluster, **given, definition=[config("web"), config("db")])
    cluster.wrong["DELETE", f"{NAMESPACED}team/configmaps/web"] = refuse(
        403, "Forbidden", 'configmaps "web" is forbidden: User "ann" cannot delete resource "configmaps"'
    )
    pruned, gone = (
        carried(cluster, check=True, **options)
        for options in ({**given, "definition": []}, {"definition": [config("web"), config("db")], "state": "absent"})
    )
    assert actions(pruned) == actions(gone) == {"web": "failed", "db": "deleted"}
    assert "web" in pruned["msg"]
    assert "ann may not delete configmaps" in pruned["msg"]
    assert cluster.configs() == {"web", "db"}
    asked = [seen.body for seen in cluster.stub.seen if seen.method == "DELETE"]
    assert [body["dryRun"] for body in asked] == [["All"]] * 4


def frozen(cluster: Cluster) -> str:
    """The path of a ConfigMap a, which is there and may neither be changed nor be made a second time."""
    path = f"{NAMESPACED}team/configmaps/a"
    carried(cluster, definition=config("a"))
    cause = {"reason": "FieldValueInvalid", "field": "data", "message": "field is immutable"}
    status = {"code": 422, "reason": "Invalid", "details": {"causes": [cause]}}
    cluster.wrong["PATCH", path] = answer(422, status)
    cluster.wrong["POST", path.rpartition("/")[0]] = refuse(409, "AlreadyExists")
    return path


def test_check_mode_asks_whether_what_is_made_anew_may_be_deleted(cluster: Cluster) -> None:
    path = frozen(cluster)
    given: dict[str, Any] = {"definition": {**config("a"), "data": {"a": "c"}}, "recreate": True}
    assert actions(carried(cluster, check=True, **given)) == {"a": "recreated"}
    cluster.wrong["DELETE", path] = refuse(403, "Forbidden")
    assert actions(carried(cluster, check=True, **given)) == {"a": "failed"}
    assert cluster.configs() == {"a"}


QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"


@pytest.mark.parametrize(("also", "action"), [(["leaf"], "deleted"), ([], "failed")])
def test_what_goes_too_is_not_in_the_way_of_a_queue_in_check_mode(
    cluster: Cluster, also: list[str], action: str
) -> None:
    queues = {
        name: {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name, "uid": name}}
        for name in ("org", "leaf")
    }
    cluster.objects.update({f"{QUEUES}/{name}": one for name, one in queues.items()})
    said = "queue org can not be deleted because it has 1 child queues: leaf"
    webhook = f'admission webhook "validatequeue.volcano.sh" denied the request: {said}'
    cluster.wrong["DELETE", f"{QUEUES}/org"] = answer(400, {"code": 400, "message": webhook})
    result = carried(cluster, check=True, state="absent", definition=[queues[name] for name in ("org", *also)])
    assert actions(result)["org"] == action
    assert (said in result.get("msg", "")) is (action == "failed")


def test_sets_of_one_name_in_two_namespaces_are_two(cluster: Cluster) -> None:
    given: dict[str, Any] = {"set": "s", "prune": True}
    carried(cluster, **given, definition=[namespace("one")])
    second = carried(cluster, **{**given, "namespace": "other"}, definition=[namespace("two")])
    assert actions(second) == {"two": "created"}
    assert cluster.objects[f"{NAMESPACED}two"]["metadata"]["labels"] == {prune.SET: "s", prune.PLACE: "other"}
    assert actions(carried(cluster, **given, definition=[])) == {"one": "deleted"}
    assert f"{NAMESPACED}two" in cluster.objects


def test_a_set_may_declare_the_namespace_that_remembers_it(cluster: Cluster) -> None:
    given: dict[str, Any] = {"set": "s", "namespace": "new", "definition": [config("a"), namespace("new")]}
    assert actions(carried(cluster, check=True, **given)) == {"a": "created", "new": "created"}
    result = carried(cluster, **given)
    assert [(one["name"], one["action"]) for one in result["objects"]] == [("a", "created"), ("new", "created")]
    assert f"{NAMESPACED}new/configmaps/paddleflow-set-s" in cluster.objects


def test_what_was_written_is_told_when_the_set_cannot_be_remembered(cluster: Cluster) -> None:
    record = f"{NAMESPACED}new/configmaps/paddleflow-set-s"
    cluster.wrong["PATCH", record] = refuse(403, "Forbidden")
    result = carried(cluster, set="s", namespace="new", definition=[config("a"), namespace("new")])
    assert (result["failed"], result["changed"]) == (True, True)
    assert actions(result) == {"a": "failed", "new": "created"}
    assert cluster.configs() == set()


def test_before_anything_is_written_there_is_nothing_to_tell(cluster: Cluster) -> None:
    cluster.wrong["PATCH", f"{NAMESPACED}team/configmaps/paddleflow-set-s"] = refuse(403, "Forbidden")
    result = carried(cluster, set="s", definition=[config("a")])
    assert result["failed"]
    assert "changed" not in result
    assert "objects" not in result


def test_what_was_taken_away_is_told_when_that_cannot_be_remembered(cluster: Cluster) -> None:
    given: dict[str, Any] = {"set": "s", "prune": True}
    carried(cluster, **given, definition=[config("a"), namespace("one")])
    cluster.wrong["PATCH", f"{NAMESPACED}team/configmaps/paddleflow-set-s"] = refuse(403, "Forbidden")
    result = carried(cluster, **given, definition=[config("a")])
    assert (result["failed"], result["changed"]) == (True, True)
    assert actions(result) == {"a": "unchanged", "one": "deleted", "paddleflow-set-s": "failed"}


def test_what_was_written_is_told_when_it_cannot_be_waited_for(cluster: Cluster) -> None:
    cluster.wrong["GET", f"{NAMESPACED}team/configmaps"] = FORBIDDEN
    result = carried(cluster, definition=[config("a"), config("b")], wait=True, wait_for={"condition": "Ready"})
    assert (result["failed"], result["changed"]) == (True, True)
    assert actions(result) == {"a": "created", "b": "created"}
    assert "2 of 2 objects failed, 2 were changed, 0 needed nothing:\n" in result["msg"]
    assert "ann may not watch configmaps" in result["msg"]


def test_each_object_that_is_not_ready_has_a_sentence_of_its_own_and_only_those(cluster: Cluster) -> None:
    definition = [config("a"), namespace("a"), config("b")]
    waiting: dict[str, Any] = {
        "wait": True,
        "wait_for": {"path": "metadata.uid", "value": f"{NAMESPACED}a"},
        "wait_timeout": 1,
    }
    result = carried(cluster, definition=definition, **waiting)
    assert [bool(one.get("error")) for one in result["objects"]] == [True, False, True]
    for one, other in ((0, 2), (2, 0)):
        text = result["objects"][one]["error"]
        assert f"team/{definition[one]['metadata']['name']} was not ready" in text
        assert f"team/{definition[other]['metadata']['name']}" not in text


def test_an_unchanged_set_is_listed_once(cluster: Cluster) -> None:
    given: dict[str, Any] = {"set": "s", "prune": True, "definition": [config(name) for name in "abcdef"]}
    carried(cluster, **given)
    seen = len(cluster.stub.seen)
    carried(cluster, **given)
    asked = [one.path.rpartition("/")[2] for one in cluster.stub.seen[seen:] if one.method == "GET"]
    assert asked == ["paddleflow-set-s", "configmaps"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"set": "a,b!=c", "prune": True}, "set is 'a,b!=c', but must be a label's value: at most 63 letters"),
        ({"set": "x" * 64}, "but must be a label's value"),
        ({"wait_for": {"path": "a..b"}}, "wait_for: The path 'a..b' cannot be read from '..b' on"),
        ({"wait_for": {"condition": "Ready", "path": "a"}}, "either condition, or path and value"),
        ({"wait_for": {"condition": "Ready", "value": "x"}}, "wait_for has condition and value"),
        ({"wait_for": {"condition": "Ready"}, "wait": False}, "wait_for is given without anything to wait for"),
        ({"wait_for": {"condition": "Ready"}, "state": "absent"}, "wait_for is given without anything to wait for"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_written(
    cluster: Cluster, options: dict[str, Any], said: str
) -> None:
    result = carried(cluster, **{"wait": True, "definition": config("a"), **options})
    assert said in result["msg"]
    assert cluster.stub.seen == []


def test_a_path_without_value_waits_until_something_stands_there(cluster: Cluster) -> None:
    given: dict[str, Any] = {"definition": config("a"), "wait": True, "wait_timeout": 1}
    assert "failed" not in carried(cluster, **given, wait_for={"path": "metadata.uid"})
    assert "not yet so: its status.x is set" in carried(cluster, **given, wait_for={"path": "status.x"})["msg"]


@pytest.mark.parametrize(
    ("api_version", "kind", "status", "state"),
    [
        ("batch/v1", "Job", {"conditions": [{"type": "Complete", "status": "True"}]}, "ready"),
        ("batch/v1", "Job", {"conditions": [{"type": "Failed", "status": "True", "reason": "Backoff"}]}, "failed"),
        ("batch/v1", "Job", {"conditions": [{"type": "Failed", "status": "False"}]}, "waiting"),
        ("v1", "Pod", {"phase": "Failed"}, "failed"),
        ("v1", "Pod", {"conditions": [{"type": "Ready", "status": "True"}]}, "ready"),
        ("batch.volcano.sh/v1alpha1", "Job", {}, None),
        ("example.org/v1", "Deployment", {}, None),
        ("v1", "Pod", {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False"}]}, "ready"),
        ("v1", "PersistentVolumeClaim", {"phase": "Pending"}, "waiting"),
        ("v1", "PersistentVolumeClaim", {"phase": "Bound"}, "ready"),
        ("v1", "PersistentVolumeClaim", {"phase": "Lost"}, "failed"),
        ("apps/v1", "Deployment", {}, "waiting"),
        ("apps/v1", "StatefulSet", {}, "waiting"),
        ("apps/v1", "DaemonSet", {"desiredNumberScheduled": 1}, "waiting"),
        ("apps/v1", "ReplicaSet", {}, None),
    ],
)
def test_usual_kinds_are_known_by_group_and_kind(
    cluster: Cluster, api_version: str, kind: str, status: Any, state: str | None
) -> None:
    live = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "status": status}
    server = Connection(server=cluster.stub.url, source="the stub", credentials=Credentials(token="t0ken"))
    check = apply._usual(Run(Client(Transport(server)), math.inf), live, {})
    verdict = check(live) if check else Verdict("waiting")
    assert (verdict.state if check else None) == state
    assert "Backoff" in verdict.why if status.get("conditions", [{}])[0].get("reason") else True


CLAIMS, CLASSES = f"{NAMESPACED}team/persistentvolumeclaims", "/apis/storage.k8s.io/v1/storageclasses"


@pytest.mark.parametrize(
    ("binding", "waited"),
    [
        (ok({"volumeBindingMode": "WaitForFirstConsumer"}), False),
        (ok({"volumeBindingMode": "Immediate"}), True),
        (missing(f"{CLASSES}/local"), True),
        (FORBIDDEN, True),
    ],
    ids=["with its first pod", "at once", "class is not there", "class may not be read"],
)
def test_a_claim_that_is_bound_with_its_first_pod_is_not_waited_for(
    cluster: Cluster, binding: Any, waited: bool
) -> None:
    cluster.wrong["GET", f"{CLASSES}/local"] = binding
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {"storageClassName": "local"},
        "status": {"phase": "Pending"},
    }
    result = carried(cluster, definition=claim, wait=True, wait_timeout=1)
    assert actions(result) == {"data": "created"}
    assert ("its status.phase is 'Pending', and not 'Bound'" in result.get("msg", "")) is waited


DEPLOYMENT = "/apis/apps/v1/namespaces/team/deployments/web"


def test_a_rollout_that_makes_no_progress_ends_the_wait_though_the_old_pods_are_available(cluster: Cluster) -> None:
    stuck = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "no image"}
    status = {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 1}
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 1}}
    available = {"type": "Available", "status": "True"}
    written = {**web, "metadata": {"name": "web", "namespace": "team", "generation": 2, "resourceVersion": "1"}}
    cluster.wrong["PATCH", DEPLOYMENT] = ok({**written, "status": {**status, "conditions": [available, stuck]}})
    result = carried(cluster, definition=web, wait=True, wait_timeout=60)
    assert "Deployment team/web failed: its condition Progressing is False, ProgressDeadlineExceeded" in result["msg"]


def test_more_than_may_be_listed_is_got_by_name(cluster: Cluster) -> None:
    cluster.wrong["GET", f"{NAMESPACED}team/configmaps"] = FORBIDDEN
    result = carried(cluster, definition=[config(name) for name in "abcdef"])
    assert set(actions(result).values()) == {"created"}


def test_who_may_read_nothing_is_not_refused_a_thousand_times(cluster: Cluster) -> None:
    names = [f"n{number}" for number in range(30)]
    for path in ("", *(f"/{name}" for name in names)):
        cluster.wrong["GET", f"{NAMESPACED}team/configmaps{path}"] = FORBIDDEN
    result = carried(cluster, definition=[config(name) for name in names])
    assert set(actions(result).values()) == {"failed"}
    assert len(cluster.stub.seen) < 10


def test_one_bad_name_is_the_failure_of_its_object_alone(cluster: Cluster) -> None:
    result = carried(cluster, definition=[config("good"), config("ba/d")])
    assert actions(result) == {"good": "created", "ba/d": "failed"}


def test_what_cannot_be_made_again_after_all_is_told_as_deleted(cluster: Cluster) -> None:
    """A recreation whose second half goes wrong."""
    frozen(cluster)
    result = carried(cluster, definition={**config("a"), "data": {"a": "c"}}, recreate=True)
    assert (result["failed"], result["changed"], actions(result)) == (True, True, {"a": "deleted"})


def test_a_wait_goes_on_from_what_was_written_and_lists_nothing(cluster: Cluster) -> None:
    carried(cluster, definition=config("a"), wait=True, wait_for={"condition": "Ready"}, wait_timeout=1)
    written = [seen.method for seen in cluster.stub.seen].index("PATCH")
    asked = [seen.query for seen in cluster.stub.seen[written + 1 :] if seen.path.endswith("/configmaps")]
    assert [(query["watch"], query["resourceVersion"]) for query in asked] == [("true", "1")]


def test_an_object_may_not_be_declared_twice_by_way_of_the_connections_namespace(cluster: Cluster) -> None:
    result = carried(cluster, namespace=None, definition=[config("a"), config("a", namespace="default")])
    assert result["msg"].startswith("definition[1]: ConfigMap a is declared in definition[0] already")
    assert cluster.stub.seen == []
