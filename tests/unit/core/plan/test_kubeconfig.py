# SPDX-License-Identifier: Apache-2.0
"""Every way in which a kubeconfig is wrong has its sentence, and none of them shows a secret."""

from __future__ import annotations

import base64
import copy
import typing as t
from datetime import UTC, datetime

import pytest
from paddleflow_core.plan.certificate import CertificateError, validity
from paddleflow_core.plan.kubeconfig import (
    Target,
    certificate_findings,
    read_kubeconfig,
    unparsed,
    unread,
    way,
)

# Self-signed, valid 2025 to 2026 (UTCTime) and 2025 to 2060 (GeneralizedTime).
SHORT = """-----BEGIN CERTIFICATE-----
MIHHMHugAwIBAgIBATAFBgMrZXAwDjEMMAoGA1UEAwwDYW5uMB4XDTI1MDEwMTAw
MDAwMFoXDTI2MDEwMTAwMDAwMFowDjEMMAoGA1UEAwwDYW5uMCowBQYDK2VwAyEA
VvaLAYAQ7wbUoEPzFxFRk7LRvdF9tnzfyok6Tcv5fykwBQYDK2VwA0EAAsM+PJgx
4MxJeNc93I06k+ojdzUhSWz4QeH8bzZBg+sU8AeBVXTeockO/NsdLgqPUUpcp5dL
MjL/55UvCrbNAQ==
-----END CERTIFICATE-----
"""
LONG = """-----BEGIN CERTIFICATE-----
MIHJMH2gAwIBAgIBATAFBgMrZXAwDjEMMAoGA1UEAwwDYW5uMCAXDTI1MDEwMTAw
MDAwMFoYDzIwNjAwMTAxMDAwMDAwWjAOMQwwCgYDVQQDDANhbm4wKjAFBgMrZXAD
IQBW9osBgBDvBtSgQ/MXEVGTstG90X22fN/KiTpNy/l/KTAFBgMrZXADQQBU7zSo
jBCDKxcu7WYhQCCi7VtC9l2VCn/VE5Mnww4vQWcfsrQRDCiMowbmiWgsWgn4UDWp
xTh4HuIGrT1JWT4M
-----END CERTIFICATE-----
"""
PATH = "/home/ann/lab.conf"
CONFIG: dict[str, t.Any] = {
    "current-context": "lab",
    "contexts": [
        {"name": "lab", "context": {"cluster": "lab", "user": "ann"}},
        {"name": "prod", "context": {"cluster": "prod", "user": "bob"}},
        {"name": "open", "context": {"cluster": "lab", "user": "nobody"}},
    ],
    "clusters": [{"name": "lab", "cluster": {"server": "https://lab.example.org:6443"}}],
    "users": [{"name": "ann", "user": {"token": "s3cret"}}, {"name": "nobody", "user": {}}],
}


# As YAML reads names that are written without quotes.
NUMBERS: dict[str, t.Any] = {
    "current-context": 123,
    "contexts": [{"name": 123, "context": {"cluster": 4, "user": 5}}],
    "clusters": [{"name": 4, "cluster": {"server": "https://lab"}}],
    "users": [{"name": 5, "user": {"token": "s3cret"}}],
}


def said(config: t.Any, context: str = "") -> list[str]:
    return [finding.message for finding in read_kubeconfig(PATH, config, context)[1]]


def test_a_good_kubeconfig_names_a_cluster() -> None:
    target, found = read_kubeconfig(PATH, CONFIG)
    assert found == []
    assert target == Target(PATH, "lab", "lab", "https://lab.example.org:6443", "ann", "a token")
    assert "s3cret" not in repr(target)


@pytest.mark.parametrize(
    ("config", "context", "expected"),
    [
        (
            None,
            "",
            ["holds no contexts, but one is needed: write it anew, or name another with kubernetes_kubeconfig."],
        ),
        (
            "text",
            "",
            ["holds no contexts, but one is needed: write it anew, or name another with kubernetes_kubeconfig."],
        ),
        (
            {**CONFIG, "current-context": ""},
            "",
            [
                "has no current context, but one has to be chosen: set kubernetes_context to one of lab, prod, open.",
            ],
        ),
        (
            {**CONFIG, "users": [5, {"name": "ann", "user": "s3cret"}]},
            "",
            [
                (
                    "has an entry in users that is no mapping, but each has to be one: write it anew, or name another with"
                    " kubernetes_kubeconfig."
                )
            ],
        ),
        (
            CONFIG,
            "lba",
            ["has no context lba, but it was asked for: set kubernetes_context to one of lab, prod, open."],
        ),
        (
            CONFIG,
            "prod",
            [
                (
                    "has no cluster 'prod' with a server, but the context prod refers to it: correct the context prod, or"
                    " name another with kubernetes_kubeconfig."
                ),
                (
                    "has no user 'bob', but the context prod refers to it: correct the context prod, or name another with"
                    " kubernetes_kubeconfig."
                ),
            ],
        ),
        (
            CONFIG,
            "open",
            [
                (
                    "gives user nobody no credentials, but the API server asks for some: log in (the cluster's own tool"
                    " writes them), or fetch the kubeconfig again."
                ),
            ],
        ),
    ],
)
def test_a_wrong_kubeconfig_is_told_in_one_sentence(config: t.Any, context: str, expected: list[str]) -> None:
    assert said(config, context) == [f"The kubeconfig {PATH} {sentence}" for sentence in expected]


def test_a_kubeconfig_that_cannot_be_read_is_told_too() -> None:
    name = "set kubernetes_kubeconfig (or K8S_AUTH_KUBECONFIG) to the cluster's kubeconfig."
    assert unread("", "").message == f"The provider existing was given no kubeconfig, but one is needed: {name}"
    assert unread(PATH, f"file not found: {PATH}").message == (
        f"The kubeconfig {PATH} does not exist, but it was asked for: {name}"
    )
    assert unread(PATH, "Permission denied").message == (
        f"The kubeconfig {PATH} cannot be read (Permission denied), but it was asked for: run as its owner, or correct"
        " the path."
    )
    assert unread("/a:/b", "file not found: /a:/b").message == (
        "The kubeconfig /a:/b is a list of files, but one file is needed: write one file with: kubectl config view"
        " --flatten --raw, and set kubernetes_kubeconfig to it."
    )
    assert unparsed(PATH, "could not find expected ':', line 3").message == (
        f"The kubeconfig {PATH} is no YAML (could not find expected ':', line 3), but it has to be: fetch the cluster's"
        " kubeconfig again."
    )


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ({"exec": {"command": "aws"}}, "the program aws"),
        ({"client-certificate-data": "x", "token": "x"}, "a client certificate"),
        ({"tokenFile": "/x"}, "a token file"),
        ({"username": "ann", "password": "x"}, "a user name and password"),
    ],
)
def test_the_kind_of_credentials_is_shown(user: dict[str, t.Any], words: str) -> None:
    target, _found = read_kubeconfig(PATH, {**CONFIG, "users": [{"name": "ann", "user": user}]})
    assert target is not None
    assert target.credentials == words


def test_the_validity_of_a_certificate_is_read_in_both_forms_of_time() -> None:
    assert validity(SHORT) == (datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC))
    assert validity("some text\n" + LONG + SHORT)[1] == datetime(2060, 1, 1, tzinfo=UTC)


# An element that says to be longer than what follows.
CUT = "-----BEGIN CERTIFICATE-----\nMH8A\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    "pem", ["", "no certificate", SHORT[:120], SHORT.replace("MIHH", "****"), LONG.replace("M", "A"), CUT]
)
def test_what_is_no_certificate_is_refused(pem: str) -> None:
    with pytest.raises(CertificateError):
        validity(pem)


SUBJECT = f"The client certificate of user ann in {PATH}"
RENEW = "renew it (kubeadm certs renew, or ask who gave it to you), or name another kubeconfig."


@pytest.mark.parametrize(
    ("pem", "now", "expected"),
    [
        (LONG, datetime(2026, 6, 1, tzinfo=UTC), []),
        (
            SHORT,
            datetime(2026, 6, 1, tzinfo=UTC),
            [f"error: {SUBJECT} expired on 2026-01-01 00:00 UTC, but a valid one is needed: {RENEW}"],
        ),
        (
            SHORT,
            datetime(2025, 12, 30, tzinfo=UTC),
            [f"warning: {SUBJECT} expires on 2026-01-01 00:00 UTC, but the platform is managed with it: {RENEW}"],
        ),
        (
            SHORT,
            datetime(2024, 12, 31, tzinfo=UTC),
            [
                (
                    f"error: {SUBJECT} is valid from 2025-01-01 00:00 UTC on, but it is 2024-12-31 00:00 here: set the"
                    " clock, and let chrony or systemd-timesyncd keep it."
                )
            ],
        ),
        ("nothing", datetime(2025, 6, 1, tzinfo=UTC), [f"error: {SUBJECT} cannot be used (it holds no PEM certificate), but one is needed: {RENEW}"]),
    ],
)  # fmt: skip
def test_a_client_certificate_is_judged_by_its_dates(pem: str, now: datetime, expected: list[str]) -> None:
    config = copy.deepcopy(CONFIG)
    config["users"][0]["user"] = {"client-certificate-data": base64.b64encode(pem.encode()).decode()}
    target, _found = read_kubeconfig(PATH, config)
    assert target is not None
    found = certificate_findings(target, config, None, now)
    assert [f"{finding.severity}: {finding.message}" for finding in found] == expected


def test_names_may_be_numbers() -> None:
    assert read_kubeconfig(PATH, NUMBERS) == (Target(PATH, "123", "4", "https://lab", "5", "a token"), [])
    assert read_kubeconfig(PATH, NUMBERS, "123")[1] == []


def test_a_client_certificate_may_stand_in_several_lines() -> None:
    data = base64.encodebytes(LONG.encode()).decode()
    config = {**CONFIG, "users": [{"name": "ann", "user": {"client-certificate-data": data}}]}
    target, _found = read_kubeconfig(PATH, config)
    assert target is not None
    assert certificate_findings(target, config, None, datetime(2026, 6, 1, tzinfo=UTC)) == []


def test_a_client_certificate_that_is_not_even_base64_is_refused() -> None:
    config = {**CONFIG, "users": [{"name": "ann", "user": {"client-certificate-data": "***"}}]}
    target, _found = read_kubeconfig(PATH, config)
    assert target is not None
    (finding,) = certificate_findings(target, config, None, datetime(2025, 6, 1, tzinfo=UTC))
    assert finding.message == f"{SUBJECT} cannot be used (it holds no PEM certificate), but one is needed: {RENEW}"


def test_a_client_certificate_in_a_file_is_found_beside_the_kubeconfig() -> None:
    config = {**CONFIG, "users": [{"name": "ann", "user": {"client-certificate": "pki/ann.crt"}}]}
    target, _found = read_kubeconfig(PATH, config)
    assert target is not None
    assert target.certificate_file == "/home/ann/pki/ann.crt"
    assert certificate_findings(target, config, LONG, datetime(2026, 6, 1, tzinfo=UTC)) == []
    (finding,) = certificate_findings(target, config, None, datetime(2026, 6, 1, tzinfo=UTC))
    assert finding.message == (
        f"{SUBJECT} cannot be read (/home/ann/pki/ann.crt), but the kubeconfig refers to it: {RENEW}"
    )


def test_other_credentials_have_no_dates() -> None:
    target, _found = read_kubeconfig(PATH, CONFIG)
    assert target is not None
    assert certificate_findings(target, CONFIG, None, datetime(2026, 6, 1, tzinfo=UTC)) == []


@pytest.mark.parametrize(
    ("server", "own", "proxy", "no_proxy", "through"),
    [
        ("https://lab.example.org:6443", "", "", "", ""),
        ("https://lab.example.org:6443", "", "http://proxy", "localhost,other.org", "http://proxy"),
        ("https://lab.example.org:6443", "", "http://proxy", "localhost,.example.org", ""),
        ("https://10.1.2.3:6443", "", "http://proxy", "10.0.0.0/8", ""),
        ("https://127.0.0.1:6443", "", "http://proxy", "", ""),
        ("https://[::1]:6443", "", "http://proxy", "", ""),
        # The kubeconfig's own is used whatever the environment says.
        ("https://10.1.2.3:6443", "socks5://own", "http://proxy", "10.0.0.0/8", "socks5://own"),
    ],
)
def test_the_way_to_a_server_is_kubectls(server: str, own: str, proxy: str, no_proxy: str, through: str) -> None:
    target = Target(PATH, "lab", "lab", server, "ann", "a token", proxy=own)
    assert way(target, proxy, no_proxy).proxy == through
