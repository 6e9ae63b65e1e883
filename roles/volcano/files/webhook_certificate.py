# SPDX-License-Identifier: Apache-2.0
"""Decide about and make the certificates of Volcano's webhooks; a request as JSON on stdin, the answer as JSON on stdout.

Works through the openssl command. Private keys go through pipes between the processes and never touch a disk.

Request: secret (the data of the Secret, base64, or null), names (of the service), days, ca_days, renew_days, rotate
(make new ones anyway), trim (every pod has the new certificate: drop authorities that did not sign it).
Answer: action (keep, create, renew, trim), reason, data (of the Secret), bundle (what API servers must trust, base64),
id (of the serving certificate), expires.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import secrets
import subprocess
import sys
import threading

CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----\n?", re.DOTALL)
PARTS = ("ca.crt", "tls.crt", "tls.key")

CA_CONFIG = b"""
[req]
prompt = no
distinguished_name = name
x509_extensions = extensions
[name]
CN = volcano-webhooks-ca %s
[extensions]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
"""
SERVING_CONFIG = b"""
[req]
prompt = no
distinguished_name = name
[name]
CN = volcano-webhooks
[extensions]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = %s
"""


class CertificateError(Exception):
    """Something that the caller is told."""


def openssl(*arguments: str | bytes, stdin: bytes = b"", check: bool = True) -> subprocess.CompletedProcess[bytes]:
    """Run openssl. An argument given as bytes becomes a file that holds them, made of a pipe."""
    argv: list[str] = ["openssl"]
    readers: list[int] = []
    writers: list[threading.Thread] = []
    for argument in arguments:
        if isinstance(argument, str):
            argv.append(argument)
            continue
        reader, writer = os.pipe()
        readers.append(reader)
        writers.append(threading.Thread(target=_fill, args=(writer, argument)))
        argv.append(f"/dev/fd/{reader}")
    for thread in writers:
        thread.start()
    try:
        done = subprocess.run(argv, input=stdin, capture_output=True, pass_fds=readers, check=False, timeout=60)
    except FileNotFoundError:
        raise CertificateError("openssl is not installed on this host; install the package openssl") from None
    finally:
        for reader in readers:
            os.close(reader)
        for thread in writers:
            thread.join()
    if check and done.returncode:
        raise CertificateError(
            "openssl {} failed: {}".format(argv[1], done.stderr.decode(errors="replace").strip()[-500:])
        )
    return done


def _fill(writer: int, data: bytes) -> None:
    try:
        with os.fdopen(writer, "wb") as stream:
            stream.write(data)
    except BrokenPipeError:
        pass  # openssl stopped reading; it says why itself


def make(names: list[str], days: int, ca_days: int) -> dict[str, bytes]:
    """A new authority and a serving certificate that it signed. The authority's key is gone when this returns."""
    ca_key = openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout").stdout
    ca_config = CA_CONFIG % secrets.token_hex(4).encode()
    ca = openssl("req", "-new", "-x509", "-sha256", "-days", str(ca_days), "-key", ca_key, "-config", ca_config).stdout
    key = openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout").stdout
    config = SERVING_CONFIG % ", ".join("DNS:" + name for name in names).encode()
    request = openssl("req", "-new", "-sha256", "-key", key, "-config", config).stdout
    serial = "0x%s" % (secrets.token_hex(15) + "01")
    signing = ("-CA", ca, "-CAkey", ca_key, "-set_serial", serial, "-days", str(days), "-sha256")
    certificate = openssl(
        "x509", "-req", *signing, "-extfile", config, "-extensions", "extensions", stdin=request
    ).stdout
    return {"ca.crt": ca, "tls.crt": certificate, "tls.key": key}


def authorities(bundle: bytes) -> list[bytes]:
    return [found.strip() + b"\n" for found in CERTIFICATE.findall(bundle)]


def signed_by(certificate: bytes, authority: bytes) -> bool:
    return openssl("verify", "-CAfile", authority, stdin=certificate, check=False).returncode == 0


def expires(certificate: bytes) -> str:
    return openssl("x509", "-noout", "-enddate", stdin=certificate).stdout.decode().strip().partition("=")[2]


def _runs_out(certificate: bytes, days: int) -> bool:
    return openssl("x509", "-noout", "-checkend", str(days * 86400), stdin=certificate, check=False).returncode != 0


def fault(data: dict[str, bytes], names: list[str], renew_days: int) -> str:
    """Why what is there cannot stay, or nothing."""
    missing = [part for part in PARTS if not data.get(part)]
    if missing:
        return "the Secret lacks " + ", ".join(missing)
    certificate = data["tls.crt"]
    public = openssl("x509", "-noout", "-pubkey", stdin=certificate, check=False)
    if public.returncode:
        return "tls.crt is not a certificate"
    if openssl("pkey", "-pubout", stdin=data["tls.key"], check=False).stdout != public.stdout:
        return "tls.key does not belong to tls.crt"
    signers = [ca for ca in authorities(data["ca.crt"]) if signed_by(certificate, ca)]
    if _runs_out(certificate, renew_days):
        return f"the certificate runs out within {renew_days} days, on {expires(certificate)}"
    if not signers:
        return "no authority of ca.crt signed tls.crt"
    if all(_runs_out(ca, renew_days) for ca in signers):
        return f"the authority runs out within {renew_days} days"
    text = openssl("x509", "-noout", "-ext", "subjectAltName", stdin=certificate).stdout.decode()
    held = set(re.findall(r"DNS:([^,\s]+)", text))
    lacking = [name for name in names if name not in held]
    return "the certificate does not name " + ", ".join(lacking) if lacking else ""


def decide(request: dict[str, object]) -> dict[str, object]:
    """The answer to a request."""
    secret = request.get("secret") or {}
    if not isinstance(secret, dict):
        raise CertificateError("secret must be the data of a Secret")
    data = {part: base64.b64decode(secret[part]) for part in PARTS if secret.get(part)}
    names = [str(name) for name in request["names"]]  # type: ignore[attr-defined]
    number = {name: int(str(request[name])) for name in ("days", "ca_days", "renew_days")}
    if number["renew_days"] >= number["days"]:
        raise CertificateError(f"renew_days is {number['renew_days']}, must be less than days, {number['days']}")
    reason = fault(data, names, number["renew_days"]) if data else "there is none"
    if not reason and request.get("rotate"):
        reason = "new ones are asked for"
    action = "keep"
    if reason:
        old = authorities(data.get("ca.crt", b""))
        action = "renew" if old else "create"
        data = make(names, number["days"], number["ca_days"])
        # Pods that still run with an old certificate stay trusted until they are replaced, also when an earlier renewal
        # was interrupted; the last run of the role drops all but the newest.
        data["ca.crt"] += b"".join(old[:4])
    elif request.get("trim"):
        signers = [ca for ca in authorities(data["ca.crt"]) if signed_by(data["tls.crt"], ca)]
        if len(authorities(data["ca.crt"])) > 1:
            action, reason = "trim", "every pod has the new certificate"
            data["ca.crt"] = signers[0]
    encoded = {part: base64.b64encode(data[part]).decode() for part in PARTS}
    return {
        "action": action,
        "reason": reason,
        "data": encoded,
        "bundle": encoded["ca.crt"],
        "authorities": len(authorities(data["ca.crt"])),
        "id": hashlib.sha256(data["tls.crt"]).hexdigest()[:16],
        "expires": expires(data["tls.crt"]),
    }


def main() -> int:
    try:
        answer = decide(json.load(sys.stdin))
    except CertificateError as problem:
        print(problem, file=sys.stderr)
        return 1
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
