# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What Volcano's webhooks say against an object because of other queues. They know those from watches of their own, so what
they say may be of a moment ago."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_OF_OTHERS = re.compile(
    r'webhook "validate(?:queue|job|podgroup)\.volcano\.sh" denied .*'
    r"(?:parent queue|child queue|sum of children's|unable to find job queue|status is|not found)",
    re.DOTALL,
)
_NO_PARENT = re.compile(r'parent queue .*queue\.scheduling\.volcano\.sh "[^"]*" not found', re.DOTALL)


def may_pass(text: str) -> bool:
    """Whether it may be said no more once the webhook has heard what became of other queues."""
    return _OF_OTHERS.search(text) is not None


def of_volcano(text: str) -> bool:
    """Whether Volcano itself refuses something of a queue, and not who may do what, or a policy."""
    return 'webhook "validatequeue.volcano.sh" denied' in text


def of_check_mode(text: str, others: Collection[str]) -> bool:
    """Whether it is only said because check mode did not write the other queues: a parent that an earlier task may have
    left out to make, or a queue of this very declaration."""
    return may_pass(text) and (
        _NO_PARENT.search(text) is not None or not set(others).isdisjoint(re.findall(r"[\w-]+", text))
    )
