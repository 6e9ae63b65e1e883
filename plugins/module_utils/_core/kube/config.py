# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Which API server, as whom: from options, the environment and files, in the order of kubernetes.core.

1. an option, else its K8S_AUTH_* variable, one by one;
2. unless these name a host and credentials, the first of: the kubeconfig option, KUBECONFIG, the service account of a
   pod (not when a context is named), ~/.kube/config, K3s' own file.

What 1 gives replaces what 2 says: a host the server, credentials all credentials of the kubeconfig's user. (Had they
been mixed, a client certificate would win over a token, and the request be made by somebody else.)
"""

from __future__ import annotations

import functools
import os
import typing as t
from pathlib import Path

from . import kubeconfig, proxy
from .connection import Connection, Credentials
from .errors import ConfigError

if t.TYPE_CHECKING:
    from collections.abc import Mapping

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
K3S = Path("/etc/rancher/k3s/k3s.yaml")

# Each option with the other name that kubernetes.core knows it by, also as a variable.
_OPTIONS = {
    "kubeconfig": "",
    "context": "",
    "host": "",
    "api_key": "",
    "username": "",
    "password": "",
    "validate_certs": "verify_ssl",
    "ca_cert": "ssl_ca_cert",
    "client_cert": "cert_file",
    "client_key": "key_file",
    "proxy": "",
    "no_proxy": "",
    "impersonate_user": "",
    "impersonate_groups": "",
}
_PROXY_HEADERS = ("proxy_basic_auth", "basic_auth", "user_agent")
_FALSE = ("0", "false", "no", "off", "f", "n")


class _Given(t.NamedTuple):
    values: Mapping[str, t.Any]
    # Where each came from: "the option host", "K8S_AUTH_HOST".
    origins: Mapping[str, str]

    def named(self, *names: str) -> str:
        return " and ".join(self.origins[name] for name in names if name in self.origins)

    def __call__(self, name: str) -> str:
        return str(self.values.get(name) or "")


def resolve(
    options: Mapping[str, t.Any],
    environment: Mapping[str, str],
    *,
    service_account: Path = SERVICE_ACCOUNT,
    k3s: Path = K3S,
) -> Connection:
    """The connection that the options and the environment name. Reads files; asks no server.

    :raises ConfigError: when nothing names a cluster, or what names it is wrong
    """
    given = _given(options, environment)
    credentials = _credentials(given)
    found = None if given("host") and credentials else _found(given, environment, service_account, k3s)
    made = _overridden(found, given, credentials)
    server = made.server.rstrip("/")
    found_server = f"names the server {proxy.without_password(server)!r}"
    wrong = ConfigError(made.source, found_server, "write it as https://host:port")
    parts = proxy.parts(server, wrong)
    if parts.username or parts.query:
        raise wrong
    url = proxy.choose(parts, given("proxy"), made.proxy, given("no_proxy"), environment)
    headers = proxy.headers(given.values["proxy_headers"])
    return made._replace(server=server, proxy=url, proxy_headers=headers)


def _given(options: Mapping[str, t.Any], environment: Mapping[str, str]) -> _Given:
    values: dict[str, t.Any] = {}
    origins: dict[str, str] = {}
    for name, other in _OPTIONS.items():
        for key in filter(None, (name, other)):
            variable = f"K8S_AUTH_{key.upper()}"
            if options.get(key) not in (None, ""):
                values[name], origins[name] = options[key], f"the option {key}"
                break
            if name not in values and environment.get(variable):
                values[name], origins[name] = environment[variable], variable
    if isinstance(values.get("impersonate_groups"), str):
        values["impersonate_groups"] = [one.strip() for one in values["impersonate_groups"].split(",") if one.strip()]
    if isinstance(values.get("validate_certs"), str):
        values["validate_certs"] = values["validate_certs"].lower() not in _FALSE
    headers = dict(options.get("proxy_headers") or {})
    for name in _PROXY_HEADERS:
        headers[name] = headers.get(name) or environment.get(f"K8S_AUTH_PROXY_HEADERS_{name.upper()}") or ""
    values["proxy_headers"] = headers
    return _Given(values, origins)


def _found(given: _Given, environment: Mapping[str, str], service_account: Path, k3s: Path) -> Connection | None:
    context, named = given("context"), given.values.get("kubeconfig")
    origin = given.named("kubeconfig") or "KUBECONFIG"
    if isinstance(named, dict) or (kubeconfig.is_content(named) and origin not in environment):
        source = f"the kubeconfig in {origin}"
        document = kubeconfig.parse(named, source) if isinstance(named, str) else named
        return kubeconfig.connection(kubeconfig.merge([(document, Path.cwd(), source)]), context, environment)
    text = str(named or environment.get("KUBECONFIG") or "")
    if kubeconfig.is_content(text):
        raise ConfigError(origin, "holds a kubeconfig, and not the path of one", "write it to a file, and name that")
    default = Path(environment.get("HOME") or "~", ".kube/config").expanduser()
    paths = _paths(text, environment)
    if not paths:
        inside = None if context else in_cluster(environment, service_account)
        if inside is not None:
            return inside
        paths = [path for path in (default, k3s) if os.access(path, os.R_OK)][:1]
    if paths:
        return kubeconfig.connection(kubeconfig.read(paths), context, environment)
    if given("host"):
        return None
    unreadable = [str(path) for path in (default, k3s) if path.exists()]
    closed = f"; {' and '.join(unreadable)} may not be read by this user" if unreadable else ""
    raise ConfigError(
        "no cluster",
        f"is named by options, K8S_AUTH_*, KUBECONFIG, a pod's service account, {default} or {k3s}{closed}",
        "set kubeconfig, or host and api_key",
    )


def _paths(text: str, environment: Mapping[str, str]) -> list[Path]:
    home = environment.get("HOME") or str(Path("~").expanduser())
    return [
        Path(home + one[1:] if one == "~" or one.startswith("~/") else one) for one in text.split(os.pathsep) if one
    ]


def in_cluster(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> Connection | None:
    """What every pod with a service account finds in itself."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
    if not host or not port or not (folder / "token").is_file():
        return None
    source = "the pod's service account"
    renew = functools.partial(kubeconfig.token_file, folder / "token", source)
    namespace = folder / "namespace"
    return Connection(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        source=source,
        credentials=renew(),
        renew=renew,
        ca=kubeconfig.file_content(folder / "ca.crt", source, "its authority").decode("utf-8", "replace"),
        namespace=namespace.read_text(encoding="utf-8").strip() if namespace.is_file() else "default",
    )


def _overridden(found: Connection | None, given: _Given, credentials: Credentials | None) -> Connection:
    made = found or Connection(server="", source="")
    sources = [made.source] if found else []
    change: dict[str, t.Any] = {}
    if given("host"):
        change["server"] = given("host")
        sources.append(f"the server from {given.named('host')}")
    if credentials is not None:
        change |= {"credentials": credentials, "renew": None}
        names = given.named("api_key", "username", "client_cert")
        sources.append(f"the credentials from {names}")
    if given("ca_cert"):
        change["ca"] = kubeconfig.file_content(
            Path(given("ca_cert")), given.named("ca_cert"), "an authority's certificate"
        ).decode("utf-8", "replace")
    if "validate_certs" in given.values:
        change["verify"] = bool(given.values["validate_certs"])
    groups = given.values.get("impersonate_groups")
    if given("impersonate_user") or groups:
        user = given("impersonate_user")
        change["impersonate"] = kubeconfig.impersonation(user, groups, None, None, given.named("impersonate_groups"))
        sources.append(f"as {user}")
    unused = given.named("kubeconfig", "context") if found is None else ""
    if unused:
        sources.append(f"{unused} not used")
    return made._replace(source=", ".join(sources), **change)


def _credentials(given: _Given) -> Credentials | None:
    token = given("api_key").strip().removeprefix("Bearer ").strip()
    if not token.isprintable() or not token.isascii():
        raise ConfigError(given.named("api_key"), "holds characters that no token has", "give the token alone")
    if bool(given("client_cert")) != bool(given("client_key")) and not token:
        one, other = ("client_cert", "client_key") if given("client_cert") else ("client_key", "client_cert")
        raise ConfigError(given.named(one), f"comes without {other}", "give both, or neither")
    if token:
        return Credentials(token=token)
    if given("client_cert"):
        return Credentials(
            certificate=kubeconfig.file_content(
                Path(given("client_cert")), given.named("client_cert"), "a certificate"
            ),
            key=kubeconfig.file_content(Path(given("client_key")), given.named("client_key"), "a key"),
        )
    return Credentials(username=given("username"), password=given("password")) if given("username") else None
