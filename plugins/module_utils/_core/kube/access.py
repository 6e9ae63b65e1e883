# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Who may do what, as the API server answers it."""

from __future__ import annotations

import typing as t

from .errors import Asked

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from .client import Client
    from .kinds import Kind


class Access(t.NamedTuple):
    allowed: bool
    reason: str


def can(
    client: Client,
    verb: str,
    kind: Kind,
    *,
    namespace: str = "",
    name: str = "",
    subresource: str = "",
    user: str = "",
    groups: Sequence[str] = (),
    deadline: float | None = None,
) -> Access:
    """Whether we may do it, or ``user``, when we may ask about others. Nothing is stored."""
    attributes = {
        "verb": verb,
        "group": kind.group,
        "resource": kind.plural,
        "subresource": subresource,
        "namespace": namespace,
        "name": name,
    }
    spec: dict[str, t.Any] = {"resourceAttributes": {key: value for key, value in attributes.items() if value}}
    review = "SelfSubjectAccessReview"
    if user:
        review, spec = "SubjectAccessReview", {**spec, "user": user, "groups": list(groups)}
    answer = client.transport.request(
        "POST",
        f"/apis/authorization.k8s.io/v1/{review.lower()}s",
        body={"apiVersion": "authorization.k8s.io/v1", "kind": review, "spec": spec},
        asked=Asked("ask for permission to", f"{verb} {kind.kind}", name, namespace, kind.api_version),
        deadline=deadline,
        safe=True,
    )
    return Access(bool(answer["status"].get("allowed")), str(answer["status"].get("reason") or ""))
