# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Whether an API server is asked through a proxy, and what the proxy is told."""

from __future__ import annotations

import base64
import re
import typing as t
from urllib.parse import SplitResult, unquote, urlsplit

from .errors import ConfigError

if t.TYPE_CHECKING:
    from collections.abc import Mapping

# Go never sends these to a proxy of the environment, and so kubectl does not.
_LOCAL = "localhost,127.0.0.0/8,::1"


def choose(server: SplitResult, asked: str, configured: str, no_proxy: str, environment: Mapping[str, str]) -> str:
    """The proxy's URL, or nothing: one that was asked for here, else the kubeconfig's, else the environment's.

    NO_PROXY of the environment exempts nothing from a kubeconfig's proxy-url, which is meant for this very server.

    :param asked: the option proxy or its variable; ``no_proxy`` likewise
    :param configured: proxy-url of the kubeconfig
    """
    url = asked or configured or _variable(environment, f"{server.scheme}_proxy")
    exempt = no_proxy or ("" if configured and not asked else _variable(environment, "no_proxy"))
    if url and not asked and not configured:
        exempt = f"{exempt},{_LOCAL}"
    if not url or _exempted(server.hostname or "", server.port or (443 if server.scheme == "https" else 80), exempt):
        return ""
    url = url if "://" in url else f"http://{url}"
    parts(url, ConfigError(f"the proxy {without_password(url)}", "is no HTTP proxy", "give http://host:port"))
    return url


def parts(url: str, otherwise: ConfigError) -> SplitResult:
    """Of an address that HTTP is spoken to.

    :raises ConfigError: ``otherwise``; not with Python's reason, which may quote a password
    """
    try:
        found = urlsplit(url)
        _port = found.port  # a wrong one is told only when it is read
    except ValueError:
        raise otherwise from None
    # Of a zone of IPv6 a percent sign. Others are a template that was not expanded, or a slip.
    if found.scheme not in ("http", "https") or not re.fullmatch(r"[\w.:%-]+", found.hostname or ""):
        raise otherwise
    return found


def headers(options: Mapping[str, str]) -> dict[str, str]:
    """What kubernetes.core's proxy_headers mean (the arguments of urllib3's make_headers)."""
    found = {}
    if options.get("proxy_basic_auth"):
        found["proxy-authorization"] = basic(options["proxy_basic_auth"])
    if options.get("basic_auth"):
        found["authorization"] = basic(options["basic_auth"])
    if options.get("user_agent"):
        found["user-agent"] = options["user_agent"]
    return found


def login_of(url: str) -> dict[str, str]:
    """The header for a user and password in the proxy's URL, which urllib3 ignores."""
    to = urlsplit(url)
    if not to.username:
        return {}
    return {"proxy-authorization": basic(f"{unquote(to.username)}:{unquote(to.password or '')}")}


def basic(user_and_password: str) -> str:
    return "Basic " + base64.b64encode(user_and_password.encode()).decode("ascii")


def password_of(url: t.Any) -> str:
    """As it is written in the URL, whatever else is wrong with that."""
    return str(url or "").rpartition("://")[2].rpartition("@")[0].partition(":")[2]


def without_password(url: str) -> str:
    scheme, separator, rest = url.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name.upper()) or environment.get(name) or ""


def _exempted(host: str, port: int, no_proxy: str) -> bool:
    from ..plan.no_proxy import uncovered

    entries = []
    for entry in no_proxy.split(","):
        name, _colon, only = entry.strip().rpartition(":")
        if name and only.isdigit() and (":" not in name or name.endswith("]")):
            entries.append(name if int(only) == port else "")
        else:
            # Others write all names below a domain with a star.
            entries.append(entry.strip().removeprefix("*") or entry.strip())
    return not uncovered(",".join(entries), [host])
