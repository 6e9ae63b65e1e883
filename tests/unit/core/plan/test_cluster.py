# SPDX-License-Identifier: Apache-2.0
"""Whether a cluster that somebody else made can hold the platform: every lack has its sentence."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime

import pytest
from paddleflow_core.plan.cluster import QUESTIONS, Cluster, judge, minor, objects_of, server_date, unreachable

SERVER = "https://lab:6443"
NOW = datetime(2026, 11, 18, 12, 37, 33, tzinfo=UTC)
# As kubectl 1.34 and 1.32 show a response's headers at -v=8.
LOG_NEW = 'I1118 12:37:32.964870   16991 round_trippers.go:632] "Response" status="200 OK" headers=<\n\tDate: Wed, 18 Nov 2026 12:37:32 GMT\n >'
LOG_OLD = "I1118 12:37:33.118890   17010 round_trippers.go:587]     Date: Wed, 18 Nov 2026 12:37:33 GMT\n"


def _groups(*versions: str) -> str:
    return json.dumps({"groups": [{"versions": [{"groupVersion": version}]} for version in versions]})


def _review(allowed: bool, **attributes: str) -> str:
    return json.dumps({"spec": {"resourceAttributes": attributes}, "status": {"allowed": allowed}}, indent=4)


ANSWERS: dict[str, dict[str, t.Any]] = {
    "version": {"rc": 0, "stdout": json.dumps({"gitVersion": "v1.34.4"}), "stderr": LOG_OLD},
    "groups": {"rc": 0, "stdout": _groups("apps/v1", "apiextensions.k8s.io/v1", "admissionregistration.k8s.io/v1")},
    "admission": {"rc": 0, "stdout": json.dumps({"resources": [{"name": "validatingadmissionpolicies"}]})},
    "nodes": {"rc": 0, "stdout": "n1\tlinux\tcontainerd://1.7.1\tTrue\t\tamd64\nn2\tlinux\tcri-o://1.30\tTrue\ttrue\n"},
    "storage": {"rc": 0, "stdout": "local\ttrue\nslow\t\n"},
    "workloads": {"rc": 0, "stdout": "Deployment\tkube-system\tcoredns\t\tcoredns:1\t\t\n"},
    "classes": {"rc": 0, "stdout": '{"items": []}'},
    "access": {"rc": 0, "stdout": _review(True, verb="get", resource="nodes")},
}


def judged(changes: dict[str, dict[str, t.Any]] | None = None, **options: t.Any) -> tuple[Cluster, list[str]]:
    answers = {name: {**answer, **(changes or {}).get(name, {})} for name, answer in ANSWERS.items()}
    cluster, found = judge(SERVER, "ann", answers, **{"now": NOW, "supported": ("1.30", "1.35"), **options})
    return cluster, [f"{finding.severity}: {finding.message}" for finding in found]


def test_a_good_cluster_has_no_findings_and_is_described() -> None:
    cluster, found = judged()
    assert found == []
    assert cluster == Cluster(SERVER, version="v1.34.4", nodes=["n1"], default_storage_class="local")


def _classes(value: int, **labels: str) -> dict[str, t.Any]:
    item = {"metadata": {"name": "high", "labels": labels}, "value": value}
    return {"classes": {"stdout": json.dumps({"items": [item]}, indent=4)}}


WORKLOADS = "Deployment\tvolcano-system\tv-scheduler\tHelm\tdocker.io/volcanosh/vc-scheduler:v1.9.0\t\t{}\n"
HAS_VOLCANO = f"The cluster of {SERVER} already has a Volcano 1.9.0 (Deployment volcano-system/v-scheduler)"


@pytest.mark.parametrize(
    ("changes", "options", "expected"),
    [
        pytest.param(
            {"version": {"stdout": '{"gitVersion": "v1.29.3"}'}},
            {},
            f"error: The API server {SERVER} runs Kubernetes 1.29.3, but 1.30 to 1.35 are supported"
            " (ValidatingAdmissionPolicy v1 came with 1.30): upgrade the cluster, or name another cluster.",
            id="too old",
        ),
        pytest.param(
            {"version": {"stdout": '{"gitVersion": "v1.40.0+k3s1"}'}},
            {},
            f"error: The API server {SERVER} runs Kubernetes 1.40.0+k3s1, but 1.30 to 1.35 are supported: use a newer"
            " release of paddleflow.core, or name another cluster.",
            id="too new",
        ),
        pytest.param(
            {"version": {"stdout": "<html>"}},
            {},
            f"error: The API server {SERVER} gave no Kubernetes version, but it has to be one: correct the server's"
            " address.",
            id="no API server",
        ),
        pytest.param(
            {},
            {"kubectl_version": "v1.32.4"},
            "warning: The kubectl of PATH is of version 1.32.4, but the cluster runs 1.34.4 and kubectl may be one minor"
            " version away: install one that fits.",
            id="kubectl far away",
        ),
        pytest.param(
            {"version": {"stderr": LOG_OLD.replace("12:37:33 GMT", "12:47:33 GMT")}},
            {},
            f"error: The clock of the API server {SERVER} is 600 s ahead of the control node's, but at most 60 s are"
            " allowed: set the clock that is wrong, and let chrony or systemd-timesyncd keep it.",
            id="clock",
        ),
        pytest.param(
            {
                "access": {
                    "stdout": _review(False, verb="create", resource="namespaces")
                    + _review(False, verb="patch", resource="namespaces")
                    + _review(True, verb="get", resource="namespaces")
                    + _review(False, verb="create", resource="jobs", group="batch", namespace="a")
                    + _review(False, verb="create", resource="deployments", group="apps", namespace="a")
                    + _review(False, verb="create", resource="jobs", group="batch", namespace="b")
                    + _review(False, verb="create", resource="deployments", group="apps", namespace="b")
                }
            },
            {},
            "error: The user ann may not create, patch namespaces; create jobs.batch, deployments.apps in a and b, but"
            " the installation does this: bind it to the ClusterRole cluster-admin, or grant just these.",
            id="permissions",
        ),
        pytest.param(
            {
                "access": {
                    "stdout": _review(False, verb="bind", resource="clusterroles", group="rbac.authorization.k8s.io")
                    + _review(False, verb="escalate", resource="clusterroles", group="rbac.authorization.k8s.io")
                }
            },
            {},
            "warning: The user ann may not bind, escalate clusterroles.rbac.authorization.k8s.io, but who may not has to"
            " hold each permission that Volcano's programs are given: bind it to the ClusterRole cluster-admin, or grant"
            " just these; the API server refuses the roles when one is missing.",
            id="permissions to grant",
        ),
        pytest.param(
            _classes(1000),
            {"priority_classes": {"high": 100}},
            "error: The PriorityClass high has the value 1000, but volcano_priority_classes says 100, and the value of a"
            " class cannot be changed: give ours another name or the value 1000 in volcano_priority_classes, or remove"
            " that one.",
            id="a priority class of another value",
        ),
        pytest.param(
            {"access": {"rc": 1, "stdout": "", "stderr": "Error from server (NotFound): no such kind"}},
            {},
            "error: The user ann cannot be asked for its permissions (Error from server (NotFound): no such kind), but"
            " the installation needs to know them: grant create on selfsubjectaccessreviews.",
            id="permissions unknown",
        ),
        pytest.param(
            {"groups": {"stdout": _groups("apps/v1")}},
            {},
            f"error: The API server {SERVER} does not serve apiextensions.k8s.io/v1, but the platform's kinds are CRDs:"
            " use a cluster that serves it.",
            id="no CRDs",
        ),
        pytest.param(
            {"admission": {"rc": 1, "stdout": "", "stderr": "Error from server (NotFound)"}},
            {},
            f"error: The API server {SERVER} does not serve ValidatingAdmissionPolicy of"
            " admissionregistration.k8s.io/v1, but grants are enforced by it: upgrade to 1.30 or newer, or enable it in"
            " --runtime-config.",
            id="no admission policies",
        ),
        pytest.param(
            {"nodes": {"stdout": ""}},
            {},
            f"error: The cluster of {SERVER} has no node, but the platform's pods run on such nodes: add one, or make"
            " one Ready.",
            id="no node",
        ),
        pytest.param(
            {"nodes": {"stdout": "w1\twindows\tcontainerd://1\tTrue\t\nn1\tlinux\tcontainerd://1\tFalse\t\n"}},
            {},
            f"error: The cluster of {SERVER} has no Linux node that is Ready and schedulable among w1, n1, but the"
            " platform's pods run on such nodes: add one, or make one Ready.",
            id="no usable node",
        ),
        pytest.param(
            {"nodes": {"stdout": "n1\tlinux\tcontainerd://1\tTrue\t\nn2\tlinux\tcontainerd://1\tUnknown\t\n"}},
            {},
            f"warning: The cluster of {SERVER} has nodes that are not Ready (n2), but nothing runs there: look at:"
            " kubectl describe node.",
            id="a node is not Ready",
        ),
        pytest.param(
            {"nodes": {"stdout": "n1\tlinux\tdocker://20.10\tTrue\t\n"}},
            {},
            f"warning: The cluster of {SERVER} has nodes of another container runtime (n1 with docker://20.10), but"
            " containerd and CRI-O are what this is tried with: expect surprises there.",
            id="other runtime",
        ),
        pytest.param(
            {"nodes": {"rc": 1, "stdout": "", "stderr": "Error from server: etcdserver: request timed out"}},
            {},
            f"error: The API server {SERVER} does not tell its nodes (Error from server: etcdserver: request timed out),"
            " but they decide whether the platform can run: look at the server's log.",
            id="an answer that is none",
        ),
        pytest.param(
            {"storage": {"stdout": "slow\t\n"}},
            {},
            f"note: The cluster of {SERVER} has no default storage class (of slow), so that claims without a class stay"
            " pending.",
            id="no default storage class",
        ),
        pytest.param(
            {"workloads": {"stdout": WORKLOADS}},
            {},
            f"error: {HAS_VOLCANO}, but two schedulers of one name must never run: remove it, or set volcano_adopt to"
            " adopt (preview says first what that does).",
            id="a Volcano of somebody else",
        ),
        pytest.param(
            {"workloads": {"stdout": WORKLOADS}},
            {"adopt_volcano": True},
            f"note: {HAS_VOLCANO}, which volcano_adopt allows to be taken over.",
            id="a Volcano to adopt",
        ),
    ],
)
def test_what_a_cluster_lacks_is_said_in_one_sentence(
    changes: dict[str, dict[str, t.Any]], options: dict[str, t.Any], expected: str
) -> None:
    assert judged(changes, **options)[1] == [expected]


@pytest.mark.parametrize(
    "row",
    [
        WORKLOADS.replace("Helm", "paddleflow"),
        WORKLOADS.replace("{}", '["--scheduler-name=other"]'),
        WORKLOADS.replace("{}", '["--scheduler-name","other"]'),
    ],
)
def test_our_own_volcano_and_a_scheduler_of_another_name_may_stay(row: str) -> None:
    assert judged({"workloads": {"stdout": row}})[1] == []


def test_what_is_forbidden_is_told_once() -> None:
    forbidden = {"rc": 1, "stdout": "", "stderr": 'Error from server (Forbidden): nodes is forbidden: User "ann" …'}
    refused = {"stdout": _review(False, verb="list", resource="nodes")}
    _cluster, found = judged({"nodes": forbidden, "access": refused})
    assert len(found) == 1
    assert "may not list nodes" in found[0]


@pytest.mark.parametrize(
    ("stderr", "meaning", "remedy"),
    [
        (
            "The connection to the server lab:6443 was refused - did you specify the right host or port?",
            "nothing listens there",
            "start the cluster, or correct the server's address",
        ),
        (
            "Unable to connect to the server: dial tcp: lookup lab on 192.0.2.53:53: no such host",
            "its name is not known",
            "correct the server's name, or DNS",
        ),
        (
            "Unable to connect to the server: dial tcp 192.0.2.77:6443: connect: no route to host",
            "there is no route to it",
            "connect to its network (VPN?)",
        ),
        (
            "Unable to connect to the server: context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
            "it does not answer in time",
            "connect to its network (VPN?), or look at its firewall and load",
        ),
        (
            (
                "Unable to connect to the server: tls: failed to verify certificate: x509: certificate signed by unknown"
                " authority"
            ),
            "its certificate is by another authority than the kubeconfig's",
            "fetch the cluster's kubeconfig again",
        ),
        (
            (
                "Unable to connect to the server: tls: failed to verify certificate: x509: certificate is valid for"
                " kubernetes, not lab"
            ),
            "its certificate is for another name",
            "use a server address that its certificate names, or set tls-server-name",
        ),
        (
            (
                "Unable to connect to the server: tls: failed to verify certificate: x509: certificate has expired or is"
                " not yet valid: current time 2026-11-18T12:00:00Z is after 2026-01-01T00:00:00Z"
            ),
            "its certificate is not valid at this time",
            "compare the clocks, then renew the API server's certificate",
        ),
        (
            "error: You must be logged in to the server (Unauthorized)",
            "it refuses the credentials",
            "log in again, or fetch the cluster's kubeconfig again",
        ),
        (
            "Unable to connect to the server: EOF",
            "it does not speak TLS",
            "correct the server's address and port",
        ),
        (
            'Unable to connect to the server: getting credentials: exec: executable aws failed with exit code 255',
            "the program that gives the credentials does not work",
            "install it, or run its login",
        ),
        (
            "Unable to connect to the server: proxyconnect tcp: dial tcp: lookup proxy: no such host",
            "the proxy does not lead there",
            "add its host to NO_PROXY, or correct proxy-url in the kubeconfig",
        ),
        (
            "Unable to connect to the server: Forbidden",
            "the proxy does not lead there",
            "add its host to NO_PROXY, or correct proxy-url in the kubeconfig",
        ),
        (
            'Error from server (Forbidden): forbidden: User "ann" cannot get path "/version"',
            "it lets this user read nothing",
            "use another user or context",
        ),
    ],
)  # fmt: skip
def test_why_a_cluster_cannot_be_asked(stderr: str, meaning: str, remedy: str) -> None:
    log = f"I1118 12:37:17.034172   16604 cmd.go:527] kubectl\n\tAccept: */*\n >\n{stderr}\n"
    assert unreachable(SERVER, log).message == (
        f"The API server {SERVER} cannot be asked: {meaning} ({stderr}), but the installation talks to it: {remedy}."
    )


@pytest.mark.parametrize(
    ("cause", "meaning"),
    [
        ("proxyconnect tcp: dial tcp 192.0.2.8:3128: connect: connection refused", "the proxy does not lead there"),
        ("Bad Gateway", "the proxy does not lead there"),
        ("dial tcp 192.0.2.77:6443: connect: connection refused", "nothing listens there"),
        ("EOF", "it does not speak TLS"),
    ],
)
def test_the_cause_in_kubectls_log_counts_and_not_what_kubectl_makes_of_it(cause: str, meaning: str) -> None:
    stderr = (
        f"I1118 12:37:17.034172   16604 helpers.go:264] Connection error: Get {SERVER}/version?timeout=15s: {cause}\n"
        "The connection to the server lab:6443 was refused - did you specify the right host or port?\n"
    )
    assert f"cannot be asked: {meaning} ({cause}), but" in unreachable(SERVER, stderr).message


def test_what_is_not_known_is_quoted_and_a_proxy_is_mentioned_without_its_password() -> None:
    assert unreachable(
        SERVER, "error: tls: failed to find any PEM data in key input", "http://u:p@proxy:3128"
    ).message == (
        f"The API server {SERVER} cannot be asked (error: tls: failed to find any PEM data in key input), but the"
        " installation talks to it: look at the server and the kubeconfig; the requests went through the proxy"
        " http://***@proxy:3128."
    )
    assert "kubectl gave no reason" in unreachable(SERVER, "").message


def test_a_missing_login_program_is_found_among_kubectls_advice() -> None:
    stderr = (
        "Unable to connect to the server: getting credentials: exec: executable aws not found\n\n"
        "It looks like you are trying to use a client-go credential plugin that is not installed.\n"
        "To learn more about this feature, consult the documentation available at:\n      https://example.org\n"
    )
    assert "the program that gives the credentials does not work" in unreachable(SERVER, stderr).message


def test_the_date_of_the_server_is_read_from_the_logs_of_old_and_new_kubectl() -> None:
    assert server_date(LOG_NEW) == datetime(2026, 11, 18, 12, 37, 32, tzinfo=UTC)
    assert server_date(LOG_OLD) == NOW
    assert server_date("no log") is None


def test_a_priority_class_of_the_same_value_or_of_no_interest_may_stay() -> None:
    for wanted in ({"high": 7}, {"low": 1}, None):
        assert judged(_classes(7), priority_classes=wanted)[1] == []


def test_our_own_priority_class_of_an_earlier_value_has_another_remedy() -> None:
    ours = {"app.kubernetes.io/name": "volcano", "app.kubernetes.io/managed-by": "paddleflow"}
    (finding,) = judged(_classes(7, **ours), priority_classes={"high": 100})[1]
    assert finding.endswith(
        "remove it with: kubectl delete priorityclass high (pods keep the priority that they have)."
    )


def test_priority_classes_that_cannot_be_read_are_said() -> None:
    (finding,) = judged({"classes": {"rc": 1, "stdout": "", "stderr": "error: EOF"}})[1]
    assert "does not tell its priority classes (error: EOF)" in finding


def test_small_parsers() -> None:
    assert minor("v1.34.4+k3s1") == (1, 34)
    assert minor("master") == (0, 0)
    assert objects_of(' {"a": 1}\n{"b": 2} ') == [{"a": 1}, {"b": 2}]


def test_what_cannot_be_read_is_said_unless_it_is_a_missing_permission() -> None:
    broken = {"rc": 1, "stdout": "", "stderr": "Error from server (InternalError): etcd is gone"}
    forbidden = {"rc": 1, "stdout": "", "stderr": "Error from server (Forbidden): deployments.apps is forbidden"}
    cluster, found = judged({"storage": broken, "workloads": forbidden})
    assert cluster.default_storage_class == ""
    (finding,) = found
    assert finding == (
        f"error: The API server {SERVER} does not tell its storage classes (Error from server (InternalError): etcd is"
        " gone), but they decide whether the platform can run: look at the server's log."
    )


def test_a_clock_that_is_not_shown_is_not_judged() -> None:
    assert judged({"version": {"stderr": ""}})[1] == []


def test_answers_of_another_shape_are_no_permission_and_no_feature() -> None:
    (finding,) = judged({"access": {"stdout": "<html>"}, "groups": {"stdout": "<html>"}})[1]
    assert finding.startswith("error: The user ann cannot be asked for its permissions")


@pytest.mark.parametrize(("built_for", "other", "severity"), [("aarch64", "", "error"), ("x86_64", "arm64", "warning")])
def test_nodes_of_another_processor_are_told(built_for: str, other: str, severity: str) -> None:
    rows = str(ANSWERS["nodes"]["stdout"]) + (f"n3\tlinux\tcontainerd://1\tTrue\t\t{other}\n" if other else "")
    (told,) = judged({"nodes": {"stdout": rows}}, built_for=built_for)[1]
    named = f"n3 with {other}" if other else "n1 with amd64"
    assert told.startswith(
        f"{severity}: The cluster of {SERVER} has nodes of another processor ({named}), but the images"
    )
    assert told.endswith(
        "or set images_registry to a registry that has images for all of them and images_push to false."
    )


def test_no_question_changes_anything() -> None:
    assert {arguments[0] for arguments in QUESTIONS.values()} == {"get"}
