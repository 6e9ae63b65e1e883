# SPDX-License-Identifier: Apache-2.0
"""From an address and properties to the source that they mean. Each kind is imported where it is wanted: none is small."""

from __future__ import annotations

import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from .held import points
from .objects import Options
from .rates import Rates, gates
from .unfinished import Unfinished

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .base import Abilities, Source, Tell


_BUCKETS: Final = {"boto3": "boto3", "obstore": "obstore"}
# By what each kind is served: the module, and the package that has it.
_LIBRARIES: Final = {
    "s3": _BUCKETS,
    "bos": _BUCKETS,
    "hdfs": {"hdfs_native": "hdfs-native"},
    "sftp": {"asyncssh": "asyncssh"},
}
_VAULT: Final = {"hvac": "hvac"}


class Wanted(NamedTuple):
    """
    :ivar path: within the address, that nothing leaves
    :ivar secrets: a file of JSON that holds more properties, and may change
    :ivar journal: a folder of this mount alone, in which may be noted what the next one has to end
    """

    url: str
    properties: Mapping[str, Any]
    path: str
    secrets: str | None = None
    journal: str | None = None
    rates: Rates = Rates()

    def __repr__(self) -> str:
        return f"Wanted({self.url})"

    @property
    def kind(self) -> str:
        return self.url.partition(":")[0]


class Leaving(Protocol):
    def end_left(self) -> None: ...


Left = TypeVar("Left", bound=Leaving)


def missing(kind: str, vault: bool = False) -> list[str]:
    """Packages that are not installed and without which nothing of that kind can be served.

    :param vault: the secrets lie there
    """
    wanted = {"trio": "trio", **_LIBRARIES.get(kind, {}), **(_VAULT if vault else {})}
    return [package for module, package in wanted.items() if find_spec(module) is None]


def make(wanted: Wanted, tell: Tell) -> Source:
    """For who serves a mount: what takes long in Python is done in a helper.

    :param tell: of each request
    :raises OSError: when it cannot be had
    """
    if wanted.kind == "local":
        return here(wanted, tell)
    if wanted.kind in ("hdfs", "sftp"):
        from .far import FarSource

        return FarSource(wanted, tell)
    from .split import SplitSource

    return SplitSource(wanted, options(wanted), tell)


def abilities(wanted: Wanted) -> Abilities | None:
    """Of a kind that always has the same."""
    if wanted.kind == "sftp":
        from .sftp.source import SftpSource

        return SftpSource.abilities
    if wanted.kind == "hdfs":
        from .hdfs.source import HdfsSource

        return HdfsSource.abilities
    return None


def here(wanted: Wanted, tell: Tell) -> Source:
    """In this process."""
    passing, noted = gates(wanted.rates), Unfinished(wanted.journal)
    if wanted.kind == "local":
        from .local import LocalSource

        return LocalSource(wanted.path, passing, noted)
    if wanted.kind == "sftp":
        from .sftp.options import FileLogin, VaultLogin
        from .sftp.options import read as read_sftp
        from .sftp.source import SftpSource

        kind = VaultLogin if points(wanted.secrets) else FileLogin
        login = kind(wanted.secrets) if wanted.secrets else None
        server = read_sftp(wanted.url, wanted.properties)
        return _ended(SftpSource(server, login, gates=passing, on_request=tell, noted=noted))
    if wanted.kind == "hdfs":
        from .hdfs.options import read as read_hdfs
        from .hdfs.source import HdfsSource

        cluster = read_hdfs(wanted.url, _with_vaults(wanted))
        return _ended(HdfsSource(cluster, gates=passing, on_request=tell, noted=noted))
    from .s3.journal import Journal
    from .s3.options import read
    from .s3.providers import provider_of
    from .s3.source import BucketSource
    from .s3.store import S3Store

    bucket = read(wanted.url, wanted.properties)
    keys, journal = provider_of(bucket, wanted.secrets), Journal(wanted.journal)
    store = S3Store(bucket, keys, journal=journal, gates=passing, on_request=tell)
    return BucketSource(_ended(store), wanted.path.strip("/"), options(wanted))


def _ended(one: Left) -> Left:
    """With what who died before it left there; nobody waits for that."""
    threading.Thread(target=one.end_left, daemon=True).start()
    return one


def _with_vaults(wanted: Wanted) -> Mapping[str, Any]:
    """What is wanted, with what its file of secrets points to: a source that is made anew has what lies there then.

    :raises PermissionError:
    """
    if not wanted.secrets or not points(wanted.secrets):
        return wanted.properties
    from .vaulted import secrets

    found = secrets(wanted.secrets)[0]
    return {**wanted.properties, **{name: value for name, value in found.items() if isinstance(value, str)}}


def options(wanted: Wanted) -> Options:
    return Options(
        implicit_folders=wanted.properties.get("implicitDirectories", True),
        persist=wanted.properties.get("persistAttributes", False),
    )
