# SPDX-License-Identifier: Apache-2.0
"""What may be configured, and what is said of what may not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from paddleflow_fuse.supervisor.settings import SettingsError, changed, parse

LEAST = {"point": "/mnt/data", "source": "s3://bucket"}


def parsed(**given: Any) -> Any:
    return parse(json.dumps({**LEAST, **given}))


def test_a_point_and_a_source_are_enough() -> None:
    settings = parsed()
    assert (settings.point, settings.source, settings.files) == (Path("/mnt/data"), "s3://bucket", {})
    assert (settings.grace, settings.limits.patience, settings.limits.failures) == (30, 10, 5)
    assert settings.worker[-1] == "paddleflow_fuse.worker"


def test_what_is_given_holds() -> None:
    settings = parsed(grace=5, patience=0.5, failures=3, read_only=True, read_ahead_kib=512, files={"key": "secret"})
    assert (settings.grace, settings.limits.patience, settings.limits.failures) == (5, 0.5, 3)
    assert settings.mount.read_only
    assert settings.wish.read_only
    assert settings.wish.read_ahead == 512 << 10
    assert "secret" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", r"is no JSON in line 1"),
        ("[]", r"is no object"),
        (json.dumps({**LEAST, "point": "/a\0b"}), r"point of the configuration is '/a\\x00b'; give a text"),
        ('{"source": "x"}', r"point of the configuration is None; give a text"),
        ('{"point": "/x", "source": 3}', r"source of the configuration is 3; give a text"),
        (json.dumps({**LEAST, "color": 1}), r"has no field color\. It has files, point, source, worker, allow_other"),
        (json.dumps({**LEAST, "grace": "long"}), r"grace of the configuration is 'long'; give a number from 0"),
        (json.dumps({**LEAST, "grace": -1}), r"grace of the configuration is -1"),
        (json.dumps({**LEAST, "grace": float("nan")}), r"grace of the configuration is nan"),
        (json.dumps({**LEAST, "grace": 10**400}), r"grace of the configuration is 1000"),
        (json.dumps({**LEAST, "failures": 1.5}), r"failures of the configuration is 1\.5; give a whole number from 0"),
        (json.dumps({**LEAST, "failures": True}), r"failures of the configuration is True"),
        (json.dumps({**LEAST, "read_only": 1}), r"read_only of the configuration is 1; give true or false"),
        (
            json.dumps({**LEAST, "session": "fuse2"}),
            r"session of the configuration is 'fuse2'; give one of auto, direct, pyfuse3",
        ),
        (json.dumps({**LEAST, "log_level": "LOUD"}), r"log_level of the configuration is 'LOUD'; give a name as INFO"),
        (json.dumps({**LEAST, "files": []}), r"files of the configuration is no object"),
        (json.dumps({**LEAST, "worker": []}), r"worker of the configuration is no list of words"),
    ],
)
def test_what_is_wrong_is_refused_with_the_remedy(text: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        parse(text)


def test_what_may_change_takes_the_place_of_what_was() -> None:
    before = json.dumps({**LEAST, "label": "a:1.1", "files": {"url": "x", "options": {"profile": "large", "spin": 0}}})
    found = changed(before.encode(), {"label": "a:1.2", "grace": 5, "options": {"spin": "1u", "log-level": "DEBUG"}})
    options = {"profile": "large", "spin": "1u", "log-level": "DEBUG"}
    assert json.loads(found) == {**LEAST, "label": "a:1.2", "grace": 5, "files": {"url": "x", "options": options}}
    assert json.loads(changed(json.dumps(LEAST).encode(), {})) == {**LEAST, "files": {"options": {}}}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"source": "other", "label": "b"}, r"^source cannot change while it is mounted: unmount it and mount it again\."),
        ({"options": {"profile": "large", "read-only": True, "spin": 0}}, r"^profile, read-only cannot change .*: data-cache-expire, data-"),
        ({"options": []}, r"options of a change is no object"),
        ({"grace": "long"}, r"grace of the configuration is 'long'"),
        ({"log_level": "LOUD"}, r"log_level of the configuration is 'LOUD'"),
    ],
)  # fmt: skip
def test_what_cannot_change_is_refused_by_name(given: dict[str, Any], why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        changed(json.dumps(LEAST).encode(), given)


def test_what_cannot_be_read_is_not_shown() -> None:
    with pytest.raises(SettingsError) as refused:
        parse('{"key": "hush-hush" oops')
    assert "hush-hush" not in str(refused.value)


def test_a_point_is_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert parsed(point=str(tmp_path / "link" / "mnt")).point == tmp_path / "real" / "mnt"
