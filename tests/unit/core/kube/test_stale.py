# SPDX-License-Identifier: Apache-2.0
"""How long a refusal is doubted. What real webhooks say is seen in tests/api/test_queue_tree.py."""

from __future__ import annotations

import time

import pytest
from paddleflow_core.kube.errors import Asked, InvalidError
from paddleflow_core.kube.stale import patiently

STALE = 'admission webhook "validatejob.volcano.sh" denied the request: unable to find job queue'


class Webhook:
    def __init__(self, text: str, times: int) -> None:
        self.text, self.times, self.asked = text, times, 0

    def __call__(self) -> int:
        self.asked += 1
        if self.asked <= self.times:
            raise InvalidError(self.text, Asked("apply"), 400)
        return self.asked


def test_it_is_asked_again_until_it_has_heard() -> None:
    assert patiently(time.monotonic() + 60, Webhook(STALE, 2)) == 3


def test_what_has_nothing_to_do_with_other_queues_is_taken_at_its_word() -> None:
    webhook = Webhook("spec.weight: must be at least 1", 9)
    with pytest.raises(InvalidError, match="weight"):
        patiently(time.monotonic() + 60, webhook)
    assert webhook.asked == 1


def test_patience_ends() -> None:
    webhook = Webhook(STALE, 9)
    with pytest.raises(InvalidError, match="unable to find"):
        patiently(0.0, webhook)
    assert webhook.asked == 1
