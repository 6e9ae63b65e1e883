# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What can go wrong between us and an API server. The text of each error is the sentence that a user reads.

    KubeError
    ├── ConfigError               no cluster is named, or what names one is wrong
    ├── BadRequestError           refused before anything was sent: a name that cannot be one
    ├── DeclarationError          what is declared cannot be, as the cluster is
    ├── MissingError              what a declaration begins with is not there
    ├── InUseError                what is to be taken away is needed
    ├── UnreachableError          no answer: DNS, refused, timeout, TLS, proxy, cut off
    └── StatusError               the server answered, and it was no
        ├── UnauthorizedError     401
        ├── ForbiddenError        403
        ├── NotFoundError         404, the object is not there
        │   └── KindNotServedError  404, nothing of its kind can be
        ├── AlreadyExistsError    409 on create
        ├── ConflictError         409: fields of another manager, or another state than was expected
        ├── GoneError             410, a resource version or page that is too old
        ├── TooLargeError         413
        ├── InvalidError          422 and other 4xx: fields that are wrong, or cannot be changed
        ├── ThrottledError        429, after it was waited for
        └── ServerError           5xx, after it was retried where that is safe

answers.py makes a StatusError of an answer, unreachable.py an UnreachableError of an exception.
"""

from __future__ import annotations

import sys
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    Cause = t.Literal["dns", "refused", "timeout", "tls", "proxy", "cut", "network"]


class Asked(t.NamedTuple):
    """What a request was for, in the words of its user."""

    verb: str
    kind: str = ""
    name: str = ""
    namespace: str = ""
    api_version: str = ""
    # What to know beside it: how far a long list had come.
    note: str = ""

    @property
    def object(self) -> str:
        """``ConfigMap team/settings``, or ``ConfigMap in team`` when no single one is meant."""
        if self.name:
            return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"
        return f"{self.kind} in {self.namespace}" if self.namespace else self.kind

    def __str__(self) -> str:
        return f"{self.verb} {self.object}".rstrip() + (f" ({self.note})" if self.note else "")


class KubeError(Exception):
    pass


class ConfigError(KubeError):
    """``<source> <found>: <remedy>.``"""

    def __init__(self, source: str, found: str, remedy: str) -> None:
        self.source, self.found, self.remedy = source, found, remedy
        super().__init__(f"{source[:1].upper()}{source[1:]} {found}: {remedy}.")


def not_installed(source: str, package: str, error: ImportError) -> ConfigError:
    """A task may run on a node, or by another Python than Ansible's own."""
    return ConfigError(
        source,
        f"needs the Python package {package}, which {sys.executable} cannot import ({error})",
        "have the task run on the control node (delegate_to: localhost), "
        f"or run {sys.executable} -m pip install PyYAML urllib3",
    )


class BadRequestError(KubeError):
    pass


class DeclarationError(KubeError):
    pass


class MissingError(KubeError):
    pass


class InUseError(KubeError):
    pass


class UnreachableError(KubeError):
    """``sent`` tells whether the server may have done what was asked."""

    def __init__(self, text: str, cause: Cause, asked: Asked, *, sent: bool) -> None:
        self.cause, self.asked, self.sent = cause, asked, sent
        super().__init__(text)


class StatusError(KubeError):
    def __init__(self, text: str, asked: Asked, code: int, reason: str = "") -> None:
        self.asked, self.code, self.reason = asked, code, reason
        # Seconds that the server asked to wait before the next try.
        self.retry_after = 0.0
        super().__init__(text)


class UnauthorizedError(StatusError):
    pass


class ForbiddenError(StatusError):
    """``permission`` tells missing permission from what admission (policies, quotas, webhooks) refuses."""

    permission = True


class NotFoundError(StatusError):
    pass


class KindNotServedError(NotFoundError):
    pass


class AlreadyExistsError(StatusError):
    pass


class Owner(t.NamedTuple):
    field: str
    manager: str


class ConflictError(StatusError):
    """``owners`` is empty when not fields but a resource version or uid was not the expected one."""

    owners: Sequence[Owner] = ()


class GoneError(StatusError):
    pass


class TooLargeError(StatusError):
    pass


class FieldProblem(t.NamedTuple):
    field: str
    reason: str
    message: str


class InvalidError(StatusError):
    problems: Sequence[FieldProblem] = ()

    @property
    def immutable(self) -> list[str]:
        """The fields that are wrong only because the object exists with another value."""
        return [one.field for one in self.problems if one.reason == "Immutable"]


class ThrottledError(StatusError):
    pass


class ServerError(StatusError):
    pass
