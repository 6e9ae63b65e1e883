# SPDX-License-Identifier: Apache-2.0
"""What an address and properties say of an SFTP server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from paddleflow_fuse.sources.sftp.options import FileLogin, Login, Options, private_key, read

KEY = asyncssh.generate_private_key("ssh-ed25519")
PUBLIC = KEY.export_public_key().decode().strip()
GIVEN = {"user": "someone", "password": "planted", "hostKey": PUBLIC}


def known(options: Options) -> list[str]:
    """The keys that this server may have."""
    assert options.host_keys is not None
    keys = options.host_keys.match(options.host, "", options.port)[0]
    return [key.export_public_key().decode().split()[1] for key in keys]


@pytest.mark.parametrize(
    ("server", "host", "port"),
    [
        ("files.example.org:2222", "files.example.org", 2222),
        ("files.example.org", "files.example.org", 22),
        ("10.0.0.7:22", "10.0.0.7", 22),
        ("[fd00::7]:2222", "fd00::7", 2222),
        ("[fd00::7]", "fd00::7", 22),
        ("fd00::7", "fd00::7", 22),
    ],
)
def test_a_server_has_a_host_and_a_port(server: str, host: str, port: int) -> None:
    options = read(f"sftp://{server}/data/sets/", GIVEN)
    assert (options.host, options.port, options.user, options.root) == (host, port, "someone", b"/data/sets")


def test_the_root_of_the_server_is_one_too() -> None:
    assert read("sftp://server:22/", GIVEN).root == b""


@pytest.mark.parametrize(
    "text",
    [
        PUBLIC,
        f"\n# found by hand\n  {PUBLIC}\n",
        f"[server]:2222 {PUBLIC}",
        f"other,[server]:2222 {PUBLIC} a comment",
        f"*.example.org {PUBLIC}\n[server]:2222 {PUBLIC}",
    ],
    ids=["key", "lines", "known-hosts", "several", "patterns"],
)
def test_a_host_key_is_a_key_or_a_text_of_known_hosts(text: str) -> None:
    assert known(read("sftp://server:2222/", {**GIVEN, "hostKey": text})) == [PUBLIC.split()[1]]


def test_the_key_of_another_host_is_not_this_ones() -> None:
    assert known(read("sftp://server:22/", {**GIVEN, "hostKey": f"other {PUBLIC}"})) == []


@pytest.mark.parametrize("text", ["", "server", "server ssh-ed25519 none", "# nothing"])
def test_a_text_without_a_key_is_refused(text: str) -> None:
    with pytest.raises(OSError, match="hostKey holds no key of a host; give what `ssh-keyscan HOST` prints"):
        read("sftp://server:22/", {**GIVEN, "hostKey": text})


def test_a_text_with_a_line_that_is_none_is_refused() -> None:
    with pytest.raises(OSError, match="hostKey is no text of a known_hosts file"):
        read("sftp://server:22/", {**GIVEN, "hostKey": f"{PUBLIC}\n@unknown server {PUBLIC}"})


def test_whoever_answers_is_taken_only_where_that_is_said() -> None:
    assert read("sftp://server:22/", {**GIVEN, "insecureSkipVerify": True}).host_keys is None
    assert read("sftp://server:22/", {**GIVEN, "insecureSkipVerify": False}).host_keys is not None


def test_nothing_shows_a_secret(tmp_path: Path) -> None:
    options = read("sftp://server:22/", GIVEN)
    assert options.login.password == "planted"
    assert "planted" not in repr(options)
    (tmp_path / "secrets").write_text('{"password": ["planted"]}')
    with pytest.raises(PermissionError) as refused:
        FileLogin(tmp_path / "secrets").login()
    assert "planted" not in str(refused.value)


@pytest.mark.parametrize(
    ("held", "login"),
    [({"password": "one"}, Login("one")), ({"privateKey": "two", "more": 1}, Login(key="two"))],
)
def test_a_login_comes_from_a_file(tmp_path: Path, held: dict[str, Any], login: Login) -> None:
    (tmp_path / "secrets").write_text(json.dumps(held))
    assert FileLogin(tmp_path / "secrets").login() == login


@pytest.mark.parametrize("text", ["", "none", "[]", "{}", '{"password": 7}', '{"password": ""}'])
def test_a_file_without_a_login_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "secrets").write_text(text)
    with pytest.raises(PermissionError, match="no JSON object with password or privateKey"):
        FileLogin(tmp_path / "secrets").login()


def test_private_keys_of_each_usual_form_are_read() -> None:
    for form in ("openssh", "pkcs8-pem"):
        assert private_key(KEY.export_private_key(form).decode()).export_public_key() == KEY.export_public_key()
