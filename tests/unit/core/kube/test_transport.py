# SPDX-License-Identifier: Apache-2.0
"""Requests over real sockets to a server that misbehaves as told."""

from __future__ import annotations

import functools
import json
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.kube import errors
from paddleflow_core.kube.connection import Credentials
from paddleflow_core.kube.errors import Asked
from paddleflow_core.kube.kubeconfig import token_file
from paddleflow_core.kube.transport import TRIES, Transport, _Call, _json

from tests.support.control_plane import free_port
from tests.support.kube_stub import Step, Stream, Stub, answer, ok, refuse, reset, truncated
from tests.support.relay import Relay, TunnelProxy, closing

from .conftest import Certified, Paused

Connect = Callable[..., Transport]
ASKED = Asked("get", "Queue", "ml")


def get(transport: Transport, **options: Any) -> Any:
    return transport.request("GET", "/x", asked=ASKED, **options)


def post(transport: Transport, **options: Any) -> Any:
    return transport.request("POST", "/x", asked=ASKED._replace(verb="create"), body={"a": 1}, **options)


def test_a_python_without_urllib3_is_told_what_to_do(
    stub: Stub, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task may run on a node, of which nobody said that it has one."""
    monkeypatch.setitem(sys.modules, "urllib3", None)
    with pytest.raises(errors.ConfigError) as raised:
        get(connect())
    assert str(raised.value) == (
        f"The API server {stub.url} (the stub) needs the Python package urllib3, which {sys.executable} cannot import "
        "(import of urllib3 halted; None in sys.modules): have the task run on the control node (delegate_to: localhost), "
        f"or run {sys.executable} -m pip install PyYAML urllib3."
    )


# ---- what is sent ---------------------------------------------------------------------------------------------------


def test_a_request(stub: Stub, connect: Connect) -> None:
    stub.steps = [ok({"answer": "ä"})]
    transport = connect(
        impersonate=(("Impersonate-User", "änn"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    )
    found = transport.request(
        "PATCH", "/apis/x", query=[("force", "true"), ("labelSelector", "a=b,c")], body={"ü": [1]}, content_type="application/x",
        asked=ASKED,
    )  # fmt: skip
    (seen,) = stub.seen
    assert found == {"answer": "ä"}
    assert (seen.method, seen.path, seen.query, seen.body) == (
        "PATCH",
        "/apis/x",
        {"force": "true", "labelSelector": "a=b,c"},
        {"ü": [1]},
    )
    assert seen.header("Authorization") == "Bearer t0ken"
    assert seen.header("Content-Type") == "application/x"
    assert seen.header("Accept") == "application/json"
    assert seen.header("User-Agent") == "paddleflow"
    assert seen.header("Impersonate-User").encode("latin-1").decode() == "änn"
    assert seen.header("Impersonate-Group") == "a, b"


@given(st.text())
def test_what_is_sent_is_the_same_read_as_yaml(text: str) -> None:
    """As the API server reads what is applied: a pair of escapes would be two letters that there are not."""
    sent = _json({"text": text, "more": "\x85 \u2028 \ufeff \U0001f680"})
    assert yaml.safe_load(sent) == json.loads(sent) == {"text": text, "more": "\x85 \u2028 \ufeff \U0001f680"}


def test_nothing_secret_is_in_a_repr(connect: Connect) -> None:
    """A tool that reports errors with all variables shows them."""
    call = _Call("POST", "/x", (), b"s3cret", "", 0.0, False, ASKED)
    assert "t0ken" not in f"{connect()._open()!r} {connect().connection!r}"
    assert repr(call) == "<POST /x>"


def test_a_server_below_a_path_and_a_password(stub: Stub, connect: Connect) -> None:
    """As Rancher has it."""
    stub.steps = [ok({})]
    get(connect(server=f"{stub.url}/k8s/clusters/c-1", credentials=Credentials(username="ann", password="pw")))
    assert stub.seen[0].path == "/k8s/clusters/c-1/x"
    assert stub.seen[0].header("Authorization") == "Basic YW5uOnB3"


def test_one_connection_serves_many_requests(stub: Stub, connect: Connect) -> None:
    ports = []

    def note(handler: Any) -> None:
        ports.append(handler.client_address[1])
        ok({})(handler)

    stub.always = note
    transport = connect()
    for _time in range(3):
        get(transport)
    assert len(set(ports)) == 1


def test_one_that_follows_goes_on_with_the_connection_of_the_same_user_only(stub: Stub, connect: Connect) -> None:
    ports = []

    def note(handler: Any) -> None:
        ports.append(handler.client_address[1])
        answer(200, {}, {"Warning": '299 - "old"'})(handler)

    stub.always = note
    first = connect()
    get(first)
    second = connect(before=first)
    assert second.warnings == []
    get(second)
    other = connect(before=second, impersonate=(("Impersonate-User", "ann"),))
    get(other)
    stopped = connect(before=other, impersonate=(("Impersonate-User", "ann"),))
    stopped.stop.set()
    get(connect(before=stopped, impersonate=(("Impersonate-User", "ann"),)))
    assert ports[0] == ports[1]
    assert len({ports[0], ports[2], ports[3]}) == 3
    assert [one.header("Impersonate-User") for one in stub.seen] == ["", "", "ann", "ann"]


def test_who_logs_in_by_a_program_goes_on_too_and_another_program_does_not(stub: Stub, connect: Connect) -> None:
    asked = []

    def log_in(name: str) -> Credentials:
        asked.append(name)
        return Credentials(token=name)

    stub.always = ok({})
    first = None
    for name in ("ann", "ann", "ben"):
        first = connect(before=first, credentials=Credentials(), renew=functools.partial(log_in, name))
        get(first)
    assert asked == ["ann", "ben"]
    assert [one.header("Authorization") for one in stub.seen] == ["Bearer ann", "Bearer ann", "Bearer ben"]


def test_many_threads_share_a_transport(stub: Stub, connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    barrier = threading.Barrier(8)

    def together(handler: Any) -> None:
        barrier.wait(30)
        ok({"path": handler.path})(handler)

    stub.always = together
    transport = connect(writers=8)

    def ask(number: int) -> bool:
        answered = transport.request("GET", f"/{number}", asked=ASKED)
        return bool(answered["path"] == f"/{number}")

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(32)))
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_warnings_of_the_server_are_kept_once(stub: Stub, connect: Connect) -> None:
    stub.always = answer(200, {}, {"Warning": '299 - "v1beta1 is \\"old\\""'})
    transport = connect()
    get(transport)
    get(transport)
    assert transport.warnings == ['v1beta1 is "old"']


def test_very_many_warnings_are_not_all_kept(stub: Stub, connect: Connect) -> None:
    transport = connect()
    stub.steps = [answer(200, {}, {"Warning": f'299 - "number {number}"'}) for number in range(30)]
    for _time in range(30):
        get(transport)
    assert transport.warnings == [f"number {number}" for number in range(20)]


# ---- what is sent again ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step", [refuse(500, "InternalError"), refuse(503, "ServiceUnavailable"), reset, truncated({"a": "b"})]
)
def test_a_read_is_sent_again(stub: Stub, connect: Connect, paused: Paused, step: Step) -> None:
    stub.steps = [step, step, ok({"n": 3})]
    assert get(connect()) == {"n": 3}
    assert len(stub.seen) == 3
    assert 0.05 <= paused.pauses[0] <= 0.1 <= paused.pauses[1] <= 0.2


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (refuse(500, "InternalError"), errors.ServerError),
        (reset, errors.UnreachableError),
        (truncated({"a": 1}), errors.UnreachableError),
    ],
)
def test_a_write_that_may_have_been_done_is_not_sent_again(
    stub: Stub, connect: Connect, step: Step, kind: type[Exception]
) -> None:
    stub.steps = [step]
    with pytest.raises(kind) as raised:
        post(connect())
    assert len(stub.seen) == 1
    if kind is errors.UnreachableError:
        assert str(raised.value).endswith("It is not known whether the server did it.")


def test_a_write_that_is_the_same_twice_is_sent_again(stub: Stub, connect: Connect) -> None:
    stub.steps = [reset, refuse(502, "x"), ok({})]
    assert post(connect(), safe=True) == {}


def test_what_the_server_puts_off_is_sent_when_it_says(stub: Stub, connect: Connect, paused: Paused) -> None:
    stub.steps = [refuse(429, "TooManyRequests", Retry_After="7"), refuse(429, "TooManyRequests"), ok({})]
    assert post(connect()) == {}
    assert 7 <= paused.pauses[0] <= 7.7
    assert paused.pauses[1] <= 0.2


def test_a_server_that_stays_busy_is_given_up(stub: Stub, connect: Connect, paused: Paused) -> None:
    stub.always = refuse(429, "TooManyRequests", "too many requests", Retry_After="1")
    with pytest.raises(errors.ThrottledError) as raised:
        post(connect())
    assert len(stub.seen) == TRIES
    assert len(paused.pauses) == TRIES - 1
    assert str(raised.value).endswith(f"(too many requests): try again later. It was tried {TRIES} times.")


def test_no_pause_outlasts_the_deadline(stub: Stub, connect: Connect, paused: Paused) -> None:
    stub.always = refuse(429, "TooManyRequests", Retry_After="60")
    with pytest.raises(errors.ThrottledError):
        get(connect(), deadline=time.monotonic() + 30)
    assert (len(stub.seen), paused.pauses) == (1, [])


@pytest.mark.parametrize("code", [400, 403, 404, 409, 422])
def test_a_plain_no_is_final(stub: Stub, connect: Connect, code: int) -> None:
    stub.always = refuse(code, "x")
    with pytest.raises(errors.StatusError):
        get(connect())
    assert len(stub.seen) == 1


def test_a_deadline_that_has_passed_sends_nothing_and_blames_no_server(stub: Stub, connect: Connect) -> None:
    with pytest.raises(errors.UnreachableError) as raised:
        get(connect(), deadline=time.monotonic() - 1)
    assert (raised.value.cause, raised.value.sent) == ("timeout", False)
    assert str(raised.value) == (
        "Could not get Queue ml: the task's time was over before this was asked: raise wait_timeout (of an info, timeout)."
    )
    assert stub.seen == []


def test_a_server_that_says_nothing_is_left_at_the_deadline(stub: Stub, connect: Connect) -> None:
    release = threading.Event()

    def silent(_handler: object) -> None:
        release.wait(30)

    stub.steps = [silent]
    try:
        with pytest.raises(errors.UnreachableError) as raised:
            get(connect(timeout=0.2))
    finally:
        release.set()
    assert (raised.value.cause, raised.value.sent) == ("timeout", True)


def test_a_body_that_does_not_end_is_left_at_the_deadline(stub: Stub, connect: Connect) -> None:
    stub.steps = [Stream(b'{"a": ')]
    with pytest.raises(errors.UnreachableError) as raised:
        get(connect(timeout=0.2))
    assert raised.value.cause == "timeout"


def test_an_address_that_never_answered_is_told_at_once(connect: Connect, paused: Paused) -> None:
    with pytest.raises(errors.UnreachableError) as raised:
        get(connect(server=f"http://127.0.0.1:{free_port()}"))
    assert (raised.value.cause, raised.value.sent, paused.pauses) == ("refused", False, [])
    assert "nothing listens there: start the cluster, or correct the server's address and port" in str(raised.value)


def test_a_server_that_answered_before_may_come_back(stub: Stub, paused: Paused) -> None:
    stub.always = ok({})
    port = int(stub.url.rpartition(":")[2])
    with closing(lambda: Relay(("127.0.0.1", port))) as relay:
        transport = Transport(stub.connection(server=f"http://127.0.0.1:{relay.port}"), sleep=paused)
        get(transport)
        relay.close()
        with pytest.raises(errors.UnreachableError, match=f"nothing listens there.*tried {TRIES} times"):
            post(transport)
        transport.close()


@pytest.mark.parametrize("server", ["https://exa mple:6443", "https://{{ x }}:1", "https://h%zz:1"])
def test_an_address_that_is_none_is_told_with_what_one_looks_like(connect: Connect, server: str) -> None:
    with pytest.raises(errors.ConfigError, match=r"cannot be read: write it as https://<host>:<port>\.$"):
        get(connect(server=server))
    with pytest.raises(errors.ConfigError, match=r"^The proxy's address cannot be read"):
        get(connect(proxy=server))


def test_what_is_closed_holds_no_connection_and_makes_a_new_one_when_asked_again(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        transport = connect(server=f"http://127.0.0.1:{listener.getsockname()[1]}")
        for _time in range(2):
            asking = threading.Thread(target=get, args=(transport,))
            asking.start()
            with listener.accept()[0] as connection:
                connection.settimeout(30)
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                asking.join(30)
                transport.close()
                assert connection.recv(1) == b""


def test_a_name_that_is_not_known(connect: Connect) -> None:
    with pytest.raises(errors.UnreachableError) as raised:
        get(connect(server="http://no-such-host.invalid"))
    assert raised.value.cause == "dns"


def test_what_the_caller_was_busy_with_is_no_reason(connect: Connect) -> None:
    """Python chains the exception that is being handled to each new one."""
    try:
        raise ConnectionRefusedError
    except ConnectionRefusedError:
        with pytest.raises(errors.UnreachableError) as raised:
            get(connect(server="http://no-such-host.invalid"))
        assert raised.value.cause == "dns"


# ---- credentials that change ----------------------------------------------------------------------------------------


def test_a_token_file_is_read_again_when_the_token_is_refused(stub: Stub, connect: Connect, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old", encoding="utf-8")
    transport = connect(credentials=Credentials(token="old"), renew=lambda: token_file(file, "x"))
    stub.steps = [ok({}), refuse(401, "Unauthorized"), ok({"n": 2}), ok({"n": 3})]
    get(transport)
    file.write_text("new", encoding="utf-8")
    assert [post(transport), get(transport)] == [{"n": 2}, {"n": 3}]
    assert [seen.header("Authorization")[7:] for seen in stub.seen] == ["old", "old", "new", "new"]


def test_a_token_that_did_not_change_is_not_sent_again(stub: Stub, connect: Connect) -> None:
    stub.always = refuse(401, "Unauthorized", "Unauthorized")
    with pytest.raises(errors.UnauthorizedError) as raised:
        get(connect(renew=lambda: Credentials(token="t0ken")))
    assert len(stub.seen) == 1
    assert "(the stub) does not accept the credentials (Unauthorized)" in str(raised.value)
    assert "t0ken" not in str(raised.value)


def test_credentials_are_renewed_once(stub: Stub, connect: Connect) -> None:
    tokens = iter("abcdef")
    stub.always = refuse(401, "Unauthorized")
    with pytest.raises(errors.UnauthorizedError):
        get(connect(credentials=Credentials(), renew=lambda: Credentials(token=next(tokens))))
    assert [seen.header("Authorization") for seen in stub.seen] == ["Bearer a", "Bearer b"]


def test_threads_that_are_refused_together_renew_once(stub: Stub, connect: Connect) -> None:
    renewals, barrier = [], threading.Barrier(4)

    def judge(handler: Any) -> None:
        if handler.headers["Authorization"] == "Bearer old":
            barrier.wait(30)
            refuse(401, "Unauthorized")(handler)
        else:
            ok({})(handler)

    def renew() -> Credentials:
        renewals.append(1)
        return Credentials(token="new")

    stub.always = judge
    transport = connect(credentials=Credentials(token="old"), renew=renew)
    with ThreadPoolExecutor(4) as pool:
        assert [found.result() for found in [pool.submit(get, transport) for _time in range(4)]] == [{}] * 4
    assert renewals == [1]


def test_credentials_that_cannot_be_renewed_are_told(stub: Stub, connect: Connect) -> None:
    def renew() -> Credentials:
        raise errors.ConfigError("the kubeconfig x", "logs in with y, which failed", "log in again")

    stub.always = refuse(401, "Unauthorized")
    with pytest.raises(errors.ConfigError, match="The kubeconfig x logs in with y, which failed: log in again"):
        get(connect(renew=renew))


# ---- what comes back ------------------------------------------------------------------------------------------------


def test_a_page_of_something_else_is_told(stub: Stub, connect: Connect) -> None:
    stub.steps = [answer(200, b"<html>Log in</html>")]
    with pytest.raises(
        errors.ServerError, match="answered with something that is no JSON: correct the server's address"
    ):
        get(connect())


def test_a_redirect_is_not_followed(stub: Stub, connect: Connect) -> None:
    stub.steps = [answer(302, b"<a>Found</a>", {"Location": "/login"})]
    with pytest.raises(errors.StatusError, match="Could not get Queue ml: Found"):
        get(connect())
    assert len(stub.seen) == 1


def test_lines_come_as_they_are_written(stub: Stub, connect: Connect) -> None:
    stream = Stream(b"one\ntw")
    stub.steps = [stream]
    lines = connect().lines("/log", asked=ASKED)
    assert next(lines) == b"one"
    stream.write(b"o\n").write(b"three").end()
    assert list(lines) == [b"two", b"three"]


def test_lines_that_are_cut_off(stub: Stub, connect: Connect) -> None:
    stub.steps = [Stream(b"one\n").cut()]
    lines = connect().lines("/log", asked=ASKED)
    assert next(lines) == b"one"
    with pytest.raises(errors.UnreachableError) as raised:
        next(lines)
    assert raised.value.cause == "cut"


def test_lines_end_at_the_deadline(stub: Stub, connect: Connect) -> None:
    stub.steps = [Stream(b"one\n")]
    lines = connect().lines("/log", asked=ASKED, deadline=time.monotonic() + 1.0)
    assert next(lines) == b"one"
    with pytest.raises(errors.UnreachableError) as raised:
        next(lines)
    assert raised.value.cause == "timeout"


def test_lines_that_are_refused(stub: Stub, connect: Connect) -> None:
    stub.steps = [refuse(404, "NotFound")]
    with pytest.raises(errors.NotFoundError):
        next(connect().lines("/log", asked=ASKED))


# ---- proxies --------------------------------------------------------------------------------------------------------


def test_a_plain_server_is_asked_through_its_proxy(stub: Stub, connect: Connect) -> None:
    """The stub is the proxy, and is asked for the whole address."""
    stub.steps = [ok({"n": 1})]
    proxy = stub.url.replace("http://", "http://ann:p%40ss@")
    assert get(connect(server="http://lab.example.org:6443", proxy=proxy, proxy_headers={"user-agent": "us"})) == {
        "n": 1
    }
    assert stub.seen[0].header("Proxy-Authorization") == "Basic YW5uOnBAc3M="


def test_a_proxy_that_is_not_there(connect: Connect) -> None:
    proxy = f"http://ann:s3cret@127.0.0.1:{free_port()}"
    with pytest.raises(errors.UnreachableError) as raised:
        get(connect(server="http://lab.example.org", proxy=proxy))
    assert raised.value.cause == "proxy"
    said = str(raised.value)
    assert f"through the proxy {proxy.replace('ann:s3cret@', '')} did not answer: the proxy does not lead there" in said
    assert "s3cret" not in said


def test_a_write_through_a_tunnel_that_is_cut_is_not_sent_again(
    connect: Connect, certified: Certified, paused: Paused
) -> None:
    """The proxy passes the whole request on before it goes: the server may have done it."""
    posts: list[bytes] = []

    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        closing(lambda: TunnelProxy(listener.getsockname())) as proxy,
    ):

        def serve() -> None:
            with certified.server.wrap_socket(listener.accept()[0], server_side=True) as inside:
                posts.append(inside.recv(65536))

        server = threading.Thread(target=serve)
        server.start()
        made = connect(server="https://lab.example.org", verify=False, proxy=f"http://127.0.0.1:{proxy.port}")
        made._answered = True
        with pytest.raises(errors.UnreachableError) as raised:
            post(made)
        server.join(30)
    assert [text[:7] for text in posts] == [b"POST /x"]
    assert (raised.value.cause, raised.value.sent, paused.pauses) == ("cut", True, [])
    assert str(raised.value).endswith("It is not known whether the server did it.")
