# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What one does with objects: get, list, apply, create, patch, delete.

Everything raises the errors of errors.py. A deadline is a ``time.monotonic()``; without one, the transport's timeout holds.
"""

from __future__ import annotations

import typing as t

from ..plan.compare import MANAGER
from .errors import Asked, BadRequestError, GoneError, KindNotServedError, NotFoundError
from .kinds import Kind, known

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .discovery import Discovery
    from .transport import Transport

    Query: t.TypeAlias = "list[tuple[str, str | int]]"
    Propagation = t.Literal["Background", "Foreground", "Orphan"]

Object = dict[str, t.Any]

PAGE = 500
_APPLY = "application/apply-patch+yaml"  # JSON is YAML too
_MERGE, _JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"


class Listing(t.NamedTuple):
    items: list[t.Any]
    # From here on a watch tells what changes.
    resource_version: str


class Client:
    """
    :param discovery: for kinds that are not in our table; without one, these are not known
    """

    def __init__(self, transport: Transport, discovery: Discovery | None = None, manager: str = MANAGER) -> None:
        self.transport = transport
        self.namespace = transport.connection.namespace
        self._discovery, self.manager = discovery, manager

    def kind(self, api_version: str, kind: str, *, fresh: bool = False, deadline: float | None = None) -> Kind:
        """``fresh`` asks the server about a kind that discovery remembers."""
        found = known(api_version, kind)
        if found is None and self._discovery is not None:
            return self._discovery.find(api_version, kind, fresh=fresh, deadline=deadline)
        if found is None:
            raise BadRequestError(f"The kind {kind} of {api_version} is not known: correct apiVersion and kind.")
        return found

    def address(self, target: Mapping[str, t.Any], *, deadline: float | None = None) -> tuple[Kind, str, str]:
        """Kind, name and namespace of an object. One that names none, of a kind that is in one, is in the connection's."""
        if not target.get("apiVersion") or not target.get("kind"):
            raise BadRequestError("An object has no apiVersion or no kind, but is nothing without: set both.")
        kind = self.kind(str(target["apiVersion"]), str(target["kind"]), deadline=deadline)
        metadata = target.get("metadata") or {}
        namespace = str(metadata.get("namespace") or "")
        if kind.namespaced and not namespace:
            namespace = self.namespace
        return kind, str(metadata.get("name") or ""), namespace

    def get(self, kind: Kind, name: str, namespace: str = "", *, deadline: float | None = None) -> Object:
        """
        :raises NotFoundError: when it is not there; KindNotServedError when nothing of its kind can be
        """
        asked = _asked("get", kind, name, namespace)
        found: Object = self._send(
            "GET", kind, lambda now: now.object_path(name, namespace), asked=asked, deadline=deadline
        )
        return found

    def find(self, kind: Kind, name: str, namespace: str = "", *, deadline: float | None = None) -> Object | None:
        """As get, and None when the object (or its namespace) is not there. A kind that is not served is still an error."""
        try:
            return self.get(kind, name, namespace, deadline=deadline)
        except KindNotServedError:
            raise
        except NotFoundError:
            return None

    def list(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        page: int = PAGE,
        keep: Callable[[Object], t.Any] | None = None,
        deadline: float | None = None,
    ) -> Listing:
        """All objects (of a namespace) that match both selectors.

        :param keep: what to keep of each object; what is not kept is free before the next page comes
        """
        selectors = {"labelSelector": labels, "fieldSelector": fields}
        query: Query = [(key, text) for key, text in selectors.items() if text]
        try:
            return self._pages(kind, namespace, [("limit", page), *query], keep, deadline)
        except GoneError:
            # Pages are of one moment, which the server forgets after some minutes: once more, now in one piece.
            return self._pages(kind, namespace, query, keep, deadline)

    def _pages(
        self,
        kind: Kind,
        namespace: str,
        query: Query,
        keep: Callable[[Object], t.Any] | None,
        deadline: float | None,
    ) -> Listing:
        items: list[t.Any] = []
        following: Query = []
        while True:
            asked = _asked("list", kind, "", namespace)._replace(note=f"after {len(items)} objects" if items else "")
            whole = [*query, *following]
            page = self._send("GET", kind, lambda now: now.path(namespace), query=whole, asked=asked, deadline=deadline)
            for item in page.get("items") or ():
                # The server leaves these out of a list.
                found = {"apiVersion": kind.api_version, "kind": kind.kind, **item}
                items.append(found if keep is None else keep(found))
            metadata = page.get("metadata") or {}
            if not metadata.get("continue"):
                return Listing(items, str(metadata.get("resourceVersion") or ""))
            following = [("continue", metadata["continue"])]

    def apply(
        self,
        wanted: Mapping[str, t.Any],
        *,
        force_conflicts: bool = False,
        dry_run: bool = False,
        subresource: str = "",
        deadline: float | None = None,
    ) -> Object:
        """Server-side apply: what the object says is ours, and what it said before and does no more is dropped.

        :return: the object as the server has it (or would, in a dry run)
        :raises ConflictError: when a field belongs to another manager and has another value
        """
        kind, name, namespace = self.address(wanted, deadline=deadline)
        applied: Object = self._send(
            "PATCH",
            kind,
            lambda now: now.object_path(name, namespace, subresource),
            query=[*self._write_query(dry_run), *([("force", "true")] if force_conflicts else [])],
            body=wanted,
            content_type=_APPLY,
            asked=_asked("apply", kind, name, namespace, subresource),
            deadline=deadline,
            safe=True,
        )
        return applied

    def create(self, wanted: Mapping[str, t.Any], *, dry_run: bool = False, deadline: float | None = None) -> Object:
        """With ``metadata.generateName`` the server makes the name. Never sent twice: the second would make another."""
        kind, name, namespace = self.address(wanted, deadline=deadline)
        shown = name or str((wanted.get("metadata") or {}).get("generateName") or "")
        created: Object = self._send(
            "POST",
            kind,
            lambda now: now.path(namespace),
            query=self._write_query(dry_run),
            body=wanted,
            asked=_asked("create", kind, shown, namespace),
            deadline=deadline,
        )
        return created

    def patch(
        self,
        kind: Kind,
        name: str,
        change: Mapping[str, t.Any] | Sequence[Mapping[str, t.Any]],
        namespace: str = "",
        *,
        subresource: str = "",
        dry_run: bool = False,
        deadline: float | None = None,
    ) -> Object:
        """By a merge patch (a mapping) or a JSON patch (a list of operations)."""
        patched: Object = self._send(
            "PATCH",
            kind,
            lambda now: now.object_path(name, namespace, subresource),
            query=self._write_query(dry_run),
            body=change,
            content_type=_JSON_PATCH if isinstance(change, list) else _MERGE,
            asked=_asked("patch", kind, name, namespace, subresource),
            deadline=deadline,
        )
        return patched

    def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        propagation: Propagation = "Background",
        uid: str = "",
        resource_version: str = "",
        grace: int | None = None,
        dry_run: bool = False,
        deadline: float | None = None,
    ) -> bool:
        """Whether there was something to delete. It may still be there, until its finalizers are done.

        :param uid: delete only the object that has it, and not one that was made anew meanwhile; ``resource_version``
            likewise, of a state
        :raises ConflictError: when it is another
        """
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
            "preconditions": {key: value for key, value in preconditions.items() if value} or None,
            "gracePeriodSeconds": grace,
            "dryRun": ["All"] if dry_run else None,
        }
        try:
            self._send(
                "DELETE",
                kind,
                lambda now: now.object_path(name, namespace),
                body={key: value for key, value in body.items() if value is not None},
                asked=_asked("delete", kind, name, namespace),
                deadline=deadline,
                safe=bool(uid),
            )
        except KindNotServedError:
            raise
        except NotFoundError:
            return False
        return True

    def version(self, *, deadline: float | None = None) -> Object:
        """``gitVersion`` and what else the server says of itself."""
        found: Object = self.transport.request("GET", "/version", asked=Asked("get the version"), deadline=deadline)
        return found

    def _send(self, method: str, kind: Kind, path: Callable[[Kind], str], **how: t.Any) -> t.Any:
        """What discovery remembered of a kind may have changed since; what our table says has not."""
        try:
            return self.transport.request(method, path(kind), **how)
        except KindNotServedError:
            if self._discovery is None or known(kind.api_version, kind.kind) is not None:
                raise
            now = self.kind(kind.api_version, kind.kind, fresh=True, deadline=how.get("deadline"))
            if now == kind:
                raise
            return self.transport.request(method, path(now), **how)

    def _write_query(self, dry_run: bool) -> Query:
        """Unknown fields are refused: the server would drop them in silence."""
        query: Query = [("fieldManager", self.manager), ("fieldValidation", "Strict")]
        return [*query, ("dryRun", "All")] if dry_run else query


def _asked(verb: str, kind: Kind, name: str, namespace: str, subresource: str = "") -> Asked:
    what = f"{verb} the {subresource} of" if subresource else verb
    return Asked(what, kind.kind, name, namespace, kind.api_version)
