# SPDX-License-Identifier: Apache-2.0
"""What a file system's address and properties say of its cluster."""

from __future__ import annotations

import binascii
import errno
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from paddleflow_core.model import quantity, storage

if TYPE_CHECKING:
    from collections.abc import Mapping

_PORT, _KDC_PORT = 8020, 88
_BLOCK: Final = "64Mi"
_COPIES: Final = 3


class Kerberos(NamedTuple):
    principal: str  # with its realm
    realm: str
    kdcs: tuple[str, ...]
    keytab: bytes

    def __repr__(self) -> str:
        return f"Kerberos({self.principal})"  # the rest is nobody's to read


class Options(NamedTuple):
    """
    :ivar namenodes: any of them may be the active one
    :ivar root: a path that nothing leaves, without a slash at its end
    :ivar protection: of data on its way, "" where none is asked for
    :ivar ignores_owners: a file that cannot be given away stays whose it is, and nobody is told
    """

    namenodes: tuple[str, ...]
    user: str
    root: str = ""
    block_size: int = quantity.parse(_BLOCK) // quantity.UNIT
    copies: int = _COPIES
    protection: str = ""
    kerberos: Kerberos | None = None
    ignores_owners: bool = False

    @property
    def place(self) -> str:
        return ",".join(self.namenodes)


def read(url: str, properties: Mapping[str, Any]) -> Options:
    """
    :raises PermissionError: when Kerberos has no key table
    """
    where = storage.location({"url": url, "properties": properties})
    kerberos = _kerberos(properties) if "principal" in properties else None
    return Options(
        namenodes=tuple(_with_port(one, _PORT) for one in where["serverAddress"].split(",")),
        user=properties.get("user", "") if kerberos is None else kerberos.principal,
        root=where["subPath"].rstrip("/"),
        block_size=quantity.parse(properties.get("blockSize", _BLOCK)) // quantity.UNIT,
        copies=properties.get("replication", _COPIES),
        protection=properties.get("dataTransferProtection", ""),
        kerberos=kerberos,
        ignores_owners=properties.get("ignoreOwnership", False),
    )


def _kerberos(given: Mapping[str, Any]) -> Kerberos:
    principal, realm = given["principal"], given["realm"]
    try:
        keytab = binascii.a2b_base64("".join(given.get("keyTabData", "").split()), strict_mode=True)
    except ValueError:
        keytab = b""
    if not keytab:
        raise PermissionError(errno.EACCES, "Kerberos needs keyTabData, a key table in base64; give it as a secret")
    return Kerberos(
        principal if "@" in principal else f"{principal}@{realm}",
        realm,
        tuple(_with_port(one, _KDC_PORT) for one in given["kdc"].split(",")),
        keytab,
    )


def _with_port(server: str, port: int) -> str:
    return server if server.rpartition(":")[2].isdecimal() and ":" in server else f"{server}:{port}"
