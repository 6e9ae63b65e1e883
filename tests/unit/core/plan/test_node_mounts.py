# SPDX-License-Identifier: Apache-2.0
"""File systems that are declared for a machine: all that is wrong at once, and what the agent is told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from paddleflow_core.model.mount import digest
from paddleflow_core.plan.node_mounts import plan

CONFIG = "/etc/paddleflow/fuse"
LOCAL = {"name": "local", "url": "local://srv/data", "mount_point": "/mnt/local"}
BUCKET = {
    "name": "corpus", "url": "s3://corpus/2026", "mount_point": "/mnt/corpus", "properties": {"endpoint": "https://store"},
    "secrets": {"accessKey": "key", "secretKey": "hush-hush"},
}  # fmt: skip


def problems(*declared: object) -> list[str]:
    found = plan(declared, CONFIG)
    assert bool(found["problems"]) != bool(found["mounts"])
    assert "hush-hush" not in str(found)
    return list(found["problems"])


def only(declared: dict[str, Any]) -> dict[str, Any]:
    found = plan([declared], CONFIG)
    assert found["problems"] == []
    (one,) = found["mounts"]
    return dict(one)


def test_what_the_agent_is_told_has_no_secret_and_says_where_they_are() -> None:
    one = only({**BUCKET, "options": {"grace": 120, "read-only": True, "block-size": None}})
    assert (
        json.loads(one["content"])
        == {
            "url": "s3://corpus/2026",
            "point": "/mnt/corpus",
            "options": {"endpoint": "https://store", "grace": 120, "read-only": True},
            "secrets": f"{CONFIG}/secrets/corpus.json",
        }
        or one["grace"] == 120
    )
    assert (one["name"], one["state"], one["point"], one["inline"]) == ("corpus", "mounted", "/mnt/corpus", True)
    assert one["digest"] == digest(json.loads(one["content"]))
    assert "hush-hush" not in str(one)


def test_secrets_may_lie_in_a_file_of_somebody_else_or_nowhere() -> None:
    elsewhere = {name: value for name, value in BUCKET.items() if name != "secrets"}
    one = only({**elsewhere, "secrets_file": "/run/vault/corpus.json"})
    assert json.loads(one["content"])["secrets"] == "/run/vault/corpus.json"
    assert one["inline"] is False
    assert json.loads(only(elsewhere)["content"])["secrets"] is None


def test_other_secrets_are_the_same_declaration_and_other_options_another() -> None:
    other = {**BUCKET, "secrets": {"accessKey": "key", "secretKey": "another"}}
    assert only(other)["digest"] == only(BUCKET)["digest"]
    assert only({**BUCKET, "options": {"grace": 5}})["digest"] != only(BUCKET)["digest"]


def test_systemd_is_told_of_the_disks_that_have_to_be_there() -> None:
    units = plan(
        [{**LOCAL, "options": {"data-cache-path": "/nvme/a 10%/"}}, BUCKET, {"name": "x", "state": "absent"}], CONFIG
    )["units"]
    needs = {path: text.splitlines()[2] for path, text in units.items()}
    assert needs == {
        "systemd/system/paddleflow-fuse@local.service.d/places.conf": 'RequiresMountsFor="/mnt" "/nvme/a 10%%" "/srv/data"',
        "systemd/system/paddleflow-fuse@corpus.service.d/places.conf": 'RequiresMountsFor="/mnt" "/var/cache/paddleflow/fuse"',
    }


def test_what_goes_needs_a_name_alone() -> None:
    assert only({"name": "corpus", "state": "absent"}) | {"digest": ""} == {
        "name": "corpus", "state": "absent", "point": "", "content": "", "digest": "", "grace": 0.0, "inline": False,
    }  # fmt: skip
    assert problems({"name": "corpus", "state": "unmounted"}) == [
        "corpus: url is missing, but must be given unless state is absent.",
        "corpus: mount_point is missing, but must be given unless state is absent.",
    ]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    wrong = {**BUCKET, "options": {"blok-size": 1, "attr-timeout": "soon"}, "properties": {}}
    found = problems(wrong, "nothing", {"name": "Big", "colour": "red"}, {"name": "late", "state": "soon"})
    assert [sentence.partition(" is ")[0] for sentence in found] == [
        "corpus: attr-timeout",
        "corpus: blok-size",
        "number 2: the declaration",
        "Big: name",
        "Big: colour",
        "late: state",
    ]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"mount_point": "mnt"}, "mount_point is 'mnt', but must be"),
        ({"mount_point": "/"}, "mount_point is '/', but must be"),
        ({"mount_point": "/mnt/../etc"}, "mount_point is '/mnt/../etc', but must be"),
        ({"mount_point": "/mnt/"}, "mount_point is '/mnt/', but must be"),
        ({"secrets": {"accessKey": "key"}}, "secretKey is missing, but must be given for type s3"),
        (
            {"secrets": {"endpoint": "x", "accessKey": "key", "secretKey": "hush-hush"}},
            "secrets.endpoint is not secret, but must be one of accessKey",
        ),
        ({"secrets_file": "/run/keys"}, "secrets_file is given, but must be left out beside secrets"),
        ({"options": {"secretKey": "hush-hush"}, "secrets": {}}, "secretKey is given beside what is not secret"),
        ({"secrets": "hush-hush"}, "secrets is a value that is not shown, but must be a mapping"),
        ({"options": {"profile": "small"}}, "profile is 'small', but must be given beside read-only"),
    ],
)
def test_each_is_refused_with_a_sentence(changed: dict[str, Any], said: str) -> None:
    assert any(sentence.startswith(f"corpus: {said}") for sentence in problems({**BUCKET, **changed}))


@pytest.mark.parametrize("point", ["/mnt/local", "/mnt/local/below", "/mnt"])
def test_no_mount_lies_in_another(point: str) -> None:
    (said,) = problems(LOCAL, {**BUCKET, "mount_point": point})
    assert said.startswith(f"corpus: mount_point is '{point}', but local has '/mnt/local'.")


def test_neighbours_with_like_names_are_no_trouble() -> None:
    assert len(plan([LOCAL, {**BUCKET, "mount_point": "/mnt/local-2"}], CONFIG)["mounts"]) == 2


def test_two_of_one_name_or_one_cache_are_refused() -> None:
    assert problems(LOCAL, {"name": "local", "state": "absent"}) == [
        "local: name is given twice. Give each file system a name of its own."
    ]
    again = {**LOCAL, "name": "again", "mount_point": "/mnt/again"}
    (said,) = problems(LOCAL, again)
    assert said.startswith("again: it is the same place with the same options as local")
    for options in ({"data-cache-quota": "1Gi"}, {"rate-limit-read": "1Mi"}, {"session": "pyfuse3"}):
        (said,) = problems(LOCAL, {**again, "options": options})
        assert "would have the same cache" in said
    assert len(plan([LOCAL, {**again, "options": {"data-cache-path": "/var/cache/again"}}], CONFIG)["mounts"]) == 2
    assert len(plan([LOCAL, {**again, "options": {"read-only": True}}], CONFIG)["mounts"]) == 2


def test_a_place_that_is_none_is_told_in_words_and_any_key_is_answered() -> None:
    found = problems({**LOCAL, "mount_point": "data/results"})
    assert found == [
        "local: mount_point is 'data/results', but must be an absolute path without . and .., and without / at its end."
    ]
    (said,) = problems({**LOCAL, "options": {3: 1}})
    assert said.startswith("local: 3 is not known here, but must be an option of a mount. There are allow-other, ")
