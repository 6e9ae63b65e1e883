# SPDX-License-Identifier: Apache-2.0
"""From an address and properties to the source that they mean. Each kind is imported where it is wanted: none is small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .base import Source


def make(
    url: str,
    properties: Mapping[str, Any],
    path: str,
    secrets: str | None = None,
    tell: Callable[[str, int, bool], None] = lambda _name, _code, _again: None,
) -> Source:
    """
    :param path: within the address, that nothing leaves
    :param secrets: a file of JSON that holds more properties, and may change
    :param tell: of each request, by its name, the code of its answer and whether it is asked again
    """
    kind = url.partition(":")[0]
    if kind == "local":
        from .local import LocalSource

        return LocalSource(path)
    if kind == "sftp":
        from .sftp.options import FileLogin
        from .sftp.options import read as read_sftp
        from .sftp.source import SftpSource

        return SftpSource(read_sftp(url, properties), FileLogin(secrets) if secrets else None, on_request=tell)
    if kind == "hdfs":
        from .hdfs.options import read as read_hdfs
        from .hdfs.source import HdfsSource

        return HdfsSource(read_hdfs(url, properties), on_request=tell)
    from . import objects
    from .s3.credentials import FileCredentials
    from .s3.options import read
    from .s3.store import S3Store

    store = S3Store(read(url, properties), FileCredentials(secrets) if secrets else None, on_request=tell)
    options = objects.Options(
        implicit_folders=properties.get("implicitDirectories", True), persist=properties.get("persistAttributes", False)
    )
    return objects.ObjectSource(store, path.strip("/"), options)
