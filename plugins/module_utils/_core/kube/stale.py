# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Asks again when a webhook of Volcano refuses what another queue, just written, makes right."""

from __future__ import annotations

import time
import typing as t

from ..plan.refusal import may_pass
from .errors import StatusError

if t.TYPE_CHECKING:
    from collections.abc import Callable

Result = t.TypeVar("Result")

# Its watch is some hundredths of a second behind, a second on a busy machine; longer than this, it means what it says.
STALE_SECONDS = 5.0


def patiently(until: float, call: Callable[[], Result]) -> Result:
    """Nothing announces that a webhook has heard of a change, so that it is asked ten times a second."""
    while True:
        try:
            return call()
        except StatusError as error:
            if time.monotonic() > until or not may_pass(str(error)):
                raise
        time.sleep(0.1)
