# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""From the options of a module or plugin to a client, with nothing secret left to be printed."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any

from .._core.kube import config
from .._core.kube.client import Client
from .._core.kube.transport import Transport
from .._core.plan.compare import MANAGER
from .arguments import AUTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ansible.module_utils.basic import AnsibleModule

    from .._core.kube.connection import Connection


AGENT = "paddleflow.core"


def client(module: AnsibleModule, discover: bool = False, manager: str = MANAGER) -> Client:
    """
    :raises ConfigError: when nothing names a cluster, or what names it is wrong
    """
    module.no_log_values.update(secrets(module.params))
    return to(module.params, os.environ, discover, manager)


def to(params: Mapping[str, Any], environment: Mapping[str, str], discover: bool, manager: str = MANAGER) -> Client:
    """
    :param discover: for kinds beyond those that the client knows of itself
    :raises ConfigError: when nothing names a cluster, or what names it is wrong
    """
    server = connection(params.get, environment)
    # Each writer has a connection of its own.
    transport = Transport(server, agent=AGENT, **({"writers": params["writers"]} if params.get("writers") else {}))
    if not discover:
        return Client(transport, manager=manager)
    from .._core.kube.discovery import Discovery, cache_folder

    return Client(transport, Discovery(transport, cache_folder(environment)), manager)


def connection(option: Callable[[str], Any], environment: Mapping[str, str]) -> Connection:
    """
    :param option: tells the value of each of the connection's options
    :raises ConfigError: when nothing names a cluster, or what names it is wrong
    """
    given = {name: option(name) for name in AUTH}
    return config.resolve({name: value for name, value in given.items() if value is not None}, environment)


@contextlib.contextmanager
def opened(server: Connection) -> Iterator[Client]:
    """For plugins: unlike that of a module, their process goes on, and the connections must not."""
    transport = Transport(server, agent=AGENT)
    try:
        yield Client(transport)
    finally:
        transport.close()


def deadline(module: AnsibleModule) -> float:
    seconds: int = module.params["wait_timeout"]
    return time.monotonic() + seconds


def secrets(params: Mapping[str, Any]) -> set[str]:
    """What must not be printed of a kubeconfig that was given inline."""
    kubeconfig = params.get("kubeconfig")
    return set(_secrets(kubeconfig.get("users", []))) if isinstance(kubeconfig, dict) else set()


def _secrets(part: Any) -> Iterator[str]:
    """Every text among the users of a kubeconfig that was given inline, but for their names."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key != "name":
                yield from _secrets(value)
    elif isinstance(part, list):
        for value in part:
            yield from _secrets(value)
    elif isinstance(part, str) and part:
        yield part
