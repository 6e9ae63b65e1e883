# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Times as people write them, in the one form of the API server, whose order is that of the text."""

from __future__ import annotations

from datetime import UTC, datetime


def utc(text: str) -> str:
    """One without an offset is in UTC.

    :raises ValueError: when it is no time
    :raises OverflowError: when the calendar does not have it
    """
    found = datetime.fromisoformat(text.upper())
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return f"{found.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat()}Z"
