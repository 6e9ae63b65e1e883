# SPDX-License-Identifier: Apache-2.0
"""Who gives the keys of a bucket. What each needs is imported where it is wanted: none is small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..held import points
from .credentials import FileCredentials, Fixed

if TYPE_CHECKING:
    from .credentials import Provider
    from .options import Options


def is_near(options: Options, secrets: str | None) -> bool:
    """Whether a worker can have them by itself, without a client of who gives them."""
    return not options.lent and bool(not points(secrets) if secrets else options.credentials)


def provider_of(options: Options, secrets: str | None = None) -> Provider:
    """
    :param secrets: a file that holds them, or says where they are
    """
    own = _own(options, secrets)
    if options.lent is None:
        return own
    from .lent import lent

    return lent(options.lent, own)


def _own(options: Options, secrets: str | None) -> Provider:
    if secrets and points(secrets):
        from .vaulted import VaultCredentials

        return VaultCredentials(secrets)
    if secrets:
        return FileCredentials(secrets)
    if options.credentials is not None:
        return Fixed(options.credentials)
    from .chain import ChainCredentials

    return ChainCredentials()
