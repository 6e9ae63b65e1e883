# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Which kind of cluster an installation uses.

``auto`` never touches a cluster that it did not make unless one is named: a KUBECONFIG that happens to be in the
environment is not a name, a kubeconfig or context given to Ansible (variable, K8S_AUTH_*) is.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass

PROVIDERS = ("existing", "k3s", "embedded")


@dataclass(frozen=True)
class Choice:
    provider: str
    reason: str
    # Why the run must not go on; empty: it may.
    refused: str = ""
    # The provider of the cluster that an earlier run made here; empty: none did.
    made: str = ""


def choose(
    requested: str,
    *,
    marker: str | None = None,
    kubeconfig: str = "",
    context: str = "",
    own_kubeconfig: str = "",
    k3s_file: str = "",
    k3s_reachable: bool = False,
    k3s_url: str = "",
    ambient: str = "",
) -> Choice:
    """The provider and the reason as one sentence, and a refusal when another provider's cluster is here.

    :param requested: existing, k3s, embedded or auto
    :param marker: text of ``<data>/install.json``, which every installation of ours leaves behind; none: there is no file
    :param kubeconfig: path of a kubeconfig that the user named for this run; likewise ``context``
    :param own_kubeconfig: path of the kubeconfig of the cluster that an earlier run made, unless the marker names it; naming
        it names that cluster
    :param k3s_file: K3s' binary as a local file; ``k3s_reachable`` tells whether ``k3s_url`` answered, which is empty as
        long as no checksum of the release is known
    :param ambient: value of KUBECONFIG, only ever mentioned
    :raises ValueError: when ``requested`` is not known
    """
    found, damage = _read(marker)
    made = str(found.get("provider", ""))
    own_kubeconfig = str(found.get("kubeconfig") or own_kubeconfig)
    if requested in PROVIDERS:
        # Neither may be put over the other, and one's removal knows nothing of the other: what runs would be left alone.
        refused = (
            f"an earlier run made a cluster of provider {made} here, but cluster_provider is {requested}: set it to {made} to"
            " go on with that cluster or to take it away (paddleflow.core.reset), or set another kubernetes_instance."
            if made and requested not in (made, "existing")
            else ""
        )
        return Choice(requested, f"The provider is {requested} because cluster_provider says so.", refused, made)
    if requested != "auto":
        raise ValueError(f"cluster_provider is {requested!r}, but it must be one of existing, k3s, embedded and auto.")
    if (kubeconfig and not (made and kubeconfig == own_kubeconfig)) or (context and not kubeconfig):
        name = " of ".join([*([f"the context {context}"] if context else []), *([kubeconfig] if kubeconfig else [])])
        return Choice("existing", f"The provider is existing because {name} was named.", made=made)
    if damage:
        refused = (
            f"it cannot be told which cluster an earlier run made here, because the file is damaged ({damage}): set"
            ' cluster_provider to the provider that it had, embedded or k3s, as in make down ARGS="-e cluster_provider=embedded".'
        )
        return Choice("existing", "The provider is not known.", refused)
    if made:
        how = "started" if found.get("state") == "installing" else "made"
        reason = f"The provider is {made} because an earlier run {how} a cluster of that kind here."
        return Choice(made, reason, made=made)
    untouched = (
        f" The KUBECONFIG of the environment ({ambient}) is left alone: a cluster is used when it is named."
        if ambient
        else ""
    )
    if k3s_file:
        return Choice("k3s", f"The provider is k3s because its binary was given as {k3s_file}.{untouched}")
    if k3s_reachable:
        return Choice("k3s", f"The provider is k3s because its release can be downloaded from {k3s_url}.{untouched}")
    why = (
        f"K3s' release cannot be downloaded from {k3s_url}"
        if k3s_url
        else "no checksum of K3s' release is set (artifacts_k3s_sha256), and what cannot be checked is not downloaded"
    )
    return Choice("embedded", f"The provider is embedded because {why}; Kubernetes is compiled instead.{untouched}")


def _read(marker: str | None) -> tuple[dict[str, t.Any], str]:
    """What the marker says, or what is wrong with it."""
    if marker is None:
        return {}, ""
    if not marker.strip():
        return {}, "it is empty"
    try:
        found = json.loads(marker)
    except ValueError as error:
        return {}, str(error)
    if not isinstance(found, dict):
        return {}, "it holds no JSON object"
    if found.get("provider") not in ("k3s", "embedded"):
        return {}, f"its provider is {found.get('provider')!r}"
    return found, ""
