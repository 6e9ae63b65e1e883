# SPDX-License-Identifier: Apache-2.0
"""From an address and properties to the source that they mean. Each kind is imported where it is wanted: none is small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .objects import ObjectSource, Options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .base import Source

    Tell = Callable[[str, int, bool], None]


class Wanted(NamedTuple):
    """
    :ivar path: within the address, that nothing leaves
    :ivar secrets: a file of JSON that holds more properties, and may change
    """

    url: str
    properties: Mapping[str, Any]
    path: str
    secrets: str | None = None

    def __repr__(self) -> str:
        return f"Wanted({self.url})"

    @property
    def kind(self) -> str:
        return self.url.partition(":")[0]


def make(wanted: Wanted, tell: Tell) -> Source:
    """For who serves a mount: what takes long in Python is done in a helper.

    :param tell: of each request, by its name, the code of its answer and whether it is asked again
    :raises OSError: when it cannot be had
    """
    if wanted.kind == "local":
        return here(wanted, tell)
    if wanted.kind in ("hdfs", "sftp"):
        from .far import FarSource

        return FarSource(wanted, tell)
    from .split import SplitSource

    return SplitSource(wanted, options(wanted), tell)


def here(wanted: Wanted, tell: Tell) -> Source:
    """In this process."""
    if wanted.kind == "local":
        from .local import LocalSource

        return LocalSource(wanted.path)
    if wanted.kind == "sftp":
        from .sftp.options import FileLogin
        from .sftp.options import read as read_sftp
        from .sftp.source import SftpSource

        login = FileLogin(wanted.secrets) if wanted.secrets else None
        return SftpSource(read_sftp(wanted.url, wanted.properties), login, on_request=tell)
    if wanted.kind == "hdfs":
        from .hdfs.options import read as read_hdfs
        from .hdfs.source import HdfsSource

        return HdfsSource(read_hdfs(wanted.url, wanted.properties), on_request=tell)
    from .s3.credentials import FileCredentials
    from .s3.options import read
    from .s3.store import S3Store

    provider = FileCredentials(wanted.secrets) if wanted.secrets else None
    store = S3Store(read(wanted.url, wanted.properties), provider, on_request=tell)
    return ObjectSource(store, wanted.path.strip("/"), options(wanted))


def options(wanted: Wanted) -> Options:
    return Options(
        implicit_folders=wanted.properties.get("implicitDirectories", True),
        persist=wanted.properties.get("persistAttributes", False),
    )
