# SPDX-License-Identifier: Apache-2.0
"""Which values of images_registry name a registry, and what an answer of one is."""

from __future__ import annotations

import pytest
from paddleflow_core.plan.registry import registry_findings

GOOD = (
    "",
    "registry.example.org/platform",
    "registry.example.org",
    "Registry.example:5000/a/b-c__d.e",
    "builder:5000/p",
    "localhost/p",
    "localhost:5000",
    "127.0.0.1:5000/p",
    "[fd00::1]:5000/p",
)
BAD = (
    "nonsense://x/y",
    "https://registry.example.org/p",
    "registry.example.org/",
    "registry.example.org/p/",
    "registry.example.org/Platform",
    "registry.example.org/p:latest",
    "registry.example.org/p a",
    "user@registry.example.org/p",
    "registry.example.org:port/p",
    "-registry.example.org/p",
    "builder/p",  # every reader takes it for a folder of docker.io
    " registry.example.org/p",
)


@pytest.mark.parametrize("value", GOOD)
def test_a_registry_is_a_host_that_no_reader_takes_for_a_folder(value: str) -> None:
    assert list(registry_findings(value)) == []


@pytest.mark.parametrize("value", BAD)
def test_what_no_image_can_be_named_by_is_refused(value: str) -> None:
    (finding,) = registry_findings(value, [{"status": -1, "msg": "nobody"}])
    assert finding.severity == "error"
    assert finding.message.startswith(
        f"The variable images_registry is {value!r}, but it has to be host[:port]/prefix: "
    )


@pytest.mark.parametrize("status", [200, 401, 404, 503])
def test_whoever_answers_is_there(status: int) -> None:
    assert list(registry_findings("r.example/p", [{"status": -1, "msg": "refused"}, {"status": status}])) == []
    assert list(registry_findings("r.example/p", [{"skipped": True}])) == []


def test_a_registry_that_does_not_answer_is_named_with_the_reason() -> None:
    said = "Status code was -1 and not [200]: Request failed: <urlopen error [Errno 111] Connection refused>"
    (finding,) = registry_findings("r.example:5000/p", [{"status": -1, "msg": said}, {"status": -1, "msg": said}])
    assert finding.message == (
        "The registry r.example:5000 of the variable images_registry does not answer the control node (<urlopen error [Errno"
        " 111] Connection refused>), but the images are pushed there: start it or correct the variable; images_push: false"
        " says that somebody else brings the images there."
    )
    (finding,) = registry_findings("r.example/p", [{"failed": True}])
    assert "(no reason was given)" in finding.message
