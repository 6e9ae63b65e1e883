# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What is needed to talk to one API server as one user. Nothing secret is in a repr.

Named tuples and not dataclasses, which would cost each module a millisecond or two at each call.
"""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    import functools
    from collections.abc import Mapping


class Credentials(t.NamedTuple):
    token: str = ""
    username: str = ""
    password: str = ""
    # A client certificate and its key, PEM.
    certificate: bytes = b""
    key: bytes = b""

    def __repr__(self) -> str:
        return f"<Credentials: {', '.join(name for name in self._fields if getattr(self, name)) or 'none'}>"


class Connection(t.NamedTuple):
    server: str
    # For people: where server and credentials came from.
    source: str
    credentials: Credentials = Credentials()
    # Credentials that can change or run out (a token file, a login program): asked before the first request when
    # `credentials` are empty, and once more when the server refuses them.
    renew: functools.partial[Credentials] | None = None
    # PEM; empty means the authorities that this machine trusts.
    ca: str = ""
    verify: bool = True
    tls_server_name: str = ""
    # May hold a password; so may the headers.
    proxy: str = ""
    proxy_headers: Mapping[str, str] = {}
    # Impersonate-* headers.
    impersonate: tuple[tuple[str, str], ...] = ()
    namespace: str = "default"

    def same_as(self, other: Connection) -> bool:
        """Whether both lead to the same server as the same user, also where that has to be found out again: a partial equals none
        but itself."""
        one, two = (each.renew and (each.renew.func, each.renew.args, each.renew.keywords) for each in (self, other))
        return one == two and self._replace(renew=None) == other._replace(renew=None)

    def __str__(self) -> str:
        return f"{self.server} ({self.source})"

    def __repr__(self) -> str:
        return f"<Connection: {self}>"
