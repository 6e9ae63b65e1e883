# SPDX-License-Identifier: Apache-2.0
"""The certificates of the webhooks, made by the real openssl."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import webhook_certificate as certificate

NAMES = ["volcano-webhooks.volcano-system.svc", "volcano-webhooks.volcano-system"]
REQUEST: dict[str, Any] = {"secret": None, "names": NAMES, "days": 365, "ca_days": 3650, "renew_days": 30}


def ask(**changes: Any) -> dict[str, Any]:
    answer: dict[str, Any] = certificate.decide({**REQUEST, **changes})
    return answer


def decoded(answer: dict[str, Any], part: str) -> bytes:
    return base64.b64decode(answer["data"][part])


@pytest.fixture(scope="module")
def first() -> dict[str, Any]:
    return ask()


def test_a_first_run_makes_a_pair_that_a_client_trusts(first: dict[str, Any]) -> None:
    assert (first["action"], first["authorities"]) == ("create", 1)
    text = certificate.openssl("x509", "-noout", "-text", stdin=decoded(first, "tls.crt")).stdout.decode()
    for name in NAMES:
        assert f"DNS:{name}" in text
    for part in ("prime256v1", "TLS Web Server Authentication", "CA:FALSE"):
        assert part in text
    authority = certificate.openssl("x509", "-noout", "-text", stdin=decoded(first, "ca.crt")).stdout.decode()
    assert "CA:TRUE, pathlen:0" in authority
    assert certificate.signed_by(decoded(first, "tls.crt"), decoded(first, "ca.crt"))


def test_the_key_of_the_authority_is_nowhere_in_the_answer(first: dict[str, Any]) -> None:
    assert set(first["data"]) == {"ca.crt", "tls.crt", "tls.key"}
    keys = [part for part in first["data"] if b"PRIVATE KEY" in decoded(first, part)]
    assert keys == ["tls.key"]
    public = certificate.openssl("pkey", "-pubout", stdin=decoded(first, "tls.key")).stdout
    assert public != certificate.openssl("x509", "-noout", "-pubkey", stdin=decoded(first, "ca.crt")).stdout


def test_no_key_touches_a_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys are files only under /dev/fd."""
    log = tmp_path / "log"
    real = subprocess.run(["which", "openssl"], check=True, capture_output=True, text=True).stdout.strip()
    wrapper = tmp_path / "openssl"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {real} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    ask()
    words = log.read_text().split()
    files = [words[i + 1] for i, word in enumerate(words) if word in {"-key", "-CAkey", "-CA", "-config", "-extfile"}]
    assert len(files) >= 7
    assert all(name.startswith("/dev/fd/") for name in files)
    assert {path.name for path in tmp_path.iterdir()} == {"log", "openssl"}


def test_what_is_good_is_kept(first: dict[str, Any]) -> None:
    again = ask(secret=first["data"])
    assert (again["action"], again["reason"]) == ("keep", "")
    assert (again["data"], again["id"], again["bundle"]) == (first["data"], first["id"], first["data"]["ca.crt"])


def test_renewal_overlaps_until_every_pod_has_the_new_certificate(first: dict[str, Any]) -> None:
    renewed = ask(secret=first["data"], rotate=True)
    assert (renewed["action"], renewed["authorities"]) == ("renew", 2)
    bundle = decoded(renewed, "ca.crt")
    assert certificate.signed_by(decoded(first, "tls.crt"), bundle), "pods with the old certificate are trusted"
    assert certificate.signed_by(decoded(renewed, "tls.crt"), bundle)
    assert renewed["id"] != first["id"]

    interrupted = ask(secret=renewed["data"])
    assert (interrupted["action"], interrupted["authorities"]) == ("keep", 2)

    trimmed = ask(secret=renewed["data"], trim=True)
    assert (trimmed["action"], trimmed["authorities"], trimmed["id"]) == ("trim", 1, renewed["id"])
    assert not certificate.signed_by(decoded(first, "tls.crt"), decoded(trimmed, "ca.crt"))
    assert certificate.signed_by(decoded(renewed, "tls.crt"), decoded(trimmed, "ca.crt"))
    assert ask(secret=trimmed["data"], trim=True)["action"] == "keep"


def test_a_renewal_on_top_of_an_interrupted_one_still_trusts_the_oldest(first: dict[str, Any]) -> None:
    second = ask(secret=first["data"], rotate=True)
    third = ask(secret=second["data"], rotate=True)
    assert third["authorities"] == 3
    assert certificate.signed_by(decoded(first, "tls.crt"), decoded(third, "ca.crt"))


@pytest.fixture(scope="module")
def short() -> dict[str, Any]:
    return ask(days=20, renew_days=10)


def test_what_runs_out_soon_is_renewed(short: dict[str, Any]) -> None:
    assert ask(secret=short["data"], renew_days=10)["action"] == "keep"
    renewed = ask(secret=short["data"])
    assert renewed["action"] == "renew"
    assert "runs out within 30 days" in renewed["reason"]


def test_an_authority_that_runs_out_soon_is_renewed() -> None:
    answer = ask(secret=ask(ca_days=20)["data"])
    assert (answer["action"], answer["reason"]) == ("renew", "the authority runs out within 30 days")


def test_other_faults_are_found(first: dict[str, Any], short: dict[str, Any]) -> None:
    data = first["data"]
    garbage = base64.b64encode(b"x").decode()
    for secret, names, reason in (
        ({**data, "tls.key": ""}, NAMES, "the Secret lacks tls.key"),
        ({**data, "tls.crt": garbage}, NAMES, "tls.crt is not a certificate"),
        ({**data, "tls.key": short["data"]["tls.key"]}, NAMES, "tls.key does not belong to tls.crt"),
        ({**data, "ca.crt": short["data"]["ca.crt"]}, NAMES, "no authority of ca.crt signed tls.crt"),
        (data, [*NAMES, "other.svc"], "the certificate does not name other.svc"),
    ):
        answer = ask(secret=secret, names=names)
        assert (answer["action"], answer["reason"]) == ("renew", reason)


def test_a_certificate_that_is_always_due_is_refused() -> None:
    with pytest.raises(certificate.CertificateError, match="renew_days is 30, must be less than days, 30"):
        ask(days=30)


def test_a_host_without_openssl_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(certificate.CertificateError, match="openssl is not installed on this host"):
        ask()


def test_what_openssl_says_is_passed_on() -> None:
    with pytest.raises(certificate.CertificateError, match="openssl x509 failed"):
        certificate.openssl("x509", stdin=b"x")


def test_the_program_speaks_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(REQUEST)))
    assert certificate.main() == 0
    assert json.loads(capsys.readouterr().out)["action"] == "create"
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps({**REQUEST, "days": 1})))
    assert certificate.main() == 1
    assert "renew_days" in capsys.readouterr().err
