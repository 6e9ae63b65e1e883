# SPDX-License-Identifier: Apache-2.0
"""What a file system's address and properties say of its server, and with what it is entered."""

from __future__ import annotations

import errno
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import asyncssh
from paddleflow_core.model import storage

if TYPE_CHECKING:
    from collections.abc import Mapping

_LOG = logging.getLogger(__name__)
_PORT: Final = 22


class Login(NamedTuple):
    password: str = ""
    key: str = ""  # private, as text

    def __repr__(self) -> str:
        return "Login()"  # nobody's to read


class Logins(Protocol):
    def login(self) -> Login:
        """Asked for every connection.

        :raises OSError: when there is none
        """


class FixedLogin(Logins):
    def __init__(self, login: Login) -> None:
        self._login = login

    def login(self) -> Login:
        return self._login


class FileLogin(Logins):
    """A file of JSON with password or privateKey, which may change: who connects after that is let in by the new one."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def login(self) -> Login:
        try:
            found = json.loads(self._path.read_bytes())
        except ValueError:
            found = None
        return _login(found, str(self._path))


class VaultLogin(Logins):
    """A file that points to Vault, which is asked for every connection. While it gives none, who was let in before is so again."""

    def __init__(self, path: str | Path) -> None:
        self._path = path
        self._last: Login | None = None
        self._fails = False

    def login(self) -> Login:
        from ..vaulted import secrets  # its client is not small

        try:
            self._last, self._fails = _login(*secrets(self._path)), False
        except OSError as error:
            if self._last is None:
                raise
            if not self._fails:
                _LOG.warning("%s: the login that was read before is used", error)
            self._fails = True
        return self._last


def _login(found: object, where: str) -> Login:
    """
    :raises PermissionError: never with what was found
    """
    given = found if isinstance(found, dict) else {}
    password, key = (given.get(name) or "" for name in ("password", "privateKey"))
    if not isinstance(password, str) or not isinstance(key, str) or not (password or key):
        raise PermissionError(errno.EACCES, "it is no JSON object with password or privateKey as text", where)
    return Login(password, key)


class Options(NamedTuple):
    """
    :ivar root: a path of the server, that nothing leaves; without a slash at its end
    :ivar ignores_owners: a file that cannot be given away stays whose it is, and nobody is told
    """

    host: str
    user: str
    port: int = _PORT
    root: bytes = b""
    host_keys: asyncssh.SSHKnownHosts | None = None  # None takes whoever answers
    login: Login = Login()
    ignores_owners: bool = False

    @property
    def place(self) -> str:
        return f"{self.host}:{self.port}"


def read(url: str, properties: Mapping[str, Any]) -> Options:
    """
    :raises OSError: of a key that is none
    """
    where = storage.location({"url": url, "properties": properties})
    host, port = _server(where["serverAddress"])
    return Options(
        host=host,
        user=properties["user"],
        port=port,
        root=where["subPath"].rstrip("/").encode(),
        host_keys=None if properties.get("insecureSkipVerify") else _host_keys(properties.get("hostKey", "")),
        login=Login(properties.get("password", ""), properties.get("privateKey", "")),
        ignores_owners=properties.get("ignoreOwnership", False),
    )


def private_key(text: str) -> asyncssh.SSHKey:
    """
    :raises PermissionError: never with what it holds
    """
    try:
        return asyncssh.import_private_key(text)
    except (asyncssh.KeyEncryptionError, asyncssh.KeyImportError) as error:
        # What else its parser says is not told: it may hold a part of it.
        fault = "needs a passphrase" if "assphrase" in str(error) else "is no private key"
        raise PermissionError(errno.EACCES, f"privateKey {fault}; give one in PEM form, without a passphrase") from None


def _server(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or (":" in host and not host.endswith("]")):
        return address.strip("[]"), _PORT
    return host.strip("[]"), int(port)


def _host_keys(text: str) -> asyncssh.SSHKnownHosts:
    """Lines of a known_hosts file, or keys alone, which are then this server's.

    :raises OSError: when no line of it holds a key
    """
    lines, keys = [], 0
    for line in filter(None, (line.strip() for line in text.splitlines())):
        lines.append(f"* {line}" if _is_key(line) else line)
        keys += _is_key(lines[-1].partition(" ")[2].lstrip())
    if not keys:
        raise OSError(
            errno.EINVAL,
            "hostKey holds no key of a host; give what `ssh-keyscan HOST` prints, after it was compared with the server's own",
        )
    try:
        return asyncssh.import_known_hosts("\n".join(lines))
    except ValueError as error:
        raise OSError(errno.EINVAL, f"hostKey is no text of a known_hosts file: {error}") from None


def _is_key(text: str) -> bool:
    try:
        asyncssh.import_public_key(text)
    except asyncssh.KeyImportError:
        return False
    return True
