# SPDX-License-Identifier: Apache-2.0
"""Lines of a log, for people and as JSON."""

from __future__ import annotations

import json
import logging
import sys

from paddleflow_fuse.logs import Lines, Quiet, facts


def line(as_json: bool, text: str = "the worker ended", trouble: bool = False, **named: object) -> str:
    record = logging.LogRecord("name", logging.WARNING, "path", 1, text, (), None)
    vars(record).update(facts(**named))
    if trouble:
        try:
            raise KeyError("gone")
        except KeyError:
            record.exc_info = sys.exc_info()
    return Lines(as_json).format(record)


def test_a_line_says_how_bad_what_and_by_which_names() -> None:
    assert line(False, pid=7, why="two words", empty="") == 'warning the worker ended pid=7 why="two words" empty=""'


def test_nothing_that_is_said_makes_a_line_of_its_own() -> None:
    assert line(False, text="a\nb", why="c\nd=e") == 'warning a b why="c\\nd=e"'


def test_what_a_terminal_would_act_upon_is_shown_and_not_done() -> None:
    assert line(False, text="a\x1bb", why="c\rd") == r'warning a\x1bb why="c\rd"'


def test_the_same_as_json() -> None:
    found = json.loads(line(True, pid=7, path=PermissionError(13, "no")))
    assert found == {"level": "warning", "what": "the worker ended", "pid": 7, "path": "[Errno 13] no"}


def test_where_it_failed_is_said() -> None:
    assert "KeyError: 'gone'" in line(False, trouble=True)
    assert "KeyError: 'gone'" in json.loads(line(True, trouble=True))["trace"]


def test_a_line_says_when() -> None:
    record = logging.LogRecord("name", logging.INFO, "path", 1, "a", (), None)
    record.created = 1.5
    assert Lines(False, timed=True).format(record) == "1970-01-01T00:00:01.500+00:00 info a"
    assert json.loads(Lines(True, timed=True).format(record))["time"] == "1970-01-01T00:00:01.500+00:00"


def test_the_same_trouble_is_told_a_few_times_and_then_counted() -> None:
    now = [0.0]
    quiet = Quiet(lambda: now[0])

    def told(text: str, level: int = logging.WARNING) -> logging.LogRecord | None:
        record = logging.LogRecord("name", level, "path", 1, text, (), None)
        return record if quiet.filter(record) else None

    assert [bool(told("the store is away")) for _time in range(1000)] == [True] * 5 + [False] * 995
    assert told("another trouble")
    assert all(told("what somebody asked for", logging.DEBUG) for _time in range(100))
    now[0] = 61.0
    again = told("the store is away")
    assert again is not None
    assert Lines(False).format(again) == "warning the store is away more_of_these=995"
    now[0] = 122.0
    again = told("the store is away")
    assert again is not None
    assert Lines(False).format(again) == "warning the store is away"
