# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""From the options of a module or plugin to a client, with nothing secret left to be printed."""

from __future__ import annotations

import contextlib
import re
import time
from typing import TYPE_CHECKING, Any

from .._core.kube import config, kubeconfig, proxy
from .._core.kube.client import Client
from .._core.kube.errors import ConfigError
from .._core.kube.transport import Transport
from .._core.plan.compare import MANAGER
from .arguments import AUTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .._core.kube.connection import Connection
    from .module import Module


AGENT = "paddleflow.core"
# What looks like a secret where a kubeconfig cannot be read.
_SECRETIVE = re.compile(r"""(?:token|password|secret|key-data|value)["']?\s*:\s*["']?([^\s"',}]{4,})""")


def client(module: Module, discover: bool = False, manager: str = MANAGER) -> Client:
    """
    :param discover: for kinds beyond those that the client knows of itself
    :raises ConfigError: when nothing names a cluster, or what names it is wrong
    """
    params = module.params
    server = connection(params.get, module.environment)
    # Each writer has a connection of its own.
    writers = {"writers": params["writers"]} if params.get("writers") else {}
    transport = Transport(server, agent=AGENT, before=module.before, **writers)
    module.transport = transport
    if not discover:
        return Client(transport, manager=manager)
    from .._core.kube.discovery import Discovery, cache_folder

    return Client(transport, Discovery(transport, cache_folder(module.environment)), manager)


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


def deadline(module: Module) -> float:
    seconds: int = module.params["wait_timeout"]
    return time.monotonic() + seconds


def warnings(transport: Transport | None) -> list[str]:
    """What the server warned of, of whichever requests."""
    return [f"The API server warns: {text}" for text in transport.warnings] if transport else []


def shown(params: Mapping[str, Any]) -> dict[str, Any]:
    """Options as they may be printed: without objects, among which there may be Secrets, and without a whole kubeconfig."""
    found = dict(params)
    for name in ("definition", "resource_definition"):
        if found.get(name) is not None:
            number = len(found[name]) if isinstance(found[name], list) else 1
            found[name] = f"{number} documents"
    if isinstance(found.get("kubeconfig"), dict) or kubeconfig.is_content(found.get("kubeconfig")):
        found["kubeconfig"] = "given inline"
    return found


def secrets(params: Mapping[str, Any]) -> set[str]:
    """What must not be printed of options that are not secret as a whole. Not every text of a kubeconfig: where the words of
    a login program (aws, the name of a cluster) were masked, they would be so in every name of an object."""
    found = {proxy.password_of(params.get("proxy"))}
    given = params.get("kubeconfig")
    if kubeconfig.is_content(given):
        try:
            given = kubeconfig.parse(given, "")
        except ConfigError:  # which is told later
            found.update(_SECRETIVE.findall(given))
    if isinstance(given, dict):
        for user in _bodies(given.get("users"), "user"):
            found.update(_secrets(user))
        found.update(proxy.password_of(one.get("proxy-url")) for one in _bodies(given.get("clusters"), "cluster"))
    return {text for text in found if text}


def _bodies(entries: Any, key: str) -> list[dict[str, Any]]:
    """Whatever else is wrong with the kubeconfig, which is told later."""
    bodies = [one.get(key) for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []
    return [one for one in bodies if isinstance(one, dict)]


def _secrets(user: Mapping[str, Any]) -> Iterator[str]:
    for name in ("token", "password", "client-key-data"):
        yield str(user.get(name) or "")
    program, provider = user.get("exec"), user.get("auth-provider")
    variables = program.get("env") if isinstance(program, dict) else None
    for one in variables if isinstance(variables, list) else ():
        yield str(one.get("value") or "") if isinstance(one, dict) else ""
    settings = provider.get("config") if isinstance(provider, dict) else None
    for value in settings.values() if isinstance(settings, dict) else ():
        yield str(value or "")
