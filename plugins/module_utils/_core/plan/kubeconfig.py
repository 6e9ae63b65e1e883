# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Which cluster a kubeconfig names, and what can be told to be wrong before it is asked anything."""

from __future__ import annotations

import posixpath
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from . import kubefile
from .certificate import CertificateError, validity
from .finding import Finding
from .no_proxy import uncovered

if t.TYPE_CHECKING:
    from datetime import datetime

SOON_DAYS = 7


@dataclass(frozen=True)
class Target:
    """What is shown of the cluster before it is touched; nothing in it is secret."""

    kubeconfig: str
    context: str
    cluster: str
    server: str
    user: str
    credentials: str
    # The client certificate's file, when it is not in the kubeconfig itself: the caller has to read it.
    certificate_file: str = ""
    proxy: str = ""


def _bad(path: str, found: str, needed: str, remedy: str, check: str = "kubeconfig") -> Finding:
    return Finding("error", check, f"The kubeconfig {path}", found, needed, remedy)


def _credentials(user: Mapping[str, t.Any]) -> str:
    for key, words in (
        (
            "exec",
            f"the program {(user.get('exec') or {}).get('command', '')}"
            if isinstance(user.get("exec"), Mapping)
            else "",
        ),
        ("client-certificate-data", "a client certificate"),
        ("client-certificate", "a client certificate"),
        ("token", "a token"),
        ("tokenFile", "a token file"),
        ("auth-provider", "an auth provider"),
        ("username", "a user name and password"),
    ):
        if user.get(key):
            return words
    return "nothing"


def read_kubeconfig(path: str, config: t.Any, context: str = "") -> tuple[Target | None, list[Finding]]:
    """The cluster that a parsed kubeconfig names, or why it names none."""
    choose = "name another with kubernetes_kubeconfig"
    anew = f"write it anew, or {choose}"
    try:
        found = kubefile.sections(config if isinstance(config, Mapping) else {})
    except kubefile.ShapeError as error:
        return None, [_bad(path, f"has an entry in {error} that is no mapping", "each has to be one", anew)]
    if not found["contexts"]:
        return None, [_bad(path, "holds no contexts", "one is needed", anew)]
    listed = ", ".join(found["contexts"])
    chosen = context or str(config.get("current-context") or "")
    if not chosen:
        remedy = f"set kubernetes_context to one of {listed}"
        return None, [_bad(path, "has no current context", "one has to be chosen", remedy)]
    picked = found["contexts"].get(chosen)
    if picked is None:
        remedy = f"set kubernetes_context to one of {listed}"
        return None, [_bad(path, f"has no context {chosen}", "it was asked for", remedy, "context")]
    findings = []
    cluster_name, user_name = str(picked.get("cluster") or ""), str(picked.get("user") or "")
    cluster = found["clusters"].get(cluster_name)
    user = found["users"].get(user_name)
    fix = f"correct the context {chosen}, or {choose}"
    if not cluster or not cluster.get("server"):
        text = f"has no cluster {cluster_name!r} with a server"
        findings.append(_bad(path, text, f"the context {chosen} refers to it", fix))
    if user is None:
        findings.append(_bad(path, f"has no user {user_name!r}", f"the context {chosen} refers to it", fix))
    if findings or cluster is None or user is None:
        return None, findings
    if _credentials(user) == "nothing" and str(cluster["server"]).startswith("https:"):
        fix = "log in (the cluster's own tool writes them), or fetch the kubeconfig again"
        findings.append(_bad(path, f"gives user {user_name} no credentials", "the API server asks for some", fix))
    file = str(user.get("client-certificate") or "") if not user.get("client-certificate-data") else ""
    target = Target(
        kubeconfig=path,
        context=chosen,
        cluster=cluster_name,
        server=str(cluster["server"]),
        user=user_name,
        credentials=_credentials(user),
        certificate_file=posixpath.join(posixpath.dirname(path), file) if file else "",
        proxy=str(cluster.get("proxy-url") or ""),
    )
    return target, findings


def way(target: Target, proxy: str, no_proxy: str) -> Target:
    """With the proxy that requests go through: the kubeconfig's own always, else the environment's, unless it leaves out the
    server; loopback is never sent to that one.

    :param proxy: HTTPS_PROXY of the environment, ``no_proxy`` its NO_PROXY
    """
    exempt = ",".join(["localhost,127.0.0.0/8,::1", no_proxy])
    through = proxy if uncovered(exempt, [urlsplit(target.server).hostname or ""]) else ""
    return replace(target, proxy=target.proxy or through)


def certificate_findings(target: Target, config: Mapping[str, t.Any], file: str | None, now: datetime) -> list[Finding]:
    """Whether the client certificate is still valid: an API server says only Unauthorized when it is not.

    :param file: content of ``target.certificate_file``
    """
    user = kubefile.sections(config)["users"].get(target.user, {})
    subject = f"The client certificate of user {target.user} in {target.kubeconfig}"
    remedy = "renew it (kubeadm certs renew, or ask who gave it to you), or name another kubeconfig"
    pem = file or ""
    if user.get("client-certificate-data"):
        try:
            pem = kubefile.decoded(user["client-certificate-data"]).decode("ascii", "replace")
        except ValueError:
            pem = ""
    elif not target.certificate_file:
        return []
    elif file is None:
        text = f"cannot be read ({target.certificate_file})"
        return [Finding("error", "client_certificate", subject, text, "the kubeconfig refers to it", remedy)]
    try:
        begin, end = validity(pem)
    except CertificateError as error:
        return [Finding("error", "client_certificate", subject, f"cannot be used ({error})", "one is needed", remedy)]
    if now > end:
        text = f"expired on {end:%Y-%m-%d %H:%M} UTC"
        return [Finding("error", "client_certificate", subject, text, "a valid one is needed", remedy)]
    if now < begin:
        text = f"is valid from {begin:%Y-%m-%d %H:%M} UTC on"
        fix = "set the clock, and let chrony or systemd-timesyncd keep it"
        return [Finding("error", "client_certificate", subject, text, f"it is {now:%Y-%m-%d %H:%M} here", fix)]
    if (end - now).days < SOON_DAYS:
        text = f"expires on {end:%Y-%m-%d %H:%M} UTC"
        return [Finding("warning", "client_certificate", subject, text, "the platform is managed with it", remedy)]
    return []


def unread(path: str, complaint: str) -> Finding:
    """A kubeconfig that could not even be read, from what the module said."""
    if not path:
        fix = "set kubernetes_kubeconfig (or K8S_AUTH_KUBECONFIG) to the cluster's kubeconfig"
        return Finding("error", "kubeconfig", "The provider existing", "was given no kubeconfig", "one is needed", fix)
    if ":" in path:
        fix = "write one file with: kubectl config view --flatten --raw, and set kubernetes_kubeconfig to it"
        return _bad(path, "is a list of files", "one file is needed", fix)
    if "not found" in complaint:
        fix = "set kubernetes_kubeconfig (or K8S_AUTH_KUBECONFIG) to the cluster's kubeconfig"
        return _bad(path, "does not exist", "it was asked for", fix)
    return _bad(path, f"cannot be read ({complaint})", "it was asked for", "run as its owner, or correct the path")


def unparsed(path: str, complaint: str) -> Finding:
    return _bad(path, f"is no YAML ({complaint})", "it has to be", "fetch the cluster's kubeconfig again")
