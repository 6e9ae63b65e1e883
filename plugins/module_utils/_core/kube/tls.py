# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""The TLS settings of a connection, with its client certificate when it has one."""

from __future__ import annotations

import contextlib
import os
import re
import ssl
import tempfile
import typing as t
from pathlib import Path

from .errors import ConfigError

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .connection import Connection, Credentials

# What stands around certificates is for people, in whatever letters; Python takes ASCII alone.
_CERTIFICATE = re.compile(r"-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----[\x00-\x7f]+?-----END \1-----")


def context(connection: Connection, credentials: Credentials) -> ssl.SSLContext:
    """Not by create_default_context: since Python 3.13 that refuses authorities without key identifiers, such as old clusters have."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not connection.verify:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    elif connection.ca:
        try:
            made.load_verify_locations(cadata="\n".join(found[0] for found in _CERTIFICATE.finditer(connection.ca)))
        except (ssl.SSLError, ValueError):
            raise ConfigError(
                connection.source, "names an authority that is no PEM certificate", "correct it"
            ) from None
    else:
        made.load_default_certs()
    if credentials.certificate:
        _load(made, connection.source, credentials)
    return made


def _load(made: ssl.SSLContext, source: str, credentials: Credentials) -> None:
    def password() -> str:
        # Without this, OpenSSL would ask on the terminal.
        raise ConfigError(source, "has a client key with a passphrase", "give a key without one")

    pem = credentials.certificate + b"\n" + credentials.key
    try:
        with _as_file(pem) as path:
            made.load_cert_chain(path, password=password)
    except ssl.SSLError as error:
        reason = (error.reason or str(error)).replace("_", " ").lower()
        raise ConfigError(
            source, f"has a client certificate that cannot be used ({reason})", "renew it, with its key"
        ) from None


@contextlib.contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Python reads a key from a path alone. Where Linux can, from one that never was on a disk."""
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        descriptor = os.memfd_create("client")
        try:
            os.write(descriptor, content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile(prefix="paddleflow-") as file:
            file.write(content)
            file.flush()
            yield file.name
