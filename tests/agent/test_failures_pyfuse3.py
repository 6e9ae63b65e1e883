# SPDX-License-Identifier: Apache-2.0
"""What users are told of what was written, and what is lost of it, does not depend on who serves: the same cases by pyfuse3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent import test_failures as cases

test_closing = cases.test_who_closes_is_told_why_it_was_not_stored_and_nothing_is_lost
test_syncing = cases.test_who_syncs_is_told_and_may_try_again
test_synced = cases.test_a_synced_file_is_at_the_source
test_replacing = cases.test_what_was_there_stays_until_the_new_is_stored
test_refused = cases.test_what_the_source_refuses_did_not_happen
test_asking = cases.test_a_question_that_fails_is_no_answer
test_listing = cases.test_a_listing_that_breaks_off_is_none
test_reading = cases.test_fewer_bytes_than_there_are_is_an_error
test_crash = cases.test_what_was_not_stored_is_stored_by_the_next_mount


@pytest.fixture
def case(tmp_path: Path) -> Iterator[cases.Case]:
    yield from cases.made(tmp_path, 0, cases.QUICK, session="pyfuse3")
