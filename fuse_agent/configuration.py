# SPDX-License-Identifier: Apache-2.0
"""From an address and options, as people give them, to what a mount is made of. No input or output."""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from paddleflow_core.model import mount as model
from paddleflow_core.model import storage

from .files.view import Settings
from .sources.rates import Rate, Rates

if TYPE_CHECKING:
    from collections.abc import Mapping

# Whoever shows what a mount is must not show these.
_HASHED = 12


class OptionsError(ValueError):
    """All that is wrong with an address and its options."""


class Configuration(NamedTuple):
    """
    :ivar place: the type, server, path and bucket of the address
    :ivar properties: of the store; some are secrets
    :ivar mount: every option of the mount
    """

    url: str
    place: dict[str, str]
    properties: dict[str, Any]
    mount: dict[str, Any]

    def __repr__(self) -> str:
        return f"Configuration({self.url})"


def read(url: str, options: Mapping[str, Any]) -> Configuration:
    """
    :raises OptionsError:
    """
    properties, mount, problems = model.read(url, options)
    if problems:
        raise OptionsError("\n".join(problem.text() for problem in problems))
    return Configuration(url, storage.location({"url": url, "properties": properties}), properties, mount)


def identity(configuration: Configuration) -> str:
    """Of the files, whoever mounts them and with which secrets."""
    place = configuration.place
    return "\0".join((place["type"], place["serverAddress"], place.get("bucket", ""), place["subPath"]))


def folder(configuration: Configuration) -> str:
    """Of a cache, below that of all caches: that of these files."""
    return f"{configuration.place['type']}-{blake2b(os.fsencode(identity(configuration)), digest_size=_HASHED).hexdigest()}"


def tag(configuration: Configuration) -> str:
    """Of a cache, below that of these files: that of who mounts them with these options."""
    found = model.cached(configuration.properties, configuration.mount)
    shown = sorted((name, str(value)) for name, value in found.items())
    return blake2b(repr(shown).encode(), digest_size=_HASHED).hexdigest()


def settings(configuration: Configuration, uid: int, gid: int, mounted_ns: int) -> Settings:
    """
    :param uid: who owns what the source tells no owner of
    """
    given, mount = configuration.properties, configuration.mount
    umask = int(given.get("umask", "000").removeprefix("0o"), 8)
    return Settings(
        uid=given.get("uid", uid),
        gid=given.get("gid", gid),
        folder_mode=_mode(given.get("dirMode", "755")) & ~umask,
        file_mode=_mode(given.get("fileMode", "644")) & ~umask,
        attributes_hold=model.seconds(mount["meta-cache-expire"]),
        names_hold=model.seconds(mount["entry-cache-expire"]),
        kernel_attributes_hold=model.seconds(mount["attr-timeout"]),
        kernel_names_hold=model.seconds(mount["entry-timeout"]),
        relaxed=given.get("relaxedOpen", False),
        read_only=mount["read-only"],
        without_open=without_open(configuration),
        ignores_owners=given.get("ignoreOwnership", False),
        capacity=model.size(mount["capacity"]),
        conflict_fails=mount["conflict"] == "fail",
        identity=identity(configuration),
        block=model.size(mount["block-size"]),
        read_ahead=model.size(mount["data-read-ahead-size"]),
        mounted_ns=mounted_ns,
        xattrs=not mount["disable-xattrs"],
    )


def rates(configuration: Configuration, own: str, shared: str) -> Rates:
    """How many bytes a second may pass.

    :param own: the folder of this mount's buckets, ``shared`` that of the machine's
    """

    def of(way: str) -> list[Rate]:
        named = ((own, f"rate-limit-{way}"), (shared, f"node-rate-limit-{way}"))
        return [Rate(f"{folder}/{name}", model.size(configuration.mount[name])) for folder, name in named]

    return Rates(of("read"), of("write"))


def without_open(configuration: Configuration) -> bool:
    """The kernel need not tell of an open or close: only where nobody writes, and an open asks nobody whether it is the newest."""
    mount, relaxed = configuration.mount, configuration.properties.get("relaxedOpen", False)
    return mount["profile"] == "small" or bool(mount["profile"] == "auto" and mount["read-only"] and relaxed)


def _mode(text: str) -> int:
    return int(text.removeprefix("0o"), 8)
