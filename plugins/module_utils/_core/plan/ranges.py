# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Addresses of an IPv4 range by their number, as Kubernetes counts them."""

from __future__ import annotations

import ipaddress


def address_of(range_: str, number: int) -> str:
    """
    >>> address_of("10.203.7.16/28", 10)
    '10.203.7.26'

    :param number: 0 is the range's first address, which names the network
    :raises ValueError: when it is no range, or has no such address
    """
    network = ipaddress.IPv4Network(range_)
    if not 0 <= number < network.num_addresses:
        raise ValueError(f"the range {range_} holds {network.num_addresses} addresses and has no number {number}")
    return str(network[number])
