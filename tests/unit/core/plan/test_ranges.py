# SPDX-License-Identifier: Apache-2.0
"""Addresses of ranges that do not begin or end where a byte does."""

from __future__ import annotations

import ipaddress

import pytest
from paddleflow_core.plan.ranges import address_of


@pytest.mark.parametrize(
    ("range_", "address"),
    [
        ("10.203.0.0/16", "10.203.0.10"),
        ("10.203.7.16/28", "10.203.7.26"),
        ("10.203.7.128/25", "10.203.7.138"),
        ("10.203.7.240/28", "10.203.7.250"),
        ("10.16.0.0/12", "10.16.0.10"),
    ],
)
def test_the_dns_of_a_cluster_lies_in_its_range(range_: str, address: str) -> None:
    assert address_of(range_, 10) == address
    assert ipaddress.IPv4Address(address) in ipaddress.IPv4Network(range_)


@pytest.mark.parametrize(("range_", "number"), [("10.203.0.0/29", 10), ("10.203.0.0/29", -1)])
def test_a_range_has_no_address_outside(range_: str, number: int) -> None:
    with pytest.raises(ValueError, match=rf"the range 10.203.0.0/29 holds 8 addresses and has no number {number}"):
        address_of(range_, number)


def test_what_is_no_range_is_said() -> None:
    with pytest.raises(ValueError, match="has host bits set"):
        address_of("10.203.0.5/16", 10)
