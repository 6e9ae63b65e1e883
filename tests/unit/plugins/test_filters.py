# SPDX-License-Identifier: Apache-2.0
"""Every filter as a template calls it: results of tasks go in, plain data comes out. The library's own tests say the rest."""

from __future__ import annotations

import base64
import importlib
import json
import typing as t
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError

from tests.support.preflight_facts import CONTROL
from tools import tree

FILTERS: dict[str, t.Callable[..., t.Any]] = {}
for path in tree.files():
    if path.match("plugins/filter/*.py"):
        module = importlib.import_module(f"ansible_collections.paddleflow.core.plugins.filter.{path.stem}")
        FILTERS |= module.FilterModule().filters()


def test_every_filter_is_tried_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in FILTERS if f'"{name}"' not in text] == []


# ---- provider_choice -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requested", "known", "provider", "reason"),
    [
        ("existing", {}, "existing", "cluster_provider says so"),
        ("auto", {"context": "lab"}, "existing", "the context lab was named"),
        ("auto", {"kubeconfig": "/own", "own_kubeconfig": "/own", "marker": '{"provider": "k3s"}'}, "k3s", "an earlier run"),
        ("auto", {"k3s_reachable": True, "k3s_url": "https://k3s"}, "k3s", "can be downloaded from https://k3s"),
        ("auto", {"marker": None}, "embedded", "(artifacts_k3s_sha256)"),
        ("auto", {"marker": None, "ambient": "/home/ann/.kube/config"}, "embedded", "/home/ann/.kube/config) is left alone"),
    ],
)  # fmt: skip
def test_the_provider_and_the_reason(requested: str, known: dict[str, t.Any], provider: str, reason: str) -> None:
    choice = FILTERS["provider_choice"](requested, **known)
    assert choice["provider"] == provider
    assert reason in choice["reason"]
    assert choice["refused"] == ""


def test_the_provider_of_another_cluster_is_refused() -> None:
    choice = FILTERS["provider_choice"]("embedded", marker='{"provider": "k3s"}')
    assert choice["refused"].startswith("an earlier run made a cluster of provider k3s here")


# ---- node_mounts -----------------------------------------------------------------------------------------------------


def test_what_is_declared_for_a_machine_is_checked_and_told_without_secrets() -> None:
    declared = {"name": "corpus", "url": "s3://corpus", "mount_point": "/mnt/corpus", "secrets": {"secretKey": "hush"}}
    found = FILTERS["node_mounts"]([declared], config="/etc/paddleflow/fuse")
    assert found["mounts"] == []
    assert {one.partition(" is ")[0] for one in found["problems"]} == {"corpus: endpoint", "corpus: accessKey"}
    assert "hush" not in str(found)


# ---- range_address ---------------------------------------------------------------------------------------------------


def test_an_address_of_a_range() -> None:
    assert FILTERS["range_address"]("10.203.7.16/28", 10) == "10.203.7.26"
    with pytest.raises(AnsibleFilterError, match=r"An address of a range: Expected 4 octets in '10.203'"):
        FILTERS["range_address"]("10.203", "10")


# ---- node_images -----------------------------------------------------------------------------------------------------


def test_images_of_a_node_that_has_an_earlier_release() -> None:
    images = "REF TYPE DIGEST\nlocalhost/paddleflow/pause:1 manifest sha256:a\n"
    changes = FILTERS["node_images"](images, "", ["localhost/paddleflow/pause:2"], "localhost/paddleflow")
    replaced = {"ref": "localhost/paddleflow/pause:1", "label": "paddleflow.org/replaced-by=2"}
    assert changes == {"missing": ["localhost/paddleflow/pause:2"], "replaced": [replaced], "stale": []}


# ---- preflight_findings ----------------------------------------------------------------------------------------------

EXISTING = {"provider": "existing", "host": "n1", "python_control": "3.11"}


@pytest.mark.parametrize(
    ("results", "settings", "errors"),
    [
        ({}, {}, []),
        ({"node": {"skipped": True}, "control": {"rc": 0, "stdout": json.dumps(CONTROL)}}, EXISTING, []),
        (
            {"control": {"rc": 0, "stdout": json.dumps(CONTROL)}},
            {**EXISTING, "cache_gib": "500"},
            ["The file system / has 100.0 GiB free"],
        ),
        (
            {"control": {"rc": 127, "stdout": "", "stderr": "sh: python3: not found\n"}},
            EXISTING,
            ["The Python of the control node could not run the probe (sh: python3: not found)"],
        ),
    ],
)
def test_what_preflight_finds(results: dict[str, t.Any], settings: dict[str, t.Any], errors: list[str]) -> None:
    found = FILTERS["preflight_findings"](results, settings)
    assert [sentence.partition(", but")[0] for sentence in found["errors"]] == errors
    assert found["report"].startswith("preflight of n1: 1 error; nothing was changed\n" if errors else "")
    assert [finding["severity"] for finding in found["findings"]] == ["error"] * len(errors)


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("provider_choice", ["k8s"], "cluster_provider is 'k8s', but it must be one of"),
        ("preflight_findings", [{}, {"kernle": "5.13"}], "preflight knows no setting 'kernle'; it knows "),
        ("preflight_findings", [{}, {"data_gib": "much"}], "preflight's setting data_gib is 'much', but it must be"),
    ],
)
def test_what_cannot_be_meant_fails_the_task_with_its_own_words(
    name: str, arguments: list[t.Any], complaint: str
) -> None:
    with pytest.raises(AnsibleFilterError, match=complaint):
        FILTERS[name](*arguments)


# ---- cluster_kubeconfig ----------------------------------------------------------------------------------------------

PATH = "/home/ann/lab.conf"
USERS = {
    "ann": {"token": "s3cret"},
    "bob": {"client-certificate": "bob.crt"},
    "eve": {"client-certificate-data": "eA=="},
}
CONFIG = {
    "current-context": "ann",
    "contexts": [{"name": name, "context": {"cluster": "lab", "user": name}} for name in USERS],
    "clusters": [{"name": "lab", "cluster": {"server": "https://lab:6443", "proxy-url": "http://proxy"}}],
    "users": [{"name": name, "user": user} for name, user in USERS.items()],
}


def slurped(content: str | bytes) -> dict[str, str]:
    return {"content": base64.b64encode(content.encode() if isinstance(content, str) else content).decode()}


def test_a_kubeconfig_names_its_cluster_and_shows_no_secret() -> None:
    judged = FILTERS["cluster_kubeconfig"](slurped(json.dumps(CONFIG)), PATH)
    assert judged["report"] == ""
    assert judged["target"] == {
        "kubeconfig": PATH,
        "context": "ann",
        "cluster": "lab",
        "server": "https://lab:6443",
        "user": "ann",
        "credentials": "a token",
        "certificate_file": "",
        "proxy": "http://proxy",
    }


@pytest.mark.parametrize(
    ("result", "options", "error"),
    [
        ({"failed": True, "msg": f"file not found: {PATH}"}, {}, "does not exist"),
        ({"failed": True}, {}, "cannot be read ()"),
        (slurped("token: s3cret: x"), {}, "is no YAML (mapping values are not allowed here, line 1)"),
        (slurped(b"\x00\xff"), {}, "is no YAML (it cannot be decoded)"),
        (slurped(json.dumps(CONFIG)), {"context": "zoe"}, "has no context zoe"),
    ],
)
def test_a_kubeconfig_that_names_no_cluster(result: dict[str, t.Any], options: dict[str, str], error: str) -> None:
    judged = FILTERS["cluster_kubeconfig"](result, PATH, **options)
    assert judged["target"] is None
    (sentence,) = judged["errors"]
    assert sentence.startswith(f"The kubeconfig {PATH} {error}")
    assert "s3cret" not in judged["report"]


@pytest.mark.parametrize(
    ("context", "certificate", "errors"),
    [
        ("ann", None, []),
        ("eve", None, ["cannot be used (it holds no PEM certificate)"]),
        # Whether a file is good is known only once it was read; `target` says which one that is.
        ("bob", None, []),
        ("bob", {"failed": True, "msg": "file not found"}, ["cannot be read (/home/ann/bob.crt)"]),
        ("bob", slurped("nothing"), ["cannot be used (it holds no PEM certificate)"]),
    ],
)
def test_a_client_certificate_is_judged_once_it_is_there(
    context: str, certificate: dict[str, t.Any] | None, errors: list[str]
) -> None:
    config = slurped(json.dumps(CONFIG))
    judged = FILTERS["cluster_kubeconfig"](config, PATH, context=context, certificate=certificate)
    assert judged["target"]["certificate_file"] == ("/home/ann/bob.crt" if context == "bob" else "")
    subject = f"The client certificate of user {context} in {PATH} "
    assert [sentence.removeprefix(subject).partition(", but")[0] for sentence in judged["errors"]] == errors


@pytest.mark.parametrize(("no_proxy", "through"), [("localhost,other.org", "http://proxy"), ("localhost,lab", "")])
def test_the_environments_proxy_is_the_way_unless_the_server_is_exempt(no_proxy: str, through: str) -> None:
    clusters = [{"name": "lab", "cluster": {"server": "https://lab:6443"}}]
    config = slurped(json.dumps({**CONFIG, "clusters": clusters}))
    judged = FILTERS["cluster_kubeconfig"](config, PATH, proxy="http://proxy", no_proxy=no_proxy)
    assert judged["target"]["proxy"] == through


# ---- cluster_questions, cluster_findings -----------------------------------------------------------------------------


def test_a_cluster_is_asked_for_what_is_judged_and_for_the_permissions_in_the_given_namespaces() -> None:
    questions = {question["name"]: question for question in FILTERS["cluster_questions"](PLACES)}
    assert set(questions) == set(ANSWERS) - {"version"}
    access = questions.pop("access")
    assert access["args"][:3] == ["create", "--filename", "-"]
    asked = [item["spec"]["resourceAttributes"] for item in json.loads(access["stdin"])["items"]]
    assert {attributes["namespace"] for attributes in asked if "namespace" in attributes} == {"team", "try"}
    assert all(question["args"][0] == "get" and question["stdin"] == "" for question in questions.values())
    more = {question["name"]: question for question in FILTERS["cluster_questions"](PLACES, adopt_volcano=True)}
    assert len(json.loads(more["access"]["stdin"])["items"]) > len(asked)


PLACES = {"volcano": "team", "demo": "try"}

TARGET = {"context": "lab", "server": "https://lab.example.org:6443", "user": "ann"}
ASKED = datetime(2026, 1, 1, tzinfo=UTC)
ALLOWED = {"spec": {"resourceAttributes": {"verb": "get", "resource": "nodes"}}, "status": {"allowed": True}}
SERVED = [{"versions": [{"groupVersion": "apiextensions.k8s.io/v1"}]}]
ANSWERS: dict[str, dict[str, t.Any]] = {
    "version": {"rc": 0, "stdout": '{"gitVersion": "v1.34.4"}', "stderr": f"Date: {format_datetime(ASKED, usegmt=True)}"},
    "groups": {"rc": 0, "stdout": json.dumps({"groups": SERVED})},
    "admission": {"rc": 0, "stdout": json.dumps({"resources": [{"name": "validatingadmissionpolicies"}]})},
    "nodes": {"rc": 0, "stdout": "n1\tlinux\tcontainerd://1.7.1\tTrue\t\n"},
    "storage": {"rc": 0, "stdout": "local\ttrue\n"},
    "workloads": {"rc": 0, "stdout": ""},
    "classes": {"rc": 0, "stdout": '{"items": [{"metadata": {"name": "high"}, "value": 7}]}'},
    "access": {"rc": 0, "stdout": json.dumps(ALLOWED)},
}  # fmt: skip


def judged(changes: dict[str, dict[str, t.Any]], **options: t.Any) -> t.Any:
    known = {"target": TARGET, "supported": {"min": "1.30", "max": "1.35"}, "asked": ASKED.timestamp()}
    return FILTERS["cluster_findings"]({**ANSWERS, **changes}, **{**known, **options})


def test_a_cluster_that_can_hold_the_platform_is_described() -> None:
    answer = judged({})
    assert answer["report"] == ""
    assert answer["cluster"] == {
        "server": TARGET["server"],
        "version": "v1.34.4",
        "nodes": ["n1"],
        "default_storage_class": "local",
        "volcano_programs": [],
        "volcano_version": "",
        "volcano_served": False,
    }


VOLCANO = "Deployment\tv\tv-scheduler\t\tvolcanosh/vc-scheduler:v1.9.0\t\t\n"


@pytest.mark.parametrize(
    ("changes", "options", "severity", "found"),
    [
        ({}, {"supported": {"min": 1.35, "max": "1.36"}}, "error", "runs Kubernetes 1.34.4"),
        ({}, {"kubectl": "v1.30.0"}, "warning", "is of version 1.30.0"),
        ({}, {"asked": (ASKED - timedelta(seconds=90)).timestamp()}, "error", "is 90 s ahead of the control node's"),
        ({}, {"asked": str(ASKED.timestamp() + 40), "clock_skew_max": "30"}, "error", "is 40 s behind the control node's"),
        ({"access": {"rc": 1, "stderr": "boom"}}, {}, "error", "cannot be asked for its permissions (boom)"),
        ({}, {"priority_classes": {"high": 100}}, "error", "has the value 7"),
        ({"workloads": {"rc": 0, "stdout": VOLCANO}}, {}, "error", "already has a Volcano 1.9.0 (Deployment v/v-scheduler)"),
        ({"workloads": {"rc": 0, "stdout": VOLCANO}}, {"adopt_volcano": True}, "note", "already has a Volcano 1.9.0"),
    ],
)  # fmt: skip
def test_what_a_cluster_lacks_has_its_severity(
    changes: dict[str, dict[str, t.Any]], options: dict[str, t.Any], severity: str, found: str
) -> None:
    answer = judged(changes, **options)
    (finding,) = answer["findings"]
    assert finding["severity"] == severity
    assert finding["found"].startswith(found)
    assert answer[f"{severity}s"] == [finding["message"]]
    assert answer["report"].startswith(f"cluster lab ({TARGET['server']}): 1 {severity}")


@pytest.mark.parametrize(("behind", "errors"), [(timedelta(0), 0), (timedelta(days=1), 1)])
def test_a_clock_is_compared_with_now_when_nothing_else_is_said(behind: timedelta, errors: int) -> None:
    date = format_datetime(datetime.now(UTC) - behind, usegmt=True)
    version = {**ANSWERS["version"], "stderr": f"Date: {date}"}
    assert len(judged({"version": version}, asked=None)["errors"]) == errors


UNASKED = "Status code was -1 and not [200]: Request failed: <urlopen error [Errno 111] Connection refused>"
SILENT = {"rc": 1, "stderr": "Unable to connect to the server: EOF"}
PROXIED = {**TARGET, "proxy": "http://u:p@proxy"}
THROUGH = "the requests went through the proxy http://***@proxy"


@pytest.mark.parametrize(
    ("answers", "target", "errors"),
    [
        ({"version": ANSWERS["version"]}, PROXIED, []),
        ({"version": SILENT}, TARGET, ["correct the server's address and port"]),
        ({"version": SILENT}, PROXIED, [f"correct the server's address and port; {THROUGH}"]),
        ({"version": {"rc": 2, "msg": "no such program"}}, TARGET, ["look at the server and the kubeconfig"]),
        ({"version": {"skipped": True}}, TARGET, ["look at the server and the kubeconfig"]),
        ({"server": {"status": 403, "msg": "Status code was 403 and not [200]: Forbidden"}}, TARGET, []),
        ({"server": {"status": -1, "msg": UNASKED}}, PROXIED, [f"start the cluster, or correct the server's address; {THROUGH}"]),
    ],
)  # fmt: skip
def test_whether_a_cluster_answers_is_judged_before_anything_else(
    answers: dict[str, dict[str, t.Any]], target: dict[str, str], errors: list[str]
) -> None:
    answer = FILTERS["cluster_findings"](answers, target)
    assert answer["cluster"] == {}
    assert [sentence.partition("the installation talks to it: ")[2] for sentence in answer["errors"]] == [
        f"{remedy}." for remedy in errors
    ]


# ---- volcano_* -------------------------------------------------------------------------------------------------------

LABELS = {"app.kubernetes.io/managed-by": "paddleflow"}


def webhook(name: str, **labels: str) -> dict[str, t.Any]:
    return {"kind": "MutatingWebhookConfiguration", "metadata": {"name": name, "labels": labels}}


def queue(name: str, **spec: t.Any) -> dict[str, t.Any]:
    return {"metadata": {"name": name}, "spec": spec}


def node(**spec: t.Any) -> dict[str, t.Any]:
    return {"spec": spec, "status": {"allocatable": {"cpu": "1500m", "memory": "1Gi"}}}


def program(name: str, command: str, **labels: str) -> dict[str, t.Any]:
    containers = [{"image": "volcano:1", "command": command.split()}]
    metadata = {"name": name, "namespace": "v", "labels": labels}
    return {"kind": "Deployment", "metadata": metadata, "spec": {"template": {"spec": {"containers": containers}}}}


OTHER = program("other", "vc-scheduler --scheduler-name=other")
FOREIGN = {"part": "scheduler", "kind": "Deployment", "namespace": "v", "name": "other", "image": "volcano:1"}


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("volcano_config_problems", [[], "1.14.1"], ["the configuration must be a mapping with actions and tiers"]),
        ("volcano_class_problems", [[{"metadata": {"name": "high"}, "value": 7}], {"high": 7}], []),
        ("volcano_kept_classes", [[{"metadata": {"name": "high"}, "value": 7}], {"high": 7}], ["high"]),
        ("volcano_foreign_objects", [["Secret\ts\tu\tvolcano\tHelm\t", "Lease\tl\tv\t\t\t"], ["l"]], ["Secret s"]),
        ("volcano_foreign", [[]], []),
        ("volcano_foreign", [[OTHER, program("ours", "vc-scheduler", **LABELS)]], []),
        ("volcano_foreign", [[OTHER], "other"], [FOREIGN]),
        ("volcano_foreign_webhooks", [[webhook("volcano-admission-service-a", **LABELS), webhook("b")]], []),
        (
            "volcano_foreign_webhooks",
            [[webhook("volcano-admission-service-a")]],
            [{"kind": "MutatingWebhookConfiguration", "name": "volcano-admission-service-a"}],
        ),
        (
            "volcano_queue_conversion",
            [[queue("a", weight=1), queue("b", weight=3, deserved={"cpu": "1"})], {"cpu": "8"}],
            [
                {"name": "a", "weight": 1, "action": "convert", "reason": "weight 1 of 4", "deserved": {"cpu": "2"}},
                {"name": "b", "weight": 3, "action": "keep", "reason": "has deserved", "deserved": {"cpu": "1"}},
            ],
        ),
        ("volcano_schedulable", [[node(), node(unschedulable=True)]], [node()]),
        ("volcano_schedulable", [[node(taints=[{"key": "a", "effect": "NoSchedule"}])]], []),
        ("volcano_allocatable", [[node(), node(), node(unschedulable=True)]], {"cpu": "3", "memory": str(2 * 2**30)}),
        ("volcano_allocatable", [[]], {"cpu": "0", "memory": "0"}),
    ],
)
def test_decisions_about_volcano(name: str, arguments: list[t.Any], expected: t.Any) -> None:
    assert FILTERS[name](*arguments) == expected


# ---- grant_policies --------------------------------------------------------------------------------------------------


def test_policies_get_a_sites_settings() -> None:
    binding = {"kind": "ValidatingAdmissionPolicyBinding", "spec": {"policyName": "p", "validationActions": ["Deny"]}}
    (found,) = FILTERS["grant_policies"]([binding], "audit")
    assert found["spec"]["validationActions"] == ["Audit"]


# ---- amounts, queue_headroom, run_outcome ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("quantity", ["1500m"], 1.5),
        ("quantity_compare", ["1000m", 1], 0),
        ("quantity_human", ["1536Mi"], "1.5Gi"),
        ("quantity_sum", [["1", "500m"]], "1500m"),
        ("resources_sum", [[{"cpu": 1}, {"cpu": 2}]], {"cpu": "3"}),
        ("queue_headroom", [queue("a")], {}),
        (
            "run_outcome",
            [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "status": {"state": {"phase": "Running"}}}],
            {"state": "running", "reason": "", "final": False, "succeeded": False},
        ),
    ],
)
def test_what_people_calculate(name: str, arguments: list[t.Any], expected: t.Any) -> None:
    assert FILTERS[name](*arguments) == expected
