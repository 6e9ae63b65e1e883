# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""From a store's declaration to objects: the Secret beside the object, and the rules that the API server checks of it."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any

from .names import slug
from .own import MANAGED
from .stores import MODES, SECRETS, SPEC, STORES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .table import Field, Noun, Rule

DIGEST = "paddleflow.org/secret-digest"
# Who may read the object sees the digest. Keys are random, but a password may be short: guessing it shall take long.
ROUNDS = 100_000


def secret_of(noun: Noun, name: str, namespace: str) -> dict[str, Any]:
    """The Secret that belongs to an object: its identity."""
    metadata = {"name": _name(noun["kind"], slug(name)), "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}


def unneeded(found: Mapping[str, Any]) -> dict[str, Any] | None:
    """The Secret that an earlier declaration of a built object may have made, when it does not refer to that."""
    metadata = {"name": _name(found["kind"], found["metadata"]["name"]), "namespace": found["metadata"]["namespace"]}
    used = found["spec"].get("secretRef", {}).get("name") == metadata["name"]
    return None if used else {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}


def _name(kind: str, name: str) -> str:
    return f"paddleflow-{kind.lower()}-{name}"


def with_secret(found: dict[str, Any], spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The object without what is secret in its properties, and before it the Secret that holds that."""
    given = spec.get("properties", {})
    secret = {name: given[name] for name in SECRETS if name in given} | spec.get("vault", {}).get("values", {})
    shown = {name: _mode(given[name]) if name in MODES else given[name] for name in given if name not in secret}
    if shown:
        found["spec"]["properties"] = shown
    else:
        found["spec"].pop("properties", None)
    if not secret:
        return [found]
    kind, metadata = found["kind"], found["metadata"]
    reference = {"name": _name(kind, metadata["name"])}
    found["spec"]["secretRef"] = reference
    metadata.setdefault("annotations", {})[DIGEST] = digest(
        f"{kind}/{metadata['namespace']}/{metadata['name']}", secret
    )
    beside = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {**reference, "namespace": metadata["namespace"], "labels": dict(MANAGED)},
        "type": "Opaque",
        "data": {name: base64.b64encode(text.encode()).decode() for name, text in secret.items()},
    }
    return [beside, found]


def digest(salt: str, secret: Mapping[str, str]) -> str:
    """Tells that a secret has changed to who cannot read it. The salt is the object's own, so that no two share a digest."""
    text = json.dumps(secret, sort_keys=True)
    return hashlib.pbkdf2_hmac("sha256", text.encode(), salt.encode(), ROUNDS).hex()


def _mode(text: str) -> str:
    """0755, 755 and 0o755 are one mode, written in one way."""
    return f"{int(text.removeprefix('0o'), 8):04o}"


def address(types: Iterable[str] = tuple(STORES)) -> Field:
    """The field of an address, with what the API server can check of it."""
    rules: list[Rule] = [
        {
            "rule": f"self.matches('^({'|'.join(types)})://')",
            "message": f"must be of one of the types {', '.join(types)}",
        },
        {"rule": r"!self.matches(r'/\.{1,2}(/|$)')", "message": "must not have . or .. in its path"},
        {"rule": "!self.matches('^(local|mock)://root(/|$)')", "message": "must be another directory than /root"},
    ]
    for kind in types:
        rule = f"!self.startsWith('{kind}://') || self.matches(r'^{STORES[kind]['pattern']}$')"
        rules.append({"rule": rule, "message": f"must be like {STORES[kind]['form']}"})
    return {**SPEC["url"], "rules": rules}


def rules(types: Iterable[str] = tuple(STORES)) -> list[Rule]:
    """What the API server can check between an address and the properties."""
    found: list[Rule] = []
    for kind in types:
        store = STORES[kind]
        found += [_of(kind, f"{_given(name)}.hasValue()", f"properties.{name}") for name in store["needs"]]
        if store["credentials"]:
            found.append(
                _of(kind, "has(self.secretRef)", f"secretRef, a Secret with {' and '.join(store['credentials'])}")
            )
    known = f"{_given('hostKey')}.hasValue() || {_given('insecureSkipVerify')}.orValue(false)"
    user = "(has(self.properties) && has(self.properties.user) && has(self.properties.group))"
    user = f"{_given('principal')}.hasValue() || {user}"
    return [
        *found,
        _of("sftp", known, "properties.hostKey"),
        _of("hdfs", user, "properties.user and group, or Kerberos"),
    ]


def _of(kind: str, rule: str, needed: str) -> Rule:
    return {"rule": f"!self.url.startsWith('{kind}://') || {rule}", "message": f"type {kind} needs {needed}"}


def _given(name: str) -> str:
    # A word of the language has to be escaped.
    return f"self.?properties.?{'__namespace__' if name == 'namespace' else name}"
