# SPDX-License-Identifier: Apache-2.0
"""Sizes of an embedded cluster's ranges, and the two ends of its link."""

from __future__ import annotations

import pytest

from tests.support.preflight_facts import K3S, Facts, judged


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(
            {"service_cidr": "10.203.0.0/29"},
            "error: The range kubernetes_service_cidr 10.203.0.0/29 holds 8 addresses, but services need at least 16 (the"
            " cluster's DNS has the tenth): set it to one from /12 to /28.",
            id="too few addresses for services",
        ),
        pytest.param(
            {"service_cidr": "11.0.0.0/8"},
            "error: The range kubernetes_service_cidr 11.0.0.0/8 holds 16777216 addresses, but Kubernetes takes at most"
            " 1048576 for services: set it to one from /12 to /28.",
            id="too many addresses for services",
        ),
        pytest.param(
            {"pod_cidr": "10.202.0.0/25"},
            "error: The range kubernetes_pod_cidr 10.202.0.0/25 holds 128 addresses, but pods need at least 256 (kubeadm"
            " asks for them): set it to one from /8 to /24.",
            id="too few addresses for pods",
        ),
        pytest.param(
            {"pod_cidr": "10.202.0.0/24", "max_pods": 254},
            "error: The range kubernetes_pod_cidr 10.202.0.0/24 holds 256 addresses, but pods need at least 512"
            " (kubernetes_max_pods is 254): set it to one from /8 to /23.",
            id="too few addresses for so many pods",
        ),
        pytest.param(
            {"own_addresses": {"kubernetes_host_address": "10.201.0.1", "kubernetes_node_address": "10.201.0.5"}},
            "error: The pair kubernetes_host_address 10.201.0.1 and kubernetes_node_address 10.201.0.5 does not lie within"
            " one range of kubernetes_link_prefix 30, apart from its first and last address, but they are the two ends of"
            " one link: set them to two of one range, such as 10.201.0.1 and 10.201.0.2.",
            id="ends of the link apart",
        ),
        pytest.param(
            {"own_addresses": {"kubernetes_host_address": "10.201.0.2", "kubernetes_node_address": "10.201.0.3"}},
            "error: The pair kubernetes_host_address 10.201.0.2 and kubernetes_node_address 10.201.0.3 does not lie within"
            " one range of kubernetes_link_prefix 30, apart from its first and last address, but they are the two ends of"
            " one link: set them to two of one range, such as 10.201.0.1 and 10.201.0.2.",
            id="an end of the link is its broadcast",
        ),
        pytest.param(
            {"link_prefix": 32},
            "error: The variable kubernetes_link_prefix is 32, but they are the two ends of one link, which takes at least"
            " a /30: set it to 30.",
            id="no room on the link",
        ),
    ],
)
def test_ranges_that_kubernetes_refuses_later_are_refused_before_anything_is_changed(
    settings: Facts, expected: str
) -> None:
    assert judged(**settings) == [expected]


def test_an_end_of_the_link_that_is_no_address_is_said_once() -> None:
    ends = {"kubernetes_host_address": "10.201.0.1", "kubernetes_node_address": "10.201.0"}
    (sentence,) = judged(own_addresses=ends)
    assert sentence.startswith("error: The variable kubernetes_node_address is '10.201.0' (")


@pytest.mark.parametrize(
    "settings",
    [
        {"service_cidr": "10.203.0.16/28", "pod_cidr": "10.202.7.0/24"},
        {"service_cidr": "11.16.0.0/12", "pod_cidr": "10.202.0.0/24", "max_pods": 253},
        {"link_prefix": 24},
        {**K3S, "nodes": 3, "link_prefix": 99, "service_cidr": "10.43.0.0/30"},
    ],
)
def test_what_just_suffices_is_no_finding(settings: Facts) -> None:
    assert judged(**settings) == []
