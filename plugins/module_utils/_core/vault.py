# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Secrets of Vault's KV engines, version 1 and 2: the one use of its client hvac.

It takes a tenth of a second to import, so it is an extra, and loaded only when something is read.
"""

from __future__ import annotations

import contextlib
import re
import sys
import typing as t
from pathlib import Path
from urllib.parse import quote, urlsplit

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

METHODS = ("token", "approle", "kubernetes")
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
PATIENCE: float = 30  # seconds, for each request
REQUIREMENT = "hvac>=2.4,<3"

# What stands in for an option that is not given, after the ANSIBLE_HASHI_VAULT_* of community.hashi_vault: that of Vault's
# own command.
_VARIABLES = {
    "url": "VAULT_ADDR",
    "namespace": "VAULT_NAMESPACE",
    "ca_cert": "VAULT_CACERT",
    "auth_method": "",
    "mount_point": "",
    "token": "VAULT_TOKEN",
    "role_id": "",
    "secret_id": "",
    "jwt": "",
}
_FALSE = ("", "0", "false", "no", "off", "f", "n")


class VaultError(Exception):
    """Its text is the sentence that a user reads. Nothing secret is in it."""


class SecretError(VaultError):
    """Of one secret alone: others may well be read."""


class Server(t.NamedTuple):
    """Where Vault is, and as whom it is asked. Nothing secret is in a repr."""

    url: str
    namespace: str = ""
    # Or the path of the authorities that are trusted.
    verify: bool | str = True
    method: str = "token"
    mount_point: str = ""
    role: str = ""
    # By the method: the token, the secret ID, or the token of the service account.
    credential: str = ""

    def __repr__(self) -> str:
        return f"<Server: {self.url} by {self.method}>"


def resolve(
    options: Mapping[str, t.Any], environment: Mapping[str, str], service_account: Path = SERVICE_ACCOUNT
) -> Server:
    """Reads files; asks no server.

    :raises VaultError: when something is missing or cannot be
    """
    given = {name: _given(name, options, environment) for name in _VARIABLES}
    method = given["auth_method"] or "token"
    if method not in METHODS:
        raise VaultError(f"auth_method of vault_connection is {method!r}, but must be one of {', '.join(METHODS)}.")
    url = given["url"].rstrip("/")
    if not url:
        raise VaultError("Nothing says where Vault is: set url of vault_connection, or VAULT_ADDR.")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
        raise VaultError("The address of Vault is of no known form: write url, or VAULT_ADDR, as https://host:8200.")
    if method != "token" and not given["role_id"]:
        raise VaultError(
            f"The login to Vault by {method} needs a role: set role_id of vault_connection, or ANSIBLE_HASHI_VAULT_ROLE_ID."
        )
    if method == "approle":
        credential = given["secret_id"]  # a role may do without
    elif method == "kubernetes":
        credential = _kept(given["jwt"], service_account, "set jwt of vault_connection, or run in a pod that has one")
    else:
        file = Path(environment.get("HOME") or "~", ".vault-token").expanduser()
        credential = _kept(given["token"], file, "set token of vault_connection, or VAULT_TOKEN, or run `vault login`")
    verify = _verify(options.get("validate_certs"), given["ca_cert"], environment)
    place = given["mount_point"].strip("/") or method
    return Server(url, given["namespace"], verify, method, place, given["role_id"], credential)


def _given(name: str, options: Mapping[str, t.Any], environment: Mapping[str, str]) -> str:
    variable = f"ANSIBLE_HASHI_VAULT_{'ADDR' if name == 'url' else name.upper()}"
    candidates = (options.get(name), environment.get(variable), environment.get(_VARIABLES[name]))
    return str(next((value for value in candidates if value), "")).strip()


def _verify(wanted: bool | None, ca: str, environment: Mapping[str, str]) -> bool | str:
    skipped = environment.get("VAULT_SKIP_VERIFY", "").lower() not in _FALSE
    if wanted is False or (wanted is None and skipped):
        return False
    if ca and not Path(ca).exists():
        raise VaultError(f"The authority of Vault's certificate is not at {ca}: correct ca_cert, or VAULT_CACERT.")
    return ca or True


def _kept(given: str, file: Path, remedy: str) -> str:
    with contextlib.suppress(OSError):
        given = given or file.read_text(encoding="utf-8").strip()
    if not given:
        raise VaultError(f"There is no token for Vault, neither given nor in {file}: {remedy}.")
    return given


@contextlib.contextmanager
def opened(server: Server) -> Iterator[Vault]:
    """
    :raises VaultError: when hvac is missing, or Vault does not answer or does not let us in
    """
    try:
        import hvac
    except ImportError:
        raise VaultError(
            f"Secrets in Vault need the Python package hvac, which is not installed for {sys.executable}: "
            f"run {sys.executable} -m pip install '{REQUIREMENT}'."
        ) from None
    theirs: t.Any = hvac  # it has no annotations
    client = theirs.Client(
        url=server.url,
        # Empty and not None, for which hvac would look where Vault's own command keeps one.
        token=server.credential if server.method == "token" else "",
        verify=server.verify,
        timeout=PATIENCE,
        namespace=server.namespace or None,
    )
    vault = Vault(server, client, theirs.exceptions)
    try:
        vault.log_in()
        yield vault
    finally:
        vault.log_out()


class Vault:
    def __init__(self, server: Server, client: t.Any, errors: t.Any) -> None:
        from requests.exceptions import RequestException

        self._server, self._client, self._errors = server, client, errors
        self._network = RequestException
        self._versions: dict[str, int] = {}

    def log_in(self) -> None:
        server = self._server
        if server.method != "token":
            method = getattr(self._client.auth, server.method)
            self._ask("", lambda: method.login(server.role, server.credential, mount_point=server.mount_point))

    def log_out(self) -> None:
        """A token that was made for us is of no use any more. One that cannot be revoked ends by itself."""
        if self._server.method != "token" and self._client.token:
            with contextlib.suppress(self._errors.VaultError, self._network):
                self._client.auth.token.revoke_self()
        self._client.adapter.close()

    def read(self, engine: str, path: str) -> dict[str, t.Any]:
        """What the newest version of a secret holds.

        :raises SecretError: when it is not there, or not for us
        """
        engine = engine.strip("/")
        kv = self._client.secrets.kv
        if self._version(engine) == 1:
            return self._ask(f"{engine}/{path}", lambda: kv.v1.read_secret(path, mount_point=engine)["data"])
        return self._ask(
            f"{engine}/data/{path}",
            lambda: kv.v2.read_secret_version(path, mount_point=engine, raise_on_deleted_version=True)["data"]["data"],
        )

    def keep_token(self) -> None:
        """One that was given to us lives on, when half of its time is over: for who reads again and again."""
        if self._server.method != "token":
            return
        # The policy that every token has allows both; one that has another ends when it ends.
        with contextlib.suppress(self._errors.VaultError, self._network, KeyError, TypeError):
            told = self._client.auth.token.lookup_self()["data"]
            if told["renewable"] and told["ttl"] * 2 < (told.get("period") or told["creation_ttl"]):
                self._client.auth.token.renew_self()

    def _version(self, engine: str) -> int:
        """As Vault's own command asks for it, which any token may that may read something of the engine."""
        if engine not in self._versions:
            place = f"/v1/sys/internal/ui/mounts/{quote(engine)}"
            found = self._ask(engine, lambda: self._client.adapter.get(place)["data"])
            if found.get("type") not in ("kv", "generic"):
                raise SecretError(
                    f"{engine} of Vault at {self._server.url} is an engine of type {found.get('type')}, but must be of type "
                    "kv: correct engine_mount_point."
                )
            self._versions[engine] = int((found.get("options") or {}).get("version") or 1)
        return self._versions[engine]

    def _ask(self, place: str, request: Callable[[], t.Any]) -> dict[str, t.Any]:
        """
        :param place: what is read, as a policy names it; nothing for a login
        """
        try:
            return dict(request())
        except self._errors.VaultError as error:
            raise self._refused(place, error) from None
        except self._network as error:
            raise VaultError(_unreachable(self._server.url, error)) from None
        except (KeyError, TypeError):  # no JSON, or other JSON
            raise VaultError(
                f"What answers at {self._server.url} is not Vault: correct url of vault_connection."
            ) from None

    def _refused(self, place: str, error: Exception) -> VaultError:
        theirs, server, said = self._errors, self._server, self._said(error)
        here = f"Vault at {server.url}"
        if isinstance(error, theirs.VaultDown) and "sealed" in said:
            return VaultError(f"{here} is sealed: unseal it, and run this again.")
        if not place and isinstance(error, (theirs.Forbidden, theirs.InvalidRequest, theirs.InvalidPath)):
            remedy = "secret_id" if server.method == "approle" else "the role's service accounts"
            return VaultError(
                f"{here} refused the login by {server.method} at auth/{server.mount_point} ({said}): "
                f"check role_id, {remedy}, and mount_point."
            )
        if isinstance(error, theirs.Forbidden):
            return SecretError(
                f"{here} does not permit to read {place}: check the place, whether the token is still valid, and that its policy "
                "has the capability read there."
            )
        if isinstance(error, theirs.InvalidPath):
            return SecretError(
                f"{here} has nothing at {place}, or its newest version is deleted: check path and engine_mount_point."
            )
        return VaultError(f"{here} answered with an error ({said}): look at it, or try again.")

    def _said(self, error: Exception) -> str:
        """Vault's own words, on one line."""
        words = " ".join(str(error.args[0] if error.args else "").split()) or type(error).__name__
        for secret in filter(None, (self._server.credential, self._client.token)):
            words = words.replace(secret, "***")
        return words[:300]


def _unreachable(url: str, error: Exception) -> str:
    from requests.exceptions import SSLError, Timeout

    text = str(error)
    if isinstance(error, SSLError):
        untrusted = re.search(r"certificate verify failed: ([^(\]]+)", text)
        if untrusted:
            return (
                f"The certificate of Vault at {url} is not trusted ({untrusted[1].strip()}): set ca_cert of vault_connection, or "
                "VAULT_CACERT, to its authority, and url to a name in it."
            )
        found = re.search(r"\[SSL: ([A-Z_]+)", text)
        reason = found[1].lower().replace("_", " ") if found else "TLS failed"
        return f"No secure connection to Vault at {url} could be made ({reason}): write http where it speaks no TLS."
    known = re.search("Connection refused|Name or service not known", text)
    reason = known[0].lower() if known else "the connection failed"
    if isinstance(error, Timeout):
        reason = f"no answer within {PATIENCE} s"
    return f"Vault at {url} cannot be reached ({reason}): check url of vault_connection, or VAULT_ADDR, the network and proxies."
