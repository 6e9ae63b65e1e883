# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Kubeconfigs: reading, merging as kubectl does, and the connection that a context names."""

from __future__ import annotations

import functools
import typing as t
from pathlib import Path
from urllib.parse import quote

from ..plan import kubefile
from .connection import Connection, Credentials
from .errors import ConfigError, not_installed

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


class Kubeconfig(t.NamedTuple):
    """One kubeconfig, or several as one. ``source`` names the files."""

    source: str
    sections: Mapping[str, Mapping[str, Mapping[str, t.Any]]]
    current: str


def is_content(given: object) -> t.TypeGuard[str]:
    """Whether a text is a kubeconfig itself and not the paths of some: no path has two lines, or begins as JSON."""
    return isinstance(given, str) and ("\n" in given or given.lstrip().startswith("{"))


def read(paths: Sequence[Path]) -> Kubeconfig:
    """Files as one. Of several, those that do not exist are left out, as kubectl does.

    :raises ConfigError: when none exists, or one cannot be used
    """
    existing = [path for path in paths if path.exists()]
    if not existing:
        names = ", ".join(map(str, paths)) or "(empty)"
        raise ConfigError(
            f"the kubeconfig {names}", "does not exist", "set kubeconfig (or KUBECONFIG) to one that does"
        )
    return merge([(_parse(path), path.parent.absolute(), f"the kubeconfig {path}") for path in existing])


def merge(documents: Sequence[tuple[t.Any, Path, str]]) -> Kubeconfig:
    """The first document that has an entry decides about it whole, and likewise about the current context.

    :param documents: each with the folder that its relative paths start from, and its source
    """
    sections: dict[str, dict[str, Mapping[str, t.Any]]] = {section: {} for section in kubefile.SECTIONS}
    current = ""
    for document, folder, source in documents:
        if not isinstance(document, dict):
            raise ConfigError(source, "holds no kubeconfig", "write it anew, or name another")
        current = current or str(document.get("current-context") or "")
        try:
            read = kubefile.sections(document)
        except kubefile.ShapeError as error:
            raise ConfigError(source, f"has an entry in {error} that is no mapping", "write it anew") from None
        for section, entries in read.items():
            for name, body in entries.items():
                sections[section].setdefault(name, _located(body, folder))
    return Kubeconfig(" and ".join(source for _document, _folder, source in documents), sections, current)


def connection(config: Kubeconfig, context: str, environment: Mapping[str, str]) -> Connection:
    """What a context (or the current one) names; of the environment only login programs see anything."""
    name = context or config.current
    known = ", ".join(config.sections["contexts"]) or "none"
    if not name:
        raise ConfigError(config.source, "has no current context", f"set context to one of {known}")
    if name not in config.sections["contexts"]:
        raise ConfigError(config.source, f"has no context {name}", f"set context to one of {known}")
    chosen = config.sections["contexts"][name]
    source = f"{config.source}, context {name}"
    cluster = config.sections["clusters"].get(str(chosen.get("cluster")))
    user = config.sections["users"].get(str(chosen.get("user")), None if chosen.get("user") else {})
    if not cluster or not cluster.get("server"):
        raise ConfigError(source, f"names the cluster {chosen.get('cluster')!r}, which has no server", "correct it")
    if user is None:
        raise ConfigError(source, f"names the user {chosen.get('user')!r}, whom it does not hold", "correct it")
    credentials, renew = _credentials(user, source), None
    if user.get("tokenFile"):
        renew = functools.partial(_with_token_file, credentials, Path(user["tokenFile"]), source)
        credentials = renew()
    elif credentials == Credentials() and (user.get("exec") or user.get("auth-provider")):
        renew = functools.partial(_log_in, user, cluster, source, dict(environment))
    return Connection(
        server=str(cluster["server"]),
        source=source,
        credentials=credentials,
        renew=renew,
        ca=_pem(cluster, "certificate-authority", source).decode("utf-8", "replace"),
        verify=not cluster.get("insecure-skip-tls-verify"),
        tls_server_name=str(cluster.get("tls-server-name") or ""),
        proxy=str(cluster.get("proxy-url") or ""),
        impersonate=impersonation(
            user.get("as"), user.get("as-groups"), user.get("as-uid"), user.get("as-user-extra"), source
        ),
        namespace=str(chosen.get("namespace") or "default"),
    )


def impersonation(user: t.Any, groups: t.Any, uid: t.Any, extra: t.Any, source: str) -> tuple[tuple[str, str], ...]:
    """The headers that ask to be taken for somebody else."""
    if not user:
        if groups or uid or extra:
            raise ConfigError(source, "impersonates groups and no user", "name the user too (impersonate_user)")
        return ()
    headers = [("Impersonate-User", str(user))]
    headers += [("Impersonate-Group", str(group)) for group in groups or ()]
    headers += [("Impersonate-Uid", str(uid))] if uid else []
    for key, values in (extra or {}).items():
        headers += [(f"Impersonate-Extra-{quote(str(key).lower(), safe='')}", str(value)) for value in values]
    return tuple(headers)


def _with_token_file(beside: Credentials, path: Path, source: str) -> Credentials:
    """A client certificate of the same user is sent with the token."""
    return beside._replace(token=token_file(path, source).token)


def token_file(path: Path, source: str) -> Credentials:
    """Read anew each time: whoever rotates the token replaces the file."""
    token = file_content(path, source, "a token").decode("utf-8", "replace").strip()
    if not token:
        raise ConfigError(source, f"names the token file {path}, which is empty", "write a token into it")
    return Credentials(token=token)


def file_content(path: Path, source: str, what: str) -> bytes:
    try:
        return path.expanduser().read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(source, f"names {path} as {what}, which cannot be read ({reason})", "correct it") from None


def _parse(path: Path) -> t.Any:
    return parse(file_content(path, "what was asked for", "a kubeconfig"), f"the kubeconfig {path}")


def parse(content: str | bytes, source: str) -> t.Any:
    """What a kubeconfig holds, be it one or not.

    :raises ConfigError: when it is no YAML; it quotes nothing
    """
    try:
        import yaml
    except ImportError as error:
        raise not_installed(source, "PyYAML", error) from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is ten times faster
    try:
        found = yaml.load(content, Loader=loader)
    except (yaml.YAMLError, ValueError) as error:  # the latter for a day that no month has
        # Not the whole message: it quotes lines, and a line may be a token.
        mark = getattr(error, "problem_mark", None)
        where = (
            f" ({getattr(error, 'problem', None) or 'it cannot be decoded'}{f', line {mark.line + 1}' if mark else ''})"
        )
        raise ConfigError(source, f"is no YAML{where}", "fetch it again") from None
    # An empty file adds nothing to the others of KUBECONFIG.
    return {} if found is None else found


def _located(body: Mapping[str, t.Any], folder: Path) -> dict[str, t.Any]:
    """Relative paths start from the file that they stand in; so does a login program that is named by a path."""
    found = dict(body)
    for key in _FILES:
        if found.get(key):
            found[key] = str(folder / str(found[key]))
    program = found.get("exec")
    if isinstance(program, dict) and "/" in str(program.get("command") or ""):
        found["exec"] = {**program, "command": str(folder / str(program["command"]))}
    return found


def _pem(body: Mapping[str, t.Any], key: str, source: str) -> bytes:
    inline = body.get(f"{key}-data")
    if inline:
        try:
            return kubefile.decoded(inline)
        except ValueError:
            raise ConfigError(source, f"has {key}-data that is no base64", "fetch the kubeconfig again") from None
    return file_content(Path(body[key]), source, f"its {key}") if body.get(key) else b""


def _credentials(user: Mapping[str, t.Any], source: str) -> Credentials:
    return Credentials(
        token=str(user.get("token") or "").strip(),
        username=str(user.get("username") or ""),
        password=str(user.get("password") or ""),
        certificate=_pem(user, "client-certificate", source),
        key=_pem(user, "client-key", source),
    )


def _log_in(
    user: Mapping[str, t.Any], cluster: Mapping[str, t.Any], source: str, environment: Mapping[str, str]
) -> Credentials:
    from .login import log_in

    return log_in(user, cluster, source, environment)
