# SPDX-License-Identifier: Apache-2.0
"""Keys that boto3 finds, which is not small: whoever is given others does not import this."""

from __future__ import annotations

import errno
from typing import Any

import boto3.session
from botocore.exceptions import BotoCoreError

from .credentials import Credentials


class ChainCredentials:
    """Those that boto3 finds: in the environment, in files of the user, of the machine."""

    def __init__(self) -> None:
        self._make: Any = boto3.session.Session  # it has no annotations
        self._found: Any = None

    def credentials(self) -> Credentials:
        try:
            self._found = self._found or self._make().get_credentials()
            if self._found is None:
                raise PermissionError(
                    errno.EACCES,
                    "no keys were given, and none are found on this machine; give accessKey and secretKey",
                )
            frozen = self._found.get_frozen_credentials()  # which renews them
        except BotoCoreError as error:
            raise PermissionError(
                errno.EACCES,
                f"no keys were given, and those of this machine cannot be had ({type(error).__name__}); "
                "give accessKey and secretKey",
            ) from None
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token or "")
