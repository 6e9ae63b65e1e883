# SPDX-License-Identifier: Apache-2.0
"""Keys that lie in Vault."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from paddleflow_core import vault

from .credentials import of_values
from .held import CONNECTION, pointer

if TYPE_CHECKING:
    from .credentials import Credentials

# Seconds between two looks at what lies there.
_HOLDS: Final = 60.0


class VaultCredentials:
    def __init__(self, path: str | Path) -> None:
        """
        :param path: of the file that points there, which is read each time
        """
        self._path = Path(path)

    def credentials(self) -> Credentials:
        found = json.loads(self._path.read_bytes())
        try:
            where = pointer(found)
            if where is None:
                raise PermissionError(errno.EACCES, "it does not point to Vault any more; mount again", str(self._path))
            server = vault.resolve(found.get(CONNECTION) or {}, os.environ)
            with vault.opened(server) as client:
                secret = client.read(where.engine, where.path)
                client.keep_token()
        except (ValueError, vault.VaultError) as error:
            raise PermissionError(errno.EACCES, str(error)) from None
        values = {name: secret.get(key) for name, key in where.keys.items()}
        return of_values(values, f"{where.engine}/{where.path} of Vault")._replace(holds=_HOLDS)
