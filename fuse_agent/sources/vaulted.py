# SPDX-License-Identifier: Apache-2.0
"""Secrets that lie in Vault, of a file that points there."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddleflow_core import vault

from .held import CONNECTION, pointer

if TYPE_CHECKING:
    from collections.abc import Mapping


def secrets(path: str | Path) -> tuple[Mapping[str, Any], str]:
    """By the names of properties, and where they were found. The file is read each time, and Vault asked.

    :raises PermissionError: never with what they are
    """
    try:
        found = json.loads(Path(path).read_bytes())
        where = pointer(found)
        if where is None:
            raise PermissionError(errno.EACCES, "it does not point to Vault any more; mount again", str(path))
        server = vault.resolve(found.get(CONNECTION) or {}, os.environ)
        with vault.opened(server) as client:
            secret = client.read(where.engine, where.path)
            client.keep_token()
    except (ValueError, vault.VaultError) as error:
        raise PermissionError(errno.EACCES, str(error)) from None
    return {name: secret.get(key) for name, key in where.keys.items()}, f"{where.engine}/{where.path} of Vault"
