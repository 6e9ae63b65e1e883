# SPDX-License-Identifier: Apache-2.0
"""Keys that lie in Vault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..vaulted import secrets
from .credentials import of_values

if TYPE_CHECKING:
    from pathlib import Path

    from .credentials import Credentials

# Seconds between two looks at what lies there.
_HOLDS: Final = 60.0


class VaultCredentials:
    def __init__(self, path: str | Path) -> None:
        """
        :param path: of the file that points there
        """
        self._path = path

    def credentials(self) -> Credentials:
        return of_values(*secrets(self._path))._replace(holds=_HOLDS)
