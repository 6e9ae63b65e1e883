# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What is wrong with a store's address and properties, and where it is. File systems and links share it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from . import check, quantity
from .check import HIDDEN, Path, Problem, show
from .stores import HELD, KERBEROS, PROPERTIES, SECRETS, STORES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from .table import Field


_KEY_BYTES = 32


def type_of(url: str) -> str:
    return url.partition("://")[0]


def location(spec: Mapping[str, Any]) -> dict[str, str]:
    """The type, server and path, and of object stores the bucket, of an address without problems."""
    kind, given = type_of(spec["url"]), spec.get("properties", {})
    form = re.fullmatch(STORES[kind]["pattern"], spec["url"])
    parts = form.groupdict() if form else {}
    server = given.get("endpoint", "") if "bucket" in parts else parts.get("server", "")
    path = parts.get("path", parts.get("server", "")) or "/"
    found = {"type": kind, "serverAddress": server, "subPath": path}
    return {**found, "bucket": parts["bucket"]} if "bucket" in parts else found


def problems(spec: Mapping[str, Any], types: Collection[str] = tuple(STORES)) -> Iterator[Problem]:
    """What is wrong with an address and its properties."""
    wrong = list(_address(spec["url"], types))
    yield from wrong or _properties(type_of(spec["url"]), spec)


def _address(url: str, types: Collection[str]) -> Iterator[Problem]:
    kind, colon, rest = url.partition("://")
    place: Path = ("url",)
    shown = show(re.sub("//[^/]*@", "//***@", url))
    if not colon or kind not in types:
        yield Problem(place, shown, f"an address of one of the types {', '.join(types)}")
    elif "@" in rest.partition("/")[0]:
        remedy = "Give them as properties: a secret stands in a Secret alone."
        yield Problem(place, f"{shown}, with a user or a password", STORES[kind]["form"], remedy)
    elif not re.fullmatch(STORES[kind]["pattern"], url):
        yield Problem(place, shown, f"like {STORES[kind]['form']}")
    elif re.search(r"/\.{1,2}(/|$)", url):
        yield Problem(place, shown, "an address without . and .. in its path", "Nothing outside of it can be reached.")
    elif re.match(r"(local|mock)://root(/|$)", url):
        yield Problem(place, shown, "another directory than /root")


def _properties(kind: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    given, store = spec.get("properties", {}), STORES[kind]
    pointed = spec.get("vault", {}).get("keys", {})
    named = {**pointed, **given}
    elsewhere = "secretRef" in spec or "webIdentityTokenFile" in given
    needs = [*store["needs"], *([] if elsewhere else store["credentials"]), *_more_needs(kind, named, elsewhere)]
    known = {*store["needs"], *store["credentials"], *store["may"]}
    for place, names in ((("properties",), given), (("vault", "keys"), pointed)):
        for name in names:
            if name not in known:
                one_of = f"one of {', '.join(sorted(known))}" if known else "left out"
                yield Problem((*place, name), f"no property of type {kind}", one_of)
    for name in needs:
        if name not in named:
            yield Problem(("properties", name), "missing", f"given for type {kind}")
    if "blockSize" in given and not _whole(given["blockSize"]):
        yield Problem(("properties", "blockSize"), show(given["blockSize"]), "a whole number of bytes above 0")
    yield from _doubled(spec, given, pointed)
    yield from _encrypted(given, named, elsewhere)
    yield from _kerberos(given)


def _whole(size: object) -> bool:
    found = quantity.parse(size)
    return found > 0 and found % quantity.UNIT == 0


def _doubled(spec: Mapping[str, Any], given: Mapping[str, Any], pointed: Mapping[str, Any]) -> Iterator[Problem]:
    """Whatever is secret comes from one place."""
    secrets = [name for name in SECRETS if name in given]
    if "secretRef" in spec and secrets:
        yield Problem(("secretRef",), "given", f"left out beside properties.{secrets[0]}", "One Secret holds them all.")
    if "secretRef" in spec and "vault" in spec:
        yield Problem(("secretRef",), "given", "left out beside vault", "One Secret holds them all.")
    for name in pointed:
        if name in given:
            yield Problem(("vault", "keys", name), "given", f"left out beside properties.{name}")


def _encrypted(given: Mapping[str, Any], named: Mapping[str, Any], elsewhere: bool) -> Iterator[Problem]:
    import binascii  # only where there is a key

    how = given.get("encryption")
    if how == "SSE-C" and "customerKey" not in named and not elsewhere:
        yield Problem(("properties", "customerKey"), "missing", "given for encryption SSE-C")
    for name, wanted in (("customerKey", "SSE-C"), ("kmsKeyId", "SSE-KMS")):
        if name in named and how != wanted:
            yield Problem(("properties", name), "given", f"left out but for encryption {wanted}")
    if "customerKey" in given:
        try:
            size = len(binascii.a2b_base64(given["customerKey"], strict_mode=True))
        except ValueError:
            size = 0
        if size != _KEY_BYTES:
            yield Problem(("properties", "customerKey"), HIDDEN, f"{_KEY_BYTES} bytes in base64")


def fill(spec: Mapping[str, Any], secret: Mapping[str, object]) -> tuple[dict[str, Any], list[Problem]]:
    """A declaration with what a secret in Vault says for it, kept aside as `vault` itself is, and what is wrong with that."""
    keys = spec["vault"]["keys"]
    problems = [
        Problem(
            ("vault", "keys", name),
            f"'{key}', which the secret does not have",
            f"one of {', '.join(sorted(secret)) or 'no keys at all'}",
        )
        for name, key in keys.items()
        if secret.get(key) is None
    ]
    fields: dict[str, Field] = {name: {**PROPERTIES[name], "secret": True} for name in HELD}
    values, wrong = check.read(fields, {name: secret.get(key) for name, key in keys.items()})
    if not wrong:
        whole = {**spec.get("properties", {}), **values}
        wrong = [*_kerberos(whole), *_encrypted(whole, whole, elsewhere=False)]
    problems += [problem._replace(path=("vault", "keys", problem.path[-1])) for problem in wrong]
    return {**spec, "vault": {**spec["vault"], "values": values}}, problems


def _more_needs(kind: str, given: Mapping[str, Any], elsewhere: bool) -> list[str]:
    if kind == "hdfs":
        kerberos = any(name in given for name in ("keyTabData", "dataTransferProtection", *KERBEROS))
        return [*KERBEROS, *([] if elsewhere else ["keyTabData"])] if kerberos else ["user", "group"]
    if kind == "sftp":
        password = [] if elsewhere or "privateKey" in given else ["password"]
        return [*password, *([] if given.get("insecureSkipVerify") else ["hostKey"])]
    return []


def _kerberos(given: Mapping[str, Any]) -> Iterator[Problem]:
    import binascii  # only where there is a key table

    keytab, principal, realm = (given.get(name, "") for name in ("keyTabData", "nameNodePrincipal", "realm"))
    try:
        binascii.a2b_base64("".join(keytab.split()), strict_mode=True)
    except ValueError:
        yield Problem(("properties", "keyTabData"), HIDDEN, "a key table in base64")
    if "@" in principal and not principal.endswith(f"@{realm}"):
        yield Problem(("properties", "nameNodePrincipal"), show(principal), f"of the realm: ...@{realm}")
