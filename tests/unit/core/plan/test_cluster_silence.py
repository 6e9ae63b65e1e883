# SPDX-License-Identifier: Apache-2.0
"""Why a server gives no answer, as it is learnt before there is a kubectl."""

from __future__ import annotations

import pytest
from paddleflow_core.plan.cluster import silence, unreachable

SERVER = "https://lab:6443"


@pytest.mark.parametrize(
    ("complaint", "meaning"),
    [
        ("<urlopen error [Errno 111] Connection refused>", "nothing listens there ([Errno 111] Connection refused)"),
        ("<urlopen error [Errno -2] Name or service not known>", "its name is not known"),
        ("<urlopen error [Errno -3] Temporary failure in name resolution>", "its name is not known"),
        ("<urlopen error [Errno 113] No route to host>", "there is no route to it"),
        ("<urlopen error [Errno 101] Network is unreachable>", "there is no route to it"),
        ("<urlopen error timed out>", "it does not answer in time (timed out)"),
        ("<urlopen error [SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:992)>", "it does not speak TLS"),
        ("<urlopen error Tunnel connection failed: 403 Forbidden>", "the proxy does not lead there"),
    ],
)
def test_a_server_is_asked_before_there_is_a_kubectl(complaint: str, meaning: str) -> None:
    """As Python says it through the module `uri`."""
    said = silence({"status": -1, "msg": f"Status code was -1 and not [200]: Request failed: {complaint}"})
    assert f"cannot be asked: {meaning}" in unreachable(SERVER, said).message


def test_any_answer_of_a_server_will_do_and_none_is_none() -> None:
    assert silence({"status": 401, "msg": "Status code was 401 and not [200]: HTTP Error 401: Unauthorized"}) == ""
    assert silence({"status": 200}) == ""
    for alert in ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "TLSV1_UNRECOGNIZED_NAME"):
        said = f"Request failed: <urlopen error [SSL: {alert}] tlsv13 alert (_ssl.c:2580)>"
        assert silence({"status": -1, "msg": f"Status code was -1 and not [200]: {said}"}) == ""
    assert silence({"status": -1, "msg": "Connection failure: timed out"}) == "timed out"
    assert silence({}) == "it was not asked"
