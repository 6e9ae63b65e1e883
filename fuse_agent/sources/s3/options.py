# SPDX-License-Identifier: Apache-2.0
"""What a file system's address and properties say of its bucket. The model says what is wrong with them; all of it at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from paddleflow_core.model import check, storage, stores

from .credentials import Credentials

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paddleflow_core.model.check import Problem

TYPES = ("s3", "bos")
_REGIONS = {"s3": "us-east-1", "bos": "bj"}


class Patience(NamedTuple):
    total: float = 60.0  # seconds after which nothing is tried again
    tries: int = 10
    connect: float = 5.0
    silence: float = 20.0  # seconds without a byte


PATIENT = Patience()


class OptionsError(ValueError):
    """
    :ivar problems: everything that is wrong
    """

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(" ".join(problem.text() for problem in problems))
        self.problems = problems


class Options(NamedTuple):
    bucket: str
    endpoint: str  # with its scheme, without the bucket
    root: str = ""
    region: str = _REGIONS["s3"]
    path_style: bool = False
    verify: bool = True  # the store's certificate
    credentials: Credentials | None = None  # None where they come from elsewhere

    def place(self) -> str:
        """Where the bucket is, as obstore wants it: with the bucket's name where that is a part of the host's."""
        scheme, _colon, rest = self.endpoint.partition("://")
        return self.endpoint if self.path_style else f"{scheme}://{self.bucket}.{rest}"


def read(url: str, properties: Mapping[str, str]) -> Options:
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
    return Options(
        bucket=where["bucket"],
        endpoint=endpoint if "://" in endpoint else f"http://{endpoint}",  # TLS where it is asked for
        root=where["subPath"].strip("/"),
        region=given.get("region", _REGIONS[where["type"]]),
        path_style=given.get("s3ForcePathStyle", False),
        verify=not given.get("insecureSkipVerify", False),
        credentials=Credentials(given["accessKey"], given["secretKey"], given.get("sessionToken", ""))
        if "secretKey" in given
        else None,
    )


def _elsewhere(given: Mapping[str, Any]) -> dict[str, Any]:
    """Who gives neither key has both in a file, or on the machine."""
    return {} if any(name in given for name in stores.HELD) else {"secretRef": {"name": "elsewhere"}}
