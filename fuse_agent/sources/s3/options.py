# SPDX-License-Identifier: Apache-2.0
"""What a file system's address and properties say of its bucket. The model says what is wrong with them; all of it at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from paddleflow_core.model import check, storage, stores

from .credentials import Credentials

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paddleflow_core.model.check import Problem

TYPES = ("s3", "bos")
_DURATION = 43200
_BOS = "https://sts.bj.baidubce.com"
_REGIONS = {"s3": "us-east-1", "bos": "bj"}


class Patience(NamedTuple):
    total: float = 60.0  # seconds after which nothing is tried again
    tries: int = 10
    connect: float = 5.0
    silence: float = 20.0  # seconds without a byte


PATIENT = Patience()
# Bytes of the smallest part that an object is made of, the last excepted.
PATCHES: Final = 5 << 20
# Of a new file that has as many bytes, parts are sent while it is written.
BEHIND: Final = 16 << 20
# In bytes.
LONGEST_KEY: Final = 1024


class OptionsError(ValueError):
    """
    :ivar problems: everything that is wrong
    """

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(" ".join(problem.text() for problem in problems))
        self.problems = problems


class Objects(NamedTuple):
    """What is said to the store with each request that knows it.

    :ivar encryption: SSE-S3, SSE-KMS or SSE-C; what the bucket says when it is empty
    """

    encryption: str = ""
    kms_key: str = ""
    customer_key: str = ""  # in base64
    requester_pays: bool = False
    checksums: bool = False
    storage_class: str = ""

    def __repr__(self) -> str:
        return f"Objects({self.encryption})"


class Lent(NamedTuple):
    """Temporary keys, and who lends them.

    :ivar seconds: for which they are asked for
    :ivar policy: that narrows what they may do
    :ivar role: that is taken on; without one they are those of who asks
    :ivar token_file: in which a token lies that is shown in the place of keys
    """

    endpoint: str
    region: str
    seconds: int
    policy: str = ""
    role: str = ""
    token_file: str = ""
    verify: bool = True
    bos: bool = False


class Options(NamedTuple):
    bucket: str
    endpoint: str  # with its scheme, without the bucket
    root: str = ""
    region: str = _REGIONS["s3"]
    path_style: bool = False
    verify: bool = True  # the store's certificate
    credentials: Credentials | None = None  # None where they come from elsewhere
    objects: Objects = Objects()
    lent: Lent | None = None  # None where keys are used as they are given

    def place(self) -> str:
        """Where the bucket is, as obstore wants it: with the bucket's name where that is a part of the host's."""
        scheme, _colon, rest = self.endpoint.partition("://")
        return self.endpoint if self.path_style else f"{scheme}://{self.bucket}.{rest}"


def read(url: str, properties: Mapping[str, Any]) -> Options:
    """
    :raises OptionsError:
    """
    declared: dict[str, Any] = {"url": url, "properties": dict(properties)}
    spec, problems = check.read(stores.SPEC, declared)
    # What has a wrong value is there, so it is told once, and what else is wrong beside it too.
    told = {problem.path for problem in problems}
    given = {name: value for name, value in spec.get("properties", {}).items() if ("properties", name) not in told}
    looked_at = {"url": spec["url"], "properties": given, **_elsewhere(spec.get("properties", {}))}
    if ("url",) not in told:
        problems += [problem for problem in storage.problems(looked_at, TYPES) if problem.path not in told]
    if problems:
        raise OptionsError(problems)
    where = storage.location(spec)
    endpoint = given["endpoint"].rstrip("/")
    endpoint = endpoint if "://" in endpoint else f"http://{endpoint}"  # TLS where it is asked for
    return Options(
        bucket=where["bucket"],
        endpoint=endpoint,
        root=where["subPath"].strip("/"),
        region=given.get("region", _REGIONS[where["type"]]),
        path_style=given.get("s3ForcePathStyle", False),
        verify=not given.get("insecureSkipVerify", False),
        credentials=Credentials(given["accessKey"], given["secretKey"], given.get("sessionToken", ""))
        if "secretKey" in given
        else None,
        objects=Objects(
            given.get("encryption", ""),
            given.get("kmsKeyId", ""),
            given.get("customerKey", ""),
            given.get("requesterPays", False),
            given.get("checksums", False),
            given.get("storageClass", ""),
        ),
        lent=_lent(given, where, endpoint) if given.get("sts") or "webIdentityTokenFile" in given else None,
    )


def _lent(given: Mapping[str, Any], where: Mapping[str, str], endpoint: str) -> Lent:
    bos, region = where["type"] == "bos", given.get("region", _REGIONS[where["type"]])
    place = f"https://sts.{region}.amazonaws.com" if ".amazonaws.com" in endpoint else endpoint
    return Lent(
        endpoint=given.get("stsEndpoint", _BOS if bos else place),
        region=region,
        seconds=given.get("duration", _DURATION),
        policy=given.get("acl", _below(where["bucket"], where["subPath"]) if bos else ""),
        role=given.get("roleArn", ""),
        token_file=given.get("webIdentityTokenFile", ""),
        verify=not given.get("insecureSkipVerify", False),
        bos=bos,
    )


def _below(bucket: str, root: str) -> str:
    """The policy of BOS that reaches what is below a path."""
    place = f"{bucket}/{root.strip('/')}".rstrip("/")
    rule = {
        "effect": "Allow", "service": "bce:bos", "region": "*", "resource": [place, f"{place}/*"],
        "permission": ["READ", "WRITE", "LIST", "GetObject"],
    }  # fmt: skip
    return json.dumps({"accessControlList": [rule]})


def _elsewhere(given: Mapping[str, Any]) -> dict[str, Any]:
    """Who gives neither key has both in a file, or on the machine."""
    return {} if any(name in given for name in stores.HELD) else {"secretRef": {"name": "elsewhere"}}
