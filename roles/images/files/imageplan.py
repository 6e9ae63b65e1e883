# SPDX-License-Identifier: Apache-2.0
"""What goes into the images, and the names that follow from it: values in, values out, no I/O."""

from __future__ import annotations

import configparser
import hashlib
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

LAYOUT = 1  # part of every key: raise it when the driver makes something else of the same inputs
EPOCH = 1735689600  # every file's time in an image, and the image's own
KEY_LENGTH = 12
USER = 65532  # the customary number of `nonroot`

NAMES = ("pause", "paddleflow", "volcano")
BASE = "base"  # Debian and the locked packages: an image of its own, so that a new wheel alone costs seconds
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
VOLCANO_COMMANDS = ("vc-scheduler", "vc-controller-manager", "vc-webhook-manager")

PYTHON_PACKAGES = "usr/local/lib/python3.11/dist-packages"

# Needed while packages are installed, dead weight afterwards. dpkg's database stays and tells the truth to scanners.
PURGED = (
    "adduser", "bash", "init-system-helpers", "login", "ncurses-bin", "passwd", "sysvinit-utils", "usr-is-merged",
    "debconf", "perl-base",
)  # fmt: skip
# dpkg never unpacks these; what a package's scripts or mmdebstrap make is removed at the end (CLEANED).
EXCLUDED = (
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/lintian/*",
    "path-exclude=/usr/share/bash-completion/*",
)
CLEANED = (
    "etc/apt", "etc/dpkg", "etc/hostname", "etc/resolv.conf", "usr/local/README", "usr/share/debconf", "usr/share/perl",
    "usr/share/perl5", "var/cache/*", "var/lib/apt", "var/lib/dpkg/*-old", "var/log/*", "tmp/*",
    f"{PYTHON_PACKAGES}/kubernetes/aio",  # a second client, of 39 MB, that only its own users import
    f"{PYTHON_PACKAGES}/*/*.c",
)  # fmt: skip
# What mmdebstrap would do at the end: less than CLEANED, and device files, which only root can make and no image needs.
SKIPPED = ("cleanup/apt", "cleanup/mmdebstrap", "output/dev")
# Measured in docs/design/images.md: byte code halves the start of a process. These packages are imported too rarely.
NOT_COMPILED = r"/(kubernetes|openshift)/"

# Every distribution below the folder can be imported, with the libraries that this file system has.
CHECK_IMPORTS = f"""
import importlib, importlib.metadata, pathlib, sys, warnings
warnings.simplefilter("ignore")
folder = "/{PYTHON_PACKAGES}"
names = {{
    path.parts[0].split(".")[0]
    for dist in importlib.metadata.distributions(path=[folder])
    if len(sys.argv) < 2 or dist.metadata["Name"] in sys.argv[1:]
    for path in dist.files or ()
    if path.suffix in (".py", ".so") and len(path.parts) < 3 and path.parts[0][0] not in "._"
}}
bad = []
for name in sorted(name for name in names if name.isidentifier()):
    try:
        importlib.import_module(name)
    except Exception as error:
        bad.append(f"{{name}}: {{error}}")
sys.exit("cannot be imported: " + "; ".join(bad) if bad else 0)
"""


class ImageError(Exception):
    """Says what failed and what to do about it."""


@dataclass(frozen=True)
class Archive:
    """An image archive in the cache."""

    name: str
    key: str
    modified: float = 0.0

    @property
    def file(self) -> str:
        return f"{self.name}-{self.key}.tar"


# --- keys -----------------------------------------------------------------------------------------------------------


def content_key(recipe: Mapping[str, object], inputs: Mapping[str, str]) -> str:
    """The name of what a recipe makes of its inputs (digests, or values themselves); the order of either is nothing."""
    text = json.dumps([LAYOUT, EPOCH, recipe, inputs], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def tree_digest(files: Mapping[str, bytes]) -> str:
    """Of a Go module; its tests do not reach the binary."""
    digest = hashlib.sha256()
    for name in sorted(files):
        if not name.endswith("_test.go"):
            digest.update(f"{name}\0{len(files[name])}\0".encode() + files[name])
    return digest.hexdigest()


def lock_digest(text: str) -> str:
    """What a lock asks for: its comments, and the order and layout of its lines, may change."""
    without_comments = re.sub(r"(?m)(^|\s)#.*$", "", text)
    joined = without_comments.replace("\\\n", " ")
    entries = sorted(" ".join(sorted(line.split())) for line in joined.splitlines() if line.strip())
    return hashlib.sha256("\n".join(entries).encode()).hexdigest()


def binary_key(name: str, architecture: str, source: str, go_requirement: str) -> str:
    """Of the source and not of the binary, so that it is known without a compiler and without waiting for one."""
    recipe = {"name": name, "links": VOLCANO_COMMANDS if name == "volcano" else ()}
    return content_key(recipe, {"architecture": architecture, "source": source, "go": " ".join(go_requirement.split())})


def base_key(architecture: str, suite: str, packages: Iterable[str], revision: str, locks: Mapping[str, str]) -> str:
    recipe = {
        "purged": PURGED,
        "excluded": EXCLUDED,
        "cleaned": CLEANED,
        "skipped": SKIPPED,
        "not compiled": NOT_COMPILED,
        "user": USER,
        "packages": sorted(packages),
    }
    digests = {name: lock_digest(text) for name, text in locks.items()}
    return content_key(recipe, {"architecture": architecture, "suite": suite, "revision": revision, **digests})


def product_key(base: str, wheel_sha256: str) -> str:
    return content_key({"name": "paddleflow"}, {"base": base, "wheel": wheel_sha256})


def parse_archive(file: str, modified: float) -> Archive | None:
    match = re.fullmatch(rf"({'|'.join((*NAMES, BASE))})-([0-9a-f]{{{KEY_LENGTH}}})\.tar", file)
    return Archive(match[1], match[2], modified) if match else None


def prunable(archives: Iterable[Archive], current: Mapping[str, str], keep: int) -> list[Archive]:
    """Of each name whose current key is known: all but that one and the `keep` that were made last."""
    result = []
    for name, key in sorted(current.items()):
        older = [archive for archive in archives if archive.name == name and archive.key != key]
        older.sort(key=lambda archive: (archive.modified, archive.key), reverse=True)
        result += older[max(keep, 0) :]
    return result


# --- Debian ---------------------------------------------------------------------------------------------------------


def debian_suites(suite: str) -> tuple[str, ...]:
    return suite, f"{suite}-updates", f"{suite}-security"


def apt_sources(suite: str, mirror: str, security_mirror: str, configured: Iterable[str] = ()) -> list[str]:
    """One-line sources of the suite. A mirror given rules; else the machine's own, if it is of that suite; else Debian's.

    `configured` are the texts of the machine's source files, of either format. Sources of other origins are left out:
    their suites have other names, they have no component main, or they are signed by another key.
    """
    own = [] if mirror else [line for text in configured for line in configured_sources(suite, text)]
    if any(f" {suite} " in line for line in own):
        return list(dict.fromkeys(own))
    main = mirror or "http://deb.debian.org/debian"
    security = security_mirror or ("" if mirror else "http://deb.debian.org/debian-security")
    lines = [f"deb {main} {suite} main", f"deb {main} {suite}-updates main"]
    return lines + ([f"deb {security} {suite}-security main"] if security else [])


def configured_sources(suite: str, text: str) -> list[str]:
    lines = []
    for address, name, components, signed_by in (*one_line_sources(text), *stanza_sources(text)):
        if name in debian_suites(suite) and "main" in components and (not signed_by or "debian-archive" in signed_by):
            lines.append(f"deb {address} {name} main")
    return lines


Source = tuple[str, str, list[str], str]  # address, suite, components, key


def one_line_sources(text: str) -> list[Source]:
    found = re.findall(r"(?m)^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+([^#\n]+)", text)
    return [
        (address, name, components.split(), "".join(re.findall(r"signed-by=(\S+)", options)))
        for options, address, name, components in found
    ]


def stanza_sources(text: str) -> list[Source]:
    result: list[Source] = []
    without_comments = re.sub(r"(?m)^#.*\n?", "", text)
    for stanza in re.split(r"\n\s*\n", without_comments):
        fields = {name.lower(): value.split() for name, value in re.findall(r"(?m)^([\w-]+):[ \t]*(.*)$", stanza)}
        if "deb" not in fields.get("types", []) or fields.get("enabled") == ["no"]:
            continue
        for address in fields.get("uris", []):
            for name in fields.get("suites", []):
                # A key given in the stanza itself is nobody's archive key.
                key = " ".join(fields["signed-by"]) or "inline" if "signed-by" in fields else ""
                result.append((address, name, fields.get("components", []), key))
    return result


# --- Python ---------------------------------------------------------------------------------------------------------


def pip_environment(environment: Mapping[str, str], index: str, folder: str) -> dict[str, str]:
    """What pip sees in the build root: the caller's index and proxies, and the caller's certificates from `folder`."""
    kept = {name: value for name, value in environment.items() if name.startswith("PIP_") or is_proxy(name)}
    for name in (
        "PIP_FIND_LINKS",
        "PIP_CONFIG_FILE",
        "PIP_CACHE_DIR",
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_ROOT",
        "PIP_USER",
    ):
        kept.pop(name, None)  # they name places of the caller's machine
    bundle = f"{folder}/certificates.pem"
    kept.update(
        HOME=folder,
        PATH="/usr/sbin:/usr/bin:/sbin:/bin",
        LC_ALL="C.UTF-8",
        CFLAGS="-O2 -g0",
        SOURCE_DATE_EPOCH=str(EPOCH),
        PIP_CERT=bundle,
        REQUESTS_CA_BUNDLE=bundle,
        SSL_CERT_FILE=bundle,
        PIP_CONFIG_FILE=f"{folder}/pip.conf",
        PIP_BREAK_SYSTEM_PACKAGES="1",
        PIP_ROOT_USER_ACTION="ignore",
        PIP_NO_CACHE_DIR="1",
        PIP_DISABLE_PIP_VERSION_CHECK="1",
        PIP_NO_INPUT="1",
    )
    if index:
        kept["PIP_INDEX_URL"] = index
    return kept


def is_proxy(name: str) -> bool:
    return name.lower() in {"http_proxy", "https_proxy", "no_proxy", "all_proxy"}


def certificate_candidates(environment: Mapping[str, str]) -> list[str]:
    """Where the machine keeps the certificates that it trusts, the most special first."""
    named = [environment.get(name, "") for name in ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")]
    return [*filter(None, named), "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"]


def merged_pip_config(texts: Sequence[str]) -> str:
    """The machine's pip configuration, later files first in rank, without what names places of the machine."""
    merged = configparser.RawConfigParser()
    for text in texts:
        merged.read_string(text)
    for section in merged.sections():
        for option in ("cert", "client-cert", "find-links", "cache-dir", "target", "prefix", "root", "user", "log"):
            merged.remove_option(section, option)
    out = io.StringIO()
    merged.write(out)
    return out.getvalue()


def wheel_layer(files: Mapping[str, bytes]) -> dict[str, tuple[bytes, int]]:
    """The files that installing a pure wheel makes, with their modes, by their path in the image."""
    result: dict[str, tuple[bytes, int]] = {}
    for name, content in files.items():
        top, _slash, rest = name.partition("/")
        if top.endswith(".data") or name.startswith("/") or ".." in name.split("/"):
            raise ImageError(
                f"The wheel has a file {name}, and only pure wheels are installed: build it without data files."
            )
        if rest == "entry_points.txt" and top.endswith(".dist-info"):
            result.update(console_scripts(content.decode()))
        result[f"{PYTHON_PACKAGES}/{name}"] = (content, 0o644)
    return result


def wheel_tops(files: Iterable[str]) -> list[str]:
    """The packages and modules of a wheel."""
    return sorted({name.partition("/")[0] for name in files if not name.partition("/")[0].endswith(".dist-info")})


def console_scripts(entry_points: str) -> dict[str, tuple[bytes, int]]:
    parser = configparser.RawConfigParser(delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
    parser.read_string(entry_points)
    scripts = {}
    for name, target in parser.items("console_scripts") if parser.has_section("console_scripts") else ():
        module, _colon, function = target.split("[")[0].strip().partition(":")
        first = function.partition(".")[0]
        text = f"#!/usr/bin/python3\nimport sys\nfrom {module} import {first}\nsys.exit({function}())\n"
        scripts[f"usr/local/bin/{name}"] = (text.encode(), 0o755)
    return scripts


# --- errors ---------------------------------------------------------------------------------------------------------


def explain(output: str, lines: int = 30) -> str:
    """The last lines of a failed command with the remedy for the failures that people meet."""
    tail = "\n".join(output.strip().splitlines()[-lines:])
    if re.search(r"no space left", tail, re.IGNORECASE):
        remedy = "The disk is full: building the images needs about 2 GiB in the cache (variable artifacts_cache_dir)."
    elif "CERTIFICATE_VERIFY_FAILED" in tail:
        remedy = (
            "The index's certificate is not trusted: set PIP_CERT to the file with the certificates of your network."
        )
    elif "DO NOT MATCH THE HASHES" in tail:
        remedy = "A downloaded package differs from the lock: do not go on; check the package index."
    elif re.search(r"(?m)^cannot be imported: \w", tail):
        remedy = "A library is missing: add its Debian package to artifacts_image_debian_packages."
    elif re.search(
        r"No matching distribution|Could not find a version|ReadTimeout|NewConnectionError|ProxyError", tail
    ):
        remedy = "The Python index did not answer or lacks a package: set artifacts_pip_index to one that has it."
    elif re.search(
        r"apt-get update|Failed to fetch|Could not resolve|Unable to fetch|NO_PUBKEY|Unable to locate", tail
    ):
        remedy = (
            "Debian's mirror did not answer as expected: set images_debian_mirror to one that this machine reaches."
        )
    elif re.search(r"unauthorized|denied:|authentication required", tail):
        remedy = "The registry refuses: set images_registry_auth_file to a file that `buildah login --authfile` wrote."
    elif re.search(r"pinging container registry|x509:", tail):
        remedy = "The registry does not answer, or not with TLS: check images_registry and images_registry_tls_verify."
    else:
        remedy = "The lines above are the tool's own."
    return f"{tail}\n{remedy}"
