# SPDX-License-Identifier: Apache-2.0
"""What preflight's rules take together: both machines, earlier installations, proxies, the report."""

from __future__ import annotations

import json

import pytest
from paddleflow_core.plan.finding import as_data
from paddleflow_core.plan.no_proxy import uncovered
from paddleflow_core.plan.preflight import evaluate, facts_of
from paddleflow_core.plan.preflight_settings import GIB, Settings

from tests.support.preflight_facts import CONTROL, GOOD_PYTHON, K3S, NO_PROXY, NODE, SETTINGS, changed, judged


def test_the_control_node_has_its_own_needs() -> None:
    old = {"python": {"version": [3, 10, 1], "executable": "/usr/bin/python3"}}
    assert judged(control=old) == [
        (
            "error: The Python of the control node (/usr/bin/python3) is 3.10.1, but 3.11 or newer is needed:"
            " run Ansible from a virtual environment of Python 3.11 or newer."
        )
    ]
    assert judged(control={"memory.total": 2 * GIB}) == [
        (
            "error: The memory of the control node is 2.0 GiB, but 3.5 GiB are needed to compile Kubernetes or"
            " Volcano: use a larger machine."
        )
    ]


def test_an_existing_cluster_gets_its_images_from_a_registry() -> None:
    (sentence,) = judged(provider="existing", images=True)
    assert sentence == (
        "error: The variable images_registry is empty, but nothing is put on the nodes of a cluster that is there already, so"
        " they pull the images of the platform: set it to a registry that this machine can push to and the nodes can pull"
        " from (host/prefix)."
    )
    assert judged(provider="existing", images=True, registry="r.example/p") == []
    assert judged(provider="existing", images=False) == []
    assert judged(provider="embedded", images=True) == []


def test_a_cluster_that_nothing_leaves_pulls_from_no_registry() -> None:
    (sentence,) = judged(registry="r.example:5000/p")
    assert sentence == (
        "error: The registry of images_registry (r.example:5000/p) cannot be reached by this cluster, but nothing leaves it, so"
        " that no pod would start any more: set kubernetes_outbound to true as well, or leave images_registry empty: the images"
        " are then imported."
    )
    assert judged(registry="r.example:5000/p", outbound=True) == []
    assert judged(registry="10.201.0.1:5000/p") == [], "on this machine itself"
    assert judged(registry="10.201.0.1/p") == []
    assert judged(registry="r.example:5000/p", **K3S) == []


def test_one_instance_runs_from_one_folder() -> None:
    (sentence,) = judged({"runs_from": "/mnt/big/pf"})
    assert sentence == (
        "error: The instance paddleflow of n1 runs from /mnt/big/pf, but /var/lib/paddleflow would be another cluster of the"
        " same name: leave kubernetes_data_dir at /mnt/big/pf, stop that cluster first, or choose another kubernetes_instance."
    )
    assert judged({"runs_from": "/var/lib/paddleflow"}) == []
    assert judged({"runs_from": "/mnt/big/pf"}, **K3S) == []


def test_what_is_built_here_runs_on_machines_like_this_one() -> None:
    arm = {"architecture": "aarch64"}
    (sentence,) = judged(arm)
    assert sentence == (
        "error: The processor of n1 is aarch64, but programs and images are built on the control node, which is x86_64: run"
        " Ansible on a machine like the node."
    )
    (sentence,) = judged(arm, **K3S)
    assert sentence.endswith("or set images_registry to a registry that has images for it and images_push to false.")
    assert judged(arm, built_for="", **K3S) == [], "somebody else brings the images"


@pytest.mark.parametrize("provider", ["existing", "k3s", "embedded"])
def test_images_are_built_where_debian_packages_can_be_had(provider: str) -> None:
    fedora = {"package_managers": ["dnf"]}
    settings = {
        **(K3S if provider != "embedded" else {}),
        "provider": provider,
        "registry": "r.example/p",
        "outbound": True,
    }
    assert judged(control=fedora, images_built=True, **settings) == [
        (
            "error: The control node has no apt-get, but the platform's images are built there of Debian packages: run Ansible"
            " on Debian or its kin, or set images_registry to a registry that has them and images_push to false."
        )
    ]
    assert judged(control=fedora, images_built=False, **settings) == []
    assert judged(control={"package_managers": ["apt-get"]}, images_built=True, **settings) == []


def test_what_two_directories_need_of_one_file_system_is_added_up() -> None:
    free = {"paths.data.free": 13 * GIB}
    assert judged(free, {"paths.cache.free": 13 * GIB}) == [
        (
            "error: The file system / has 13.0 GiB free, but the data directory /var/lib/paddleflow and the cache directory"
            " /var/cache/paddleflow need 16.0 GiB: free some there, or set kubernetes_data_dir or artifacts_cache_dir to a"
            " directory on a larger one."
        )
    ]
    assert judged(free, {"paths.cache.device": 9, "paths.cache.free": 13 * GIB}) == []
    assert judged(free, {"machine": "m2", "paths.cache.free": 13 * GIB}) == []


def test_a_warm_cache_and_a_finished_installation_need_less() -> None:
    little = {"paths.data.free": 7 * GIB}, {"paths.cache.free": 7 * GIB}
    assert judged(*little, compile=False) == []
    finished = {"marker": {"provider": "embedded", "state": "ready"}, "paths.data.free": 4 * GIB}
    assert judged(finished, {"paths.cache.free": 4 * GIB}, compile=False) == []


def test_a_file_system_without_an_inode_table_has_enough_of_them() -> None:
    assert judged({"paths.data.inodes": None, "paths.data.inodes_free": None, "paths.data.fstype": "btrfs"}) == []


def test_our_own_ports_and_routes_are_no_conflict() -> None:
    taken = {"listeners": [{"port": 6443, "protocol": "tcp", "process": "k3s (process 5)"}]}
    assert judged({**taken, "marker": {"provider": "k3s", "state": "ready"}}, **K3S) == []
    own = [{"destination": "10.202.0.0/16", "interface": "paddleflow"}]
    assert (
        judged({"routes": own, "addresses": [{"interface": "paddleflow", "address": "10.201.0.1", "prefix": 30}]}) == []
    )


def test_a_proxy_that_covers_the_cluster_is_an_error_with_the_value_to_set() -> None:
    proxies = {"https_proxy": "http://***@proxy:3128"}
    assert judged({"proxies": proxies}, {"proxies": proxies}) == [
        (
            "error: The proxy variable https_proxy of the control node (http://***@proxy:3128) also covers localhost,"
            " 127.0.0.1, 10.201.0.1, 10.201.0.2, 10.202.0.0/16, 10.203.0.0/16, .svc, .cluster.local, but the cluster's own"
            f' addresses must be reached directly: run again after: export NO_PROXY="{NO_PROXY}" no_proxy="{NO_PROXY}".'
        )
    ]


def test_of_an_existing_cluster_only_what_is_named_must_not_go_through_a_proxy() -> None:
    """The ranges of pods and services that the variables name are those of a cluster that is made here."""
    settings = {**SETTINGS, "provider": "existing", "compile": False}
    control = changed(CONTROL, {"proxies": {"HTTPS_PROXY": "http://proxy"}})
    assert evaluate(None, control, Settings.from_data(settings)) == []
    (finding,) = evaluate(None, control, Settings.from_data({**settings, "api_hosts": ["api.lab"]}))
    assert finding.found == "(http://proxy) also covers api.lab"


def test_the_value_to_set_keeps_what_was_exempt_and_is_then_enough() -> None:
    settings = {"HTTPS_PROXY": "http://proxy", "NO_PROXY": "intranet.example, 10.202.0.0/15,localhost"}
    (sentence,) = judged(control={"proxies": settings})
    value = "intranet.example,10.202.0.0/15,localhost,127.0.0.1,10.201.0.1,10.201.0.2,.svc,.cluster.local"
    assert f'export NO_PROXY="{value}" no_proxy="{value}"' in sentence
    assert judged(control={"proxies": {**settings, "NO_PROXY": value}}) == []
    assert judged(control={"proxies": {**settings, "NO_PROXY": "*"}}) == []
    # Programs differ in which spelling they read.
    assert judged(control={"proxies": {**settings, "NO_PROXY": value, "no_proxy": "localhost"}}) != []


def test_a_remote_node_answers_for_its_own_environment() -> None:
    (sentence,) = judged({"machine": "m2", "proxies": {"http_proxy": "http://proxy"}})
    assert sentence.startswith(
        "error: The proxy variable http_proxy of the node n1 (http://proxy) also covers localhost"
    )


@pytest.mark.parametrize(
    ("no_proxy", "target", "covered"),
    [
        ("10.0.0.0/8", "10.202.0.0/16", True),
        ("10.202.0.0/17", "10.202.0.0/16", False),
        ("10.201.0.2", "10.201.0.2", True),
        ("10.201.0.2", "10.201.0.3", False),
        ("example.org", "api.example.org", True),
        ("example.org", "api.badexample.org", False),
        (".example.org", "example.org", False),
        ("svc", ".svc", True),
        ("api.lab", "API.lab", True),
        ("", "localhost", False),
        ("2001:db8::/32", "2001:db8::1", True),
        ("2001:db8::/32", "10.0.0.1", False),
    ],
)
def test_what_no_proxy_exempts(no_proxy: str, target: str, covered: bool) -> None:
    assert (uncovered(no_proxy, [target]) == []) is covered


def test_without_root_only_that_is_said_of_the_kernel() -> None:
    refused = {"netns": "unshare: Operation not permitted", "mountns": "unshare: Operation not permitted", "fuse": None}
    assert len(judged({"uid": 1000, "features": refused})) == 1


def test_a_probe_that_could_not_run_is_a_finding() -> None:
    results = {"rc": 127, "stdout": "", "stderr": "/bin/sh: 1: /opt/python: not found\n"}
    found = evaluate(facts_of(results), None, Settings.from_data(SETTINGS))
    assert [finding.message for finding in found] == [
        "The Python of the node n1 could not run the probe (/bin/sh: 1: /opt/python: not found), but Python 3.9 or newer"
        " is needed: " + GOOD_PYTHON
    ]
    assert facts_of({"rc": 1, "stdout": "", "stderr": ""}) == {"unreadable": "exit code 1"}
    assert facts_of({"skipped": True}) is None
    assert facts_of(None) is None
    assert facts_of({"rc": 0, "stdout": "motd\r\n" + json.dumps({"uid": 0}) + "\r\nbye"}) == {"uid": 0}


def test_a_python_that_cannot_even_run_the_probe_says_its_version_only() -> None:
    node = {"python": {"version": [2, 7, 18], "executable": "/usr/bin/python"}}
    (finding,) = evaluate(node, None, Settings.from_data(SETTINGS))
    assert finding.message.startswith(
        "The Python of the node n1 (/usr/bin/python) is 2.7.18, but 3.9 or newer is needed"
    )


def test_all_findings_are_in_one_report_errors_first() -> None:
    node = changed(NODE, {"features.fuse": "there is no /dev/fuse", "uid": 0, "kernel": "5.4.0", "hostname": "a_b"})
    data = as_data(evaluate(node, None, Settings.from_data(SETTINGS)), "preflight of n1")
    lines = data["report"].splitlines()
    assert lines[0] == "preflight of n1: 2 errors and 1 warning; nothing was changed"
    assert [line.split(":")[0].strip() for line in lines[1:]] == ["error", "error", "warning"]
    assert len(data["errors"]) == 2
    assert data["notes"] == []
    assert as_data([], "x")["report"] == ""


def test_without_an_error_the_report_does_not_say_that_nothing_was_changed() -> None:
    node = changed(NODE, {"capabilities.sys_resource": False})
    assert as_data(evaluate(node, None, Settings.from_data(SETTINGS)), "x")["report"].splitlines()[0] == "x: 1 note"


def test_a_fact_that_is_not_there_is_not_judged() -> None:
    assert judged({"sent": None}) == []
    assert judged({"cgroup": None}) == []
    assert judged({"paths": {}}) == []
    assert judged(pod_cidr="") == []
    assert judged(control={"proxies": {"NO_PROXY": "localhost"}}) == []


def test_ports_that_nothing_of_ours_needs_may_be_taken() -> None:
    assert judged({"listeners": [{"port": 22, "protocol": "tcp", "process": "sshd (process 9)"}]}, **K3S) == []


def test_settings_come_as_ansible_gives_them() -> None:
    settings = Settings.from_data({"python_node": "3.10", "data_gib": "2.5", "nodes": "3", "compile": "True"})
    assert (settings.python_node, settings.data_gib, settings.nodes, settings.compile) == ((3, 10), 2.5, 3, True)
    with pytest.raises(ValueError, match="preflight's setting data_gib is 'much', but it must be of the kind float"):
        Settings.from_data({"data_gib": "much"})
    with pytest.raises(ValueError, match="preflight's setting compile is 'perhaps', but it must be of the kind bool"):
        Settings.from_data({"compile": "perhaps"})
    with pytest.raises(ValueError, match="preflight knows no setting 'dta_gib'; it knows api_hosts"):
        Settings.from_data({"dta_gib": 1})
