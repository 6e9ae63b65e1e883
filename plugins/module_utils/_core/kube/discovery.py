# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Kinds that are not in our table: asked for by group and version, one at a time, and remembered for ten minutes.

One file for each server and user, below the user's own cache folder, which nobody else may read. Whatever is wrong with
it (not writable, damaged, somebody else's) only costs a request.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
import time
import typing as t
from pathlib import Path

from .errors import Asked, BadRequestError, KindNotServedError
from .kinds import Kind, segment

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .transport import Transport

    # By group and version: when it was asked, and by kind the plural and whether it is in namespaces.
    Known = dict[str, tuple[float, dict[str, tuple[str, bool]]]]

SECONDS = 600.0


def cache_folder(environment: Mapping[str, str]) -> Path | None:
    base = environment.get("XDG_CACHE_HOME") or (f"{environment['HOME']}/.cache" if environment.get("HOME") else "")
    return Path(base, "paddleflow", "discovery") if base.startswith("/") else None


class Discovery:
    def __init__(self, transport: Transport, folder: Path | None, now: Callable[[], float] = time.time) -> None:
        connection = transport.connection
        identity = (connection.server, connection.tls_server_name, connection.source, connection.impersonate)
        name = hashlib.sha256(repr(identity).encode()).hexdigest()
        self._file = folder / f"{name}.json" if folder is not None else None
        self._transport, self._now = transport, now
        self._lock = threading.Lock()
        self._known: Known | None = None

    def find(self, api_version: str, kind: str, *, fresh: bool = False, deadline: float | None = None) -> Kind:
        """A kind as the server knows it; ``fresh`` asks the server even when the answer is remembered.

        :raises KindNotServedError: when the server does not have it, now
        """
        with self._lock:
            asked, kinds = self._remembered().get(api_version, (0.0, {}))
            # A moment in the future is of another clock.
            if fresh or kind not in kinds or not 0 <= self._now() - asked < SECONDS:
                kinds = self._ask(api_version, kind, deadline)
        plural, namespaced = kinds[kind]
        return Kind(api_version, kind, plural, namespaced)

    def _ask(self, api_version: str, kind: str, deadline: float | None) -> dict[str, tuple[str, bool]]:
        asked = Asked("find", kind, api_version=api_version)
        group, slash, version = api_version.rpartition("/")
        if not version or (slash and not group):
            raise BadRequestError(
                f"{api_version!r} is no apiVersion of a {kind}: write it as version or group/version."
            )
        path = (
            f"/apis/{segment(group, 'group')}/{segment(version, 'version')}"
            if group
            else f"/api/{segment(version, 'version')}"
        )
        answer = self._transport.request("GET", path, asked=asked, deadline=deadline)
        resources = answer.get("resources") if isinstance(answer, dict) else None
        kinds = {
            str(one["kind"]): (str(one["name"]), bool(one.get("namespaced")))
            for one in resources or ()
            if "/" not in one["name"] and not one.get("group")
        }
        remembered = self._remembered()
        remembered[api_version] = (self._now(), kinds)
        self._remember(remembered)
        if kind not in kinds:
            text = (
                f"The API server {self._transport.connection} serves {api_version}, but no {kind} in it: "
                f"correct the kind (it has {', '.join(sorted(kinds)) or 'none'})."
            )
            raise KindNotServedError(text, asked, 404)
        return kinds

    def _remembered(self) -> Known:
        if self._known is None:
            self._known = {}
            if self._file is not None and self._private(self._file.parent):
                with contextlib.suppress(OSError, ValueError, TypeError, LookupError, AttributeError):
                    self._known = {
                        version: (float(asked), {kind: (str(one[0]), bool(one[1])) for kind, one in kinds.items()})
                        for version, (asked, kinds) in json.loads(self._file.read_bytes()).items()
                    }
        return self._known

    def _remember(self, known: Known) -> None:
        """By a rename, so that a process that reads meanwhile sees the old or the new file. When two write at once, one
        answer is lost, and asked for again."""
        if self._file is None:
            return
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._private(self._file.parent):
                written = self._file.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
                try:
                    written.write_text(json.dumps(known), encoding="utf-8")
                    written.replace(self._file)
                finally:
                    written.unlink(missing_ok=True)

    @staticmethod
    def _private(folder: Path) -> bool:
        """Whether only this user can have written there: what it says decides where objects are sent."""
        try:
            found = folder.stat()
        except OSError:
            return False
        return found.st_uid == os.geteuid() and not found.st_mode & 0o077
