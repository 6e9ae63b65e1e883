# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The tables of stores: the forms of their addresses and the properties that each type takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from .amount import above_zero

if TYPE_CHECKING:
    from .table import Field


class Store(TypedDict):
    """One type of store. Properties: needs are always given, credentials unless a Secret holds them, may can be."""

    form: str
    # Of the whole address; also read by the API server, whose regular expressions have no lookahead.
    pattern: str
    needs: list[str]
    credentials: list[str]
    may: list[str]


_PATH = r"(?P<path>/[^\x00-\x1f]*)"
_SERVER = r"(?P<server>[^/@,\s]+)"
_LOCAL = r"(?P<path>/[^/\x00-\x1f][^\x00-\x1f]*)"

# Of file systems that the agent shows, whose store knows no owners of its own.
_SHOWN = ["uid", "gid", "dirMode", "fileMode", "umask", "ignoreOwnership", "relaxedOpen"]
_LENT = ["sts", "stsEndpoint", "duration", "acl", "sessionToken"]
_OBJECTS = [
    "s3ForcePathStyle",
    "insecureSkipVerify",
    "implicitDirectories",
    "persistAttributes",
    "storageClass",
    *_LENT,
    *_SHOWN,
]
# Of S3 itself, and of those that have learnt it.
_S3 = ["roleArn", "webIdentityTokenFile", "encryption", "kmsKeyId", "customerKey", "requesterPays", "checksums"]
KERBEROS = ["principal", "realm", "kdc", "nameNodePrincipal"]

STORES: dict[str, Store] = {
    "s3": {
        "form": "s3://<bucket>/<path>",
        "pattern": rf"s3://(?P<bucket>[^/@\s]+){_PATH}?",
        "needs": ["endpoint"],
        "credentials": ["accessKey", "secretKey"],
        "may": ["region", *_S3, *_OBJECTS],
    },
    "bos": {
        "form": "bos://<bucket>/<path>",
        "pattern": rf"bos://(?P<bucket>[^/@\s]+){_PATH}?",
        "needs": ["endpoint"],
        "credentials": ["accessKey", "secretKey"],
        "may": ["region", *_OBJECTS],
    },
    "hdfs": {
        "form": "hdfs://<host:port>[,<host:port>...]/<path>",
        "pattern": rf"hdfs://(?P<server>[^/@,\s]+(,[^/@,\s]+)*){_PATH}",
        "needs": [],
        "credentials": [],
        "may": [
            "user",
            "group",
            "blockSize",
            "replication",
            "keyTabData",
            *KERBEROS,
            "dataTransferProtection",
            *_SHOWN,
        ],
    },
    "sftp": {
        "form": "sftp://<host:port>/<path>",
        "pattern": rf"sftp://{_SERVER}{_PATH}",
        "needs": ["user"],
        "credentials": [],
        "may": ["password", "privateKey", "hostKey", "insecureSkipVerify", *_SHOWN],
    },
    "local": {
        "form": "local://<path>",
        "pattern": rf"local:/{_LOCAL}",
        "needs": [],
        "credentials": [],
        "may": ["debug"],
    },
    "glusterfs": {
        "form": "glusterfs://<host>:<volume>",
        "pattern": r"glusterfs://(?P<server>[^/:@\s]+):(?P<path>[^/\s][^\x00-\x1f]*)",
        "needs": [],
        "credentials": [],
        "may": [],
    },
    "cfs": {
        "form": "cfs://<server>/<path>",
        "pattern": rf"cfs://{_SERVER}{_PATH}",
        "needs": [],
        "credentials": [],
        "may": [],
    },
    "afs": {
        "form": "afs://<address>",
        "pattern": r"afs://(?P<server>[^@\s]+)",
        "needs": ["username"],
        "credentials": ["password"],
        "may": [],
    },
    "mock": {
        "form": "mock://<path>",
        "pattern": rf"mock:/{_LOCAL}",
        "needs": ["pvc", "namespace"],
        "credentials": [],
        "may": [],
    },
}

_TEXT: Field = {"type": "string", "min": 1, "max": 1024}
_SECRET: Field = {"type": "string", "min": 1, "max": 65536, "secret": True}
_BOOL: Field = {"type": "bool"}
_MODE: Field = {"type": "string", "quoted": True, "pattern": "^(0o?)?[0-7]{3}$"}
_ID: Field = {"type": "int", "min": 0, "max": 4294967294}
_LABEL: Field = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", "max": 253}
_HOSTS = r"[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?(:[0-9]{1,5})?"

# No defaults here: they depend on the type, and the API server would write them into file systems of every type.
PROPERTIES: dict[str, Field] = {
    "endpoint": {"type": "string", "pattern": r"^(https?://)?[^/@\s]+(/[^@\s]*)?$", "max": 1024},
    "region": {"type": "string", "pattern": "^[A-Za-z0-9-]+$", "max": 63},
    "accessKey": _TEXT,
    "secretKey": _SECRET,
    "sessionToken": _SECRET,
    "s3ForcePathStyle": _BOOL,
    "insecureSkipVerify": _BOOL,
    "implicitDirectories": _BOOL,
    "sts": _BOOL,
    "duration": {"type": "int", "min": 60, "max": 129600},
    "acl": {"type": "string", "min": 1, "max": 65536},
    "stsEndpoint": {"type": "string", "pattern": r"^https?://[^/@\s]+$", "max": 1024},
    "roleArn": {"type": "string", "min": 20, "max": 2048},
    "webIdentityTokenFile": {"type": "string", "pattern": r"^(/[^/\x00-\x1f]+)+$", "max": 1024},
    "encryption": {"type": "string", "enum": ["SSE-S3", "SSE-KMS", "SSE-C"]},
    "kmsKeyId": _TEXT,
    "customerKey": _SECRET,
    "requesterPays": _BOOL,
    "checksums": _BOOL,
    "storageClass": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]*$", "max": 64},
    "user": _TEXT,
    "group": _TEXT,
    "username": _TEXT,
    "password": _SECRET,
    "privateKey": _SECRET,
    "hostKey": {"type": "string", "min": 1, "max": 65536},
    "blockSize": above_zero(),
    "replication": {"type": "int", "min": 1, "max": 512},
    "keyTabData": {**_SECRET, "aliases": ["kerberos.keytab.data"]},
    "principal": {**_TEXT, "aliases": ["kerberos.principal"]},
    "realm": {**_TEXT, "aliases": ["kerberos.realm"]},
    "kdc": {"type": "string", "pattern": f"^{_HOSTS}(,{_HOSTS})*$", "max": 1024, "aliases": ["kerberos.kdc"]},
    "nameNodePrincipal": {**_TEXT, "aliases": ["kerberos.namenode.principal"]},
    "dataTransferProtection": {
        "type": "string",
        "enum": ["authentication", "integrity", "privacy"],
        "aliases": ["kerberos.data.transfer.protection"],
    },
    "pvc": _LABEL,
    "namespace": _LABEL,
    "debug": _BOOL,
    "uid": _ID,
    "gid": _ID,
    "dirMode": {**_MODE, "aliases": ["dir-mode"]},
    "fileMode": {**_MODE, "aliases": ["file-mode"]},
    "umask": _MODE,
    "ignoreOwnership": _BOOL,
    "persistAttributes": _BOOL,
    "relaxedOpen": _BOOL,
}
SECRETS = [name for name, field in PROPERTIES.items() if field.get("secret")]
# What a Secret can hold, and Vault: the first is shown where it is declared as it is, and nowhere else.
HELD = ["accessKey", *SECRETS]
ENGINE = "secret"
MODES = ("dirMode", "fileMode", "umask")

# What file systems and links have in common.
SPEC: dict[str, Field] = {
    "url": {"type": "string", "required": True, "min": 1, "max": 2048, "doc": "url"},
    "properties": {
        "type": "object",
        "doc": "properties",
        "fields": PROPERTIES,
        "rules": [
            {
                "rule": "!has(self.principal) || (has(self.realm) && has(self.kdc) && has(self.nameNodePrincipal))",
                "message": "Kerberos needs realm, kdc and nameNodePrincipal beside principal",
            },
        ],
    },
    "secretRef": {
        "type": "object",
        "doc": "secretRef",
        "fields": {"name": {**_LABEL, "required": True}},
    },
    "vault": {
        "type": "object",
        "aside": True,
        "doc": "vault",
        "fields": {
            "path": {**_TEXT, "required": True, "pattern": "^[^/]+(/[^/]+)*$"},
            "engineMountPoint": {**_TEXT, "default": ENGINE},
            "keys": {"type": "object", "required": True, "fields": dict.fromkeys(HELD, _TEXT)},
        },
    },
}
