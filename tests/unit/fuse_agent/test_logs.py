# SPDX-License-Identifier: Apache-2.0
"""Lines of a log, for people and as JSON."""

from __future__ import annotations

import json
import logging
import sys

from paddleflow_fuse.logs import Lines, facts


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


def test_the_same_as_json() -> None:
    found = json.loads(line(True, pid=7, path=PermissionError(13, "no")))
    assert found == {"level": "warning", "what": "the worker ended", "pid": 7, "path": "[Errno 13] no"}


def test_where_it_failed_is_said() -> None:
    assert "KeyError: 'gone'" in line(False, trouble=True)
    assert "KeyError: 'gone'" in json.loads(line(True, trouble=True))["trace"]
