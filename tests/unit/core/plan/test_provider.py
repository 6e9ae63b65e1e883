# SPDX-License-Identifier: Apache-2.0
"""Which provider `auto` chooses: design.md 5, line by line."""

from __future__ import annotations

import json

import pytest
from paddleflow_core.plan.provider import Choice, choose

URL = "https://example.org/k3s"


def marker(**content: str) -> str:
    return json.dumps(content)


@pytest.mark.parametrize("provider", ["existing", "k3s", "embedded"])
def test_a_provider_that_is_asked_for_is_taken_whatever_else_is_there(provider: str) -> None:
    choice = choose(provider, marker=marker(provider=provider), kubeconfig="/a", k3s_reachable=True)
    assert choice == Choice(
        provider,
        f"The provider is {provider} because cluster_provider says so.",
        made="" if provider == "existing" else provider,
    )


@pytest.mark.parametrize(("provider", "made"), [("k3s", "embedded"), ("embedded", "k3s")])
def test_a_cluster_is_never_treated_as_one_of_another_provider(provider: str, made: str) -> None:
    choice = choose(provider, marker=marker(provider=made, state="installing"))
    assert choice.refused == (
        f"an earlier run made a cluster of provider {made} here, but cluster_provider is {provider}: set it to {made} to go"
        " on with that cluster or to take it away (paddleflow.core.reset), or set another kubernetes_instance."
    )
    # A cluster that is there already is only used, whatever else is on the host.
    assert choose("existing", marker=marker(provider=made)).refused == ""
    assert choose("auto", marker=marker(provider=made)).refused == ""


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^cluster_provider is .k8s., but it must be one of existing, k3s, embedded"):
        choose("k8s")


def test_auto_takes_the_cluster_that_an_earlier_run_made() -> None:
    choice = choose("auto", marker=marker(provider="embedded", state="ready"), k3s_reachable=True, k3s_url=URL)
    reason = "The provider is embedded because an earlier run made a cluster of that kind here."
    assert choice == Choice("embedded", reason, made="embedded")


def test_auto_goes_on_with_a_cluster_that_an_earlier_run_did_not_finish() -> None:
    choice = choose("auto", marker=marker(provider="k3s", state="installing"))
    reason = "The provider is k3s because an earlier run started a cluster of that kind here."
    assert choice == Choice("k3s", reason, made="k3s")


def test_auto_takes_k3s_when_its_release_can_be_downloaded() -> None:
    choice = choose("auto", k3s_reachable=True, k3s_url=URL)
    assert choice == Choice("k3s", f"The provider is k3s because its release can be downloaded from {URL}.")


def test_auto_takes_k3s_when_its_binary_is_given() -> None:
    choice = choose("auto", k3s_file="/opt/k3s", k3s_reachable=False, k3s_url=URL)
    assert choice == Choice("k3s", "The provider is k3s because its binary was given as /opt/k3s.")


def test_auto_else_compiles_kubernetes() -> None:
    assert choose("auto", k3s_url=URL) == Choice(
        "embedded",
        f"The provider is embedded because K3s' release cannot be downloaded from {URL}; Kubernetes is compiled instead.",
    )
    assert choose("auto").reason == (
        "The provider is embedded because no checksum of K3s' release is set (artifacts_k3s_sha256), and what cannot be checked"
        " is not downloaded; Kubernetes is compiled instead."
    )


def test_auto_takes_a_cluster_that_is_named() -> None:
    assert choose("auto", kubeconfig="/home/ann/lab.conf", k3s_reachable=True) == Choice(
        "existing", "The provider is existing because /home/ann/lab.conf was named."
    )
    assert choose("auto", kubeconfig="/home/ann/lab.conf", context="lab").reason == (
        "The provider is existing because the context lab of /home/ann/lab.conf was named."
    )
    assert choose("auto", context="lab").provider == "existing"


def test_auto_takes_a_named_cluster_even_where_it_made_one() -> None:
    assert choose("auto", marker=marker(provider="embedded"), kubeconfig="/lab.conf").provider == "existing"


def test_naming_the_kubeconfig_of_our_own_cluster_is_not_naming_another() -> None:
    choice = choose("auto", marker=marker(provider="embedded"), kubeconfig="/own.conf", own_kubeconfig="/own.conf")
    assert choice.provider == "embedded"


def test_auto_never_takes_a_cluster_because_the_environment_has_a_kubeconfig() -> None:
    choice = choose("auto", ambient="/home/ann/.kube/config", k3s_reachable=True, k3s_url=URL)
    assert choice == Choice(
        "k3s",
        f"The provider is k3s because its release can be downloaded from {URL}. The KUBECONFIG of the environment"
        " (/home/ann/.kube/config) is left alone: a cluster is used when it is named.",
    )


def test_without_a_marker_it_is_a_first_run() -> None:
    assert choose("auto", marker=None) == choose("auto")
    assert choose("auto").refused == ""


@pytest.mark.parametrize(
    ("text", "damage"),
    [
        ("{", "Expecting"),
        ("[]", "it holds no JSON object"),
        ("", "it is empty"),  # after a crash, or on a full disk
        (" \n", "it is empty"),
        ("{}", "its provider is None"),
        ('{"provider": "existing"}', "its provider is 'existing'"),
        ('{"provider": ["k3s"]}', "its provider is ['k3s']"),
    ],
)
def test_auto_does_not_guess_what_a_damaged_marker_said(text: str, damage: str) -> None:
    choice = choose("auto", marker=text, k3s_reachable=True, k3s_url=URL)
    assert choice.refused.startswith(
        f"it cannot be told which cluster an earlier run made here, because the file is damaged ({damage}"
    )
    assert choice.refused.endswith(
        ": set cluster_provider to the provider that it had, embedded or k3s, as in make down"
        ' ARGS="-e cluster_provider=embedded".'
    )
    # Named, it can be repaired or taken away; and a cluster that is named has nothing to do with it.
    assert choose("embedded", marker=text).refused == ""
    assert choose("auto", marker=text, kubeconfig="/lab.conf").refused == ""
