# SPDX-License-Identifier: Apache-2.0
"""Lists of objects brought into their declared state, against a real API server."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest
from paddleflow_core.kube.client import Client
from paddleflow_core.kube.declare import declare
from paddleflow_core.kube.wanted import Outcome, Run, Wanted

from tests.support.control_plane import ControlPlane
from tests.support.kube_api import config_map

pytestmark = pytest.mark.own_api

NAMESPACE = "declare"


@pytest.fixture
def team(api: ControlPlane, request: pytest.FixtureRequest) -> str:
    name = "declare-" + "".join(c if c.isalnum() else "-" for c in request.node.name.lower())[:40].strip("-")
    api.kubectl("create", "namespace", name)
    return name


def settings(namespace: str, name: str = "one", **data: str) -> dict[str, Any]:
    return config_map(namespace, name, **data)


def run(client: Client, *wanted: Wanted | dict[str, Any], **how: Any) -> list[Outcome]:
    given = [one if isinstance(one, Wanted) else Wanted(one) for one in wanted]
    return declare(Run(client, time.monotonic() + 60, **how), given)


def actions(outcomes: list[Outcome]) -> list[str]:
    return [one.action for one in outcomes]


def version(api: ControlPlane, namespace: str, name: str = "one") -> str:
    found: str = json.loads(api.kubectl("get", "configmap", name, "-n", namespace, "-o", "json"))["metadata"][
        "resourceVersion"
    ]
    return found


def test_it_is_created_then_left_alone_then_changed(api: ControlPlane, client: Client, team: str) -> None:
    assert actions(run(client, settings(team, a="1"))) == ["created"]
    before = version(api, team)
    assert actions(run(client, settings(team, a="1"))) == ["unchanged"]
    assert version(api, team) == before
    assert actions(run(client, settings(team, a="2"))) == ["changed"]


def test_what_is_no_longer_declared_is_dropped_and_what_others_wrote_stays(
    api: ControlPlane, client: Client, team: str
) -> None:
    run(client, settings(team, a="1", b="2"))
    api.kubectl("patch", "configmap", "one", "-n", team, "--type=merge", "-p", '{"data":{"theirs":"3"}}')
    (outcome,) = run(client, settings(team, a="1"))
    assert outcome.action == "changed"
    assert outcome.after is not None
    assert outcome.after["data"] == {"a": "1", "theirs": "3"}
    assert actions(run(client, settings(team, a="1"))) == ["unchanged"]


def test_check_mode_says_what_apply_then_does(client: Client, team: str) -> None:
    for wanted in (settings(team, a="1"), settings(team, a="2"), settings(team, a="2")):
        (would,) = run(client, wanted, check=True)
        (does,) = run(client, wanted)
        assert would.action == does.action
        assert (would.after or {}).get("data") == (does.after or {}).get("data")


def test_check_mode_knows_what_is_not_there_yet(api: ControlPlane, client: Client) -> None:
    thing = {"apiVersion": "nowhere.example/v1", "kind": "Thing", "metadata": {"name": "one"}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "declare-later"}}
    would = run(client, namespace, settings("declare-later"), thing, check=True)
    assert actions(would) == ["created", "created", "created"]
    assert api.try_kubectl("get", "namespace", "declare-later").returncode != 0


def test_a_namespace_and_a_definition_come_before_what_needs_them(client: Client) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.declare.example"},
        "spec": {
            "group": "declare.example",
            "names": {"kind": "Gadget", "plural": "gadgets"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    gadget = {
        "apiVersion": "declare.example/v1",
        "kind": "Gadget",
        "metadata": {"name": "one", "namespace": "declare-together"},
        "spec": {"size": 1},
    }
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "declare-together"}}
    assert actions(run(client, gadget, settings("declare-together"), definition, namespace)) == ["created"] * 4
    assert actions(run(client, gadget, definition)) == ["unchanged"] * 2
    absent = [Wanted(one, "absent") for one in (gadget, definition)]
    assert actions(run(client, *absent)) == ["deleted"] * 2
    assert actions(run(client, *absent)) == ["unchanged"] * 2


def test_a_failure_is_its_objects_alone_and_says_why(client: Client, team: str) -> None:
    wrong = settings(team, "wrong")
    wrong["data"] = {"not a key": "1"}
    good, bad, nowhere = run(client, settings(team), wrong, settings("declare-nowhere"))
    assert (good.action, bad.action, nowhere.action) == ("created", "failed", "failed")
    assert "data[not a key]" in str(bad.error)
    assert "declare-nowhere" in str(nowhere.error)


def test_a_kind_that_is_nowhere_is_an_error_and_its_absence_is_none(client: Client) -> None:
    thing = {"apiVersion": "nowhere.example/v1", "kind": "Thing", "metadata": {"name": "one"}}
    there, gone = run(client, thing, Wanted(thing, "absent"))
    assert (there.action, gone.action) == ("failed", "unchanged")
    assert "nowhere.example/v1" in str(there.error)


def test_absent_removes_and_waits(api: ControlPlane, client: Client, team: str) -> None:
    run(client, settings(team))
    gone = Wanted(settings(team), "absent")
    assert actions(run(client, gone, check=True)) == ["deleted"]
    assert actions(run(client, gone)) == ["deleted"]
    assert api.try_kubectl("get", "configmap", "one", "-n", team).returncode != 0
    assert actions(run(client, gone)) == ["unchanged"]


def test_what_only_has_to_be_there_is_never_changed(api: ControlPlane, client: Client, team: str) -> None:
    assert actions(run(client, Wanted(settings(team, a="1"), "ensured"))) == ["created"]
    before = version(api, team)
    assert actions(run(client, Wanted(settings(team, a="2"), "ensured"))) == ["unchanged"]
    assert version(api, team) == before


def test_a_field_of_another_manager_is_a_conflict_until_it_is_forced(
    api: ControlPlane, client: Client, team: str
) -> None:
    run(client, settings(team, a="1"))
    api.kubectl("patch", "configmap", "one", "-n", team, "--type=merge", "-p", '{"data":{"a":"9"}}')
    for check in (True, False):
        (outcome,) = run(client, settings(team, a="1"), check=check)
        assert outcome.action == "failed"
        assert "kubectl" in str(outcome.error)
    assert actions(run(client, settings(team, a="1"), force_conflicts=True)) == ["changed"]


def test_what_cannot_be_changed_is_named_and_made_anew_when_that_is_allowed(client: Client, team: str) -> None:
    def fixed(value: str) -> dict[str, Any]:
        return {**settings(team, a=value), "immutable": True}

    run(client, fixed("1"))
    (refused,) = run(client, fixed("2"))
    assert refused.action == "failed"
    assert "immutable" in str(refused.error)
    wanted = Wanted(fixed("2"), recreate=True)
    assert actions(run(client, wanted, check=True)) == ["recreated"]
    assert actions(run(client, wanted)) == ["recreated"]
    assert actions(run(client, wanted)) == ["unchanged"]


def test_quantities_and_server_defaults_are_no_change(client: Client, team: str) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "one", "namespace": team},
        "spec": {"hard": {"cpu": "1000m", "memory": "1024Mi"}},
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "one", "namespace": team},
        "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}},
    }
    assert actions(run(client, quota, service)) == ["created"] * 2
    assert actions(run(client, quota, service)) == ["unchanged"] * 2
    assert actions(run(client, quota, service, check=True)) == ["unchanged"] * 2


def test_many_at_once_keep_their_order_and_are_listed_once(client: Client, team: str) -> None:
    many = [settings(team, f"n{i}", a=str(i)) for i in range(40)]
    assert actions(run(client, *many)) == ["created"] * 40
    assert [one.wanted.object["metadata"]["name"] for one in run(client, *many)] == [f"n{i}" for i in range(40)]
    requests: list[str] = []
    counted = client.transport.request

    def request(method: str, path: str, **how: Any) -> Any:
        requests.append(method)
        return counted(method, path, **how)

    client.transport.request = request  # type: ignore[method-assign]
    try:
        assert actions(run(client, *many)) == ["unchanged"] * 40
    finally:
        del client.transport.request
    assert requests == ["GET"]


def service(namespace: str, **selector: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "one", "namespace": namespace},
        "spec": {"ports": [{"port": 80}], "selector": selector},
    }


def policy(namespace: str, **rule: Any) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "one", "namespace": namespace},
        "spec": {"podSelector": {}, "ingress": [rule]},
    }


def role(namespace: str, **rule: Any) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "one", "namespace": namespace},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], **rule}],
    }


PEERS = [{"namespaceSelector": {"matchLabels": {"a": "b"}}}]


@pytest.mark.parametrize(
    ("make", "more", "less"),
    [
        (service, {"app": "a", "tier": "b"}, {"app": "a"}),
        (policy, {"from": PEERS, "ports": [{"port": 80}]}, {"ports": [{"port": 80}]}),
        (policy, {"from": PEERS, "ports": [{"port": 80}]}, {"from": PEERS}),
        (role, {"resourceNames": ["a"]}, {}),
    ],
    ids=["selector", "from", "ports", "resourceNames"],
)
def test_less_of_what_is_one(client: Client, team: str, make: Any, more: dict[str, Any], less: dict[str, Any]) -> None:
    assert actions(run(client, make(team, **more))) == ["created"]
    assert actions(run(client, make(team, **more))) == ["unchanged"]
    (would,) = run(client, make(team, **less), check=True)
    (did,) = run(client, make(team, **less))
    assert (would.action, did.action) == ("changed", "changed")
    assert did.after is not None
    found = did.after.get("spec", did.after)
    part = found.get("selector") or (found.get("ingress") or found.get("rules"))[0]
    assert not (set(more) - set(less)) & set(part)
    assert actions(run(client, make(team, **less))) == ["unchanged"]


def test_text_that_looks_like_a_quantity_is_text(client: Client, team: str) -> None:
    for name, one, other in (("a", "1.10", "1.1"), ("b", "1000", "1k")):
        run(client, settings(team, name, version=one))
        assert actions(run(client, settings(team, name, version=other))) == ["changed"]
    labelled = settings(team, "c")
    for value in ("1.2", "1.20"):
        labelled["metadata"]["labels"] = {"version": value}
        assert actions(run(client, labelled))[0] in ("created", "changed")


def uid(api: ControlPlane, namespace: str) -> str:
    text = api.kubectl("get", "configmap", "one", "-n", namespace, "--output=jsonpath={.metadata.uid}")
    return str(text)


def test_what_could_not_be_made_again_is_not_taken_away(api: ControlPlane, client: Client, team: str) -> None:
    """Another field is wrong too, or a policy refuses what is new: in check mode the same."""
    run(client, {**settings(team, a="1"), "immutable": True})
    before = uid(api, team)
    wrong = {**settings(team, a="2"), "immutable": True}
    wrong["data"]["not a key"] = "1"
    refused = {**settings(team, a="3"), "immutable": True}
    refused["metadata"]["labels"] = {"refused": "yes"}
    rule = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": team},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
                ]
            },
            "validations": [
                {
                    "expression": "!has(object.metadata.labels) || !('refused' in object.metadata.labels)",
                    "message": "not that one",
                }
            ],
        },
    }
    binding = {
        **rule,
        "kind": "ValidatingAdmissionPolicyBinding",
        "spec": {"policyName": team, "validationActions": ["Deny"]},
    }
    run(client, rule, binding)
    probe = {**settings(team, "probe"), "metadata": {**refused["metadata"], "name": "probe"}}
    until = time.monotonic() + 30
    while not run(client, probe)[0].error:  # nothing tells when a policy is heeded
        run(client, Wanted(probe, "absent"))
        assert time.monotonic() < until
    for wanted, said in ((wrong, "not a key"), (refused, "not that one")):
        would, did = (run(client, Wanted(wanted, recreate=True), check=check)[0] for check in (True, False))
        assert (would.action, did.action) == ("failed", "failed")
        assert said in str(did.error)
        assert str(would.error) == str(did.error)
        assert uid(api, team) == before


def held(api: ControlPlane, client: Client, team: str) -> None:
    run(client, settings(team, a="1"))
    patch = json.dumps({"metadata": {"finalizers": ["example.org/hold"]}})
    api.kubectl("patch", "configmap", "one", "-n", team, "--type=merge", "-p", patch)


def let_go(api: ControlPlane, team: str) -> None:
    api.kubectl("patch", "configmap", "one", "-n", team, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


def test_what_is_taken_away_is_changed_though_it_takes_its_time(api: ControlPlane, client: Client, team: str) -> None:
    held(api, client, team)
    gone = Wanted(settings(team), "absent")
    (first,) = run(client, gone)
    assert (first.action, first.error) == ("deleted", None)
    assert actions(run(client, gone, check=True)) == actions(run(client, gone)) == ["unchanged"]
    (waited,) = declare(Run(client, time.monotonic() + 1, wait=True), [gone])
    assert waited.action == "failed"
    assert "waits for its finalizers example.org/hold" in str(waited.error)
    let_go(api, team)
    held(api, client, team)
    (waited,) = declare(Run(client, time.monotonic() + 1, wait=True), [gone])
    assert (waited.action, waited.changed, bool(waited.error)) == ("deleted", True, True)
    let_go(api, team)


def test_what_is_on_its_way_out_is_made_again_when_it_is_gone(api: ControlPlane, client: Client, team: str) -> None:
    held(api, client, team)
    run(client, Wanted(settings(team), "absent"))
    for check in (True, False):
        (refused,) = run(client, settings(team, a="1"), check=check)
        assert refused.action == "failed"
        assert "is being deleted, which waits for its finalizers example.org/hold" in str(refused.error)
    assert actions(run(client, settings(team, a="1"), check=True, wait=True)) == ["recreated"]
    timer = threading.Timer(0.5, let_go, [api, team])
    timer.start()
    assert actions(run(client, settings(team, a="1"), wait=True)) == ["recreated"]
    timer.join()
    assert actions(run(client, settings(team, a="1"))) == ["unchanged"]


def test_check_mode_knows_what_would_be_ensured_where_there_is_nothing_yet(client: Client) -> None:
    assert actions(run(client, Wanted(settings("declare-nowhere"), "ensured"), check=True)) == ["created"]
    (refused,) = run(client, Wanted(settings("declare-nowhere"), "ensured"))
    assert refused.action == "failed"


def test_what_is_left_over_goes_only_when_nothing_failed(client: Client, team: str) -> None:
    run(client, settings(team, "old"))
    wrong = settings(team, "wrong")
    wrong["data"] = {"not a key": "1"}
    old = Wanted(settings(team, "old"), "absent", leftover=True)
    none = Wanted(settings(team, "none"), "absent", leftover=True)
    for check in (True, False):
        assert actions(run(client, wrong, old, none, check=check)) == ["failed", "kept", "unchanged"]
    assert actions(run(client, settings(team, "right"), old, none)) == ["created", "deleted", "unchanged"]
