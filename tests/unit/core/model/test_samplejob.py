# SPDX-License-Identifier: Apache-2.0
"""Work on data sets (paddlejob.md 10)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from paddleflow_core.model import check, own, samplejob

from tests.support import documents

SPEC = samplejob.NOUN["spec"]
SYNC = {"type": "sync", "sampleSetRef": {"name": "pictures"}, "secretRef": {"name": "keys"}}


def said(**spec: Any) -> list[str]:
    read, problems = check.read(SPEC, {**SYNC, **spec})
    return [problem.text() for problem in problems or samplejob.problems("nightly", read)]


def test_a_job_is_its_declaration() -> None:
    (built,) = samplejob.build("nightly", "team", SYNC)
    assert (built["apiVersion"], built["kind"]) == ("batch.paddlepaddle.org/v1alpha1", "SampleJob")
    assert built["metadata"]["namespace"] == "team"
    assert built["spec"] == SYNC


@given(documents.objects(SPEC))
def test_a_live_job_says_the_declaration_that_it_was_built_from(spec: dict[str, Any]) -> None:
    read, problems = check.read(SPEC, spec)
    assert problems == []
    list(samplejob.problems("nightly", read))
    (built,) = samplejob.build("nightly", "team", read)
    assert samplejob.build(own.name_of(built), "team", samplejob.declared(built)) == [built]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"type": "copy"}, "type is 'copy', but must be one of sync, warmup, rmr, clear."),
        ({"type": None}, "type is missing"),
        ({"sampleSetRef": None}, "sampleSetRef is missing"),
        ({"sampleSetRef": {}}, "sampleSetRef.name is missing"),
        ({"secretRef": None}, "secretRef.name is missing, but must be the Secret with the credentials of the source"),
        ({"syncOptions": {"source": "bucket/x"}}, "syncOptions.source is 'bucket/x', but must be like <scheme>://"),
        ({"syncOptions": {"source": "s3://ak:planted@b"}}, "syncOptions.source is a value that is not shown"),
        ({"syncOptions": {"source": "ftp://b"}}, "syncOptions.source is 'ftp://b', but must be an address of one of"),
        ({"syncOptions": {"destination": "../x"}}, "syncOptions.destination is '../x', but must be a path without .."),
        ({"syncOptions": {"threads": -1}}, "syncOptions.threads is -1"),
        ({"type": "rmr"}, "rmrOptions.paths is missing, but must be what to remove, relative to the data set."),
        ({"type": "rmr", "rmrOptions": {"paths": []}}, "rmrOptions.paths is [], but must be a list from 1"),
        ({"type": "rmr", "rmrOptions": {"paths": ["a", "b/../../c"]}}, "rmrOptions.paths[1] is 'b/../../c', but"),
        ({"type": "rmr", "rmrOptions": {"paths": [" "]}}, "rmrOptions.paths[0] is ' ', but must be a path. The whole"),
        (
            {"type": "clear", "clearOptions": {"paths": ["/cache\n"]}},
            "clearOptions.paths[0] is '/cache\\n', but must be",
        ),
        ({"type": "warmup", "warmupOptions": {"file": "../list"}}, "warmupOptions.file is '../list'"),
        ({"type": "warmup", "warmupOptions": {"strategyName": "x"}}, "warmupOptions.strategyName is 'x'"),
        (
            {"schedule": "60 * * * *"},
            "schedule is '60 * * * *' ('60' as minute, which is from 0 to 59), but must be five",
        ),
        ({"schedule": "0 0 31 2 *"}, "schedule is '0 0 31 2 *' (a rule that never comes true"),
        ({"timeZone": "no zone"}, "timeZone is 'no zone', but must be text like"),
        ({"concurrencyPolicy": "Never"}, "concurrencyPolicy is 'Never', but must be one of Forbid, Allow, Replace."),
        ({"timeZone": "Local"}, "timeZone is 'Local', but must be a time zone of the IANA database"),
        ({"failedRunsHistoryLimit": -1}, "failedRunsHistoryLimit is -1"),
        (
            {"successfulRunsHistoryLimit": 101},
            "successfulRunsHistoryLimit is 101, but must be a whole number from 0 to 100.",
        ),
        ({"startingDeadlineSeconds": -1}, "startingDeadlineSeconds is -1, but must be a whole number of at least 0."),
        ({"syncOptions": {"force-update": "maybe"}}, "syncOptions.force-update is 'maybe', but must be true or false."),
        ({"syncOptions": {"delete-src": 1}}, "syncOptions.delete-src is 1, but must be true or false."),
    ],
)
def test_what_is_wrong_with_a_job(spec: dict[str, Any], text: str) -> None:
    assert any(line.startswith(text) for line in said(**spec)), said(**spec)


@pytest.mark.parametrize(
    "spec",
    [
        {"syncOptions": {"source": "bos://bucket.endpoint/x", "destination": "train/", "http-port": 6070, "dry": "no"}},
        {"syncOptions": {"force-update": True, "delete-src": True, "delete-dst": False}, "startingDeadlineSeconds": 0},
        {"schedule": "0 2 * * *", "timeZone": "Europe/Berlin", "successfulRunsHistoryLimit": 0},
        {"type": "warmup", "secretRef": None},
        {"type": "warmup", "warmupOptions": {"paths": ["train"], "file": "list", "strategyName": "random"}},
        {"type": "clear", "secretRef": None, "clearOptions": {"paths": ["/dev/shm/pictures"]}},
        {"type": "rmr", "secretRef": None, "rmrOptions": {"paths": ["n01514859"]}},
        # What another type's options say does not matter, as with the reference.
        {"type": "warmup", "rmrOptions": {"paths": [".."]}},
        {"schedule": "30 2 * * *", "timeZone": "Europe/Berlin", "concurrencyPolicy": "replace", "suspend": True},
    ],
)
def test_a_good_job_has_no_problems(spec: dict[str, Any]) -> None:
    assert said(**spec) == []


def test_how_many_jobs_are_kept_when_nothing_is_said() -> None:
    assert [SPEC[field]["default"] for field in ("successfulRunsHistoryLimit", "failedRunsHistoryLimit")] == [3, 1]
