# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Credentials that a program (exec) or an identity provider (OIDC, GCP) gives out: the one use of the official client.

It is 75 MB and takes half a second to import, so it is an extra, and loaded only when a kubeconfig's user needs it.
"""

from __future__ import annotations

import sys
import typing as t

from .connection import Credentials
from .errors import ConfigError

if t.TYPE_CHECKING:
    from collections.abc import Mapping


def log_in(
    user: Mapping[str, t.Any], cluster: Mapping[str, t.Any], source: str, environment: Mapping[str, str]
) -> Credentials:
    """Runs the program, or asks the provider.

    :param user: the user's entry of a kubeconfig, with absolute paths; likewise ``cluster``
    :param environment: what the program sees besides the environment of this process
    """
    program = dict(user.get("exec") or {})
    if program:
        how = f"logs in with the program {program.get('command')}"
        own = [{"name": name, "value": value} for name, value in environment.items()]
        program["env"] = [*own, *(program.get("env") or ())]
    else:
        how = f"logs in with the provider {user['auth-provider'].get('name')}"
    try:
        made = _ask(program, user, cluster)
    except ImportError as error:
        remedy = f"install 'paddleflow[kubernetes]' for {sys.executable}, or use a token"
        raise ConfigError(source, f"{how}, which needs the Python package {error.name}", remedy) from None
    except Exception as error:
        # Theirs, and those of each library below: whatever it is, the user could not be logged in.
        said = " ".join(str(error).split())[:400] or type(error).__name__
        raise ConfigError(source, f"{how}, which failed ({said})", "run it by hand, or log in again") from error
    if made in (Credentials(), Credentials(certificate=made.certificate)):
        raise ConfigError(source, f"{how}, which gave no credentials", "run it by hand, or log in again")
    return made


def _ask(program: Mapping[str, t.Any], user: Mapping[str, t.Any], cluster: Mapping[str, t.Any]) -> Credentials:
    from kubernetes.config import kube_config

    official: t.Any = kube_config  # it says that it is typed, and is not
    if program:
        # Not through its loader, which only logs why a program failed, and writes keys to files.
        node = official.ConfigNode
        status = official.ExecProvider(node("exec", dict(program)), None, node("cluster", dict(cluster))).run()
        return Credentials(
            token=str(status.get("token") or ""),
            certificate=str(status.get("clientCertificateData") or "").encode(),
            key=str(status.get("clientKeyData") or "").encode(),
        )
    # Without the cluster's authority, which it would write to a file.
    config = {
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}],
        "clusters": [{"name": "one", "cluster": {"server": cluster["server"]}}],
        "users": [{"name": "one", "user": {"auth-provider": user["auth-provider"]}}],
    }
    settings = official.Configuration()
    official.load_kube_config_from_dict(config, client_configuration=settings, persist_config=False)
    # Its name was `authorization` before version 36.
    token = settings.api_key.get("BearerToken") or settings.api_key.get("authorization") or ""
    return Credentials(token=token.removeprefix("Bearer "))
