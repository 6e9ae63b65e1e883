# SPDX-License-Identifier: Apache-2.0
"""Certificates: kubeadm makes the authorities, one certificate per component and the kubeconfigs.

All of it is made in a folder beside the real one, which is then renamed into place: a run that is killed leaves either
the old set or the new set, never half of one. The authorities are carried over; everything they signed is made anew when
it is about to expire or when the configuration (addresses, names) has changed.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from .host import Config, Host, canonical

AUTHORITIES = (
    "ca.crt",
    "ca.key",
    "front-proxy-ca.crt",
    "front-proxy-ca.key",
    "etcd/ca.crt",
    "etcd/ca.key",
    "sa.key",
    "sa.pub",
)
STAMP = "made-from"
KUBELET_EXTENSIONS = "subjectAltName=DNS:{name},IP:{address}\nextendedKeyUsage=serverAuth\nkeyUsage=digitalSignature\nbasicConstraints=CA:FALSE\n"


def folder(config: Config) -> Path:
    return config.data_dir / "pki"


def stamp(config: Config) -> str:
    """What the certificates depend on."""
    text = Path(config.pki.kubeadm_config).read_text() + canonical(config.pki)
    return hashlib.sha256(text.encode()).hexdigest()


def expiring(directory: Path, days: int) -> bool:
    """True when a certificate, or one inside a kubeconfig's client, has less than `days` left.

    All are made in the same moment, so the API server's speaks for all.
    """
    seconds = str(days * 24 * 3600)
    return not Host.succeeds(
        ["openssl", "x509", "-checkend", seconds, "-noout", "-in", str(directory / "apiserver.crt")]
    )


def reason_to_make(config: Config) -> str:
    target = folder(config)
    if not (target / STAMP).exists():
        return "certificates"
    if (target / STAMP).read_text() != stamp(config):
        return "certificates for the changed configuration"
    if expiring(target, config.pki.renew_days):
        return f"certificates, for they expire within {config.pki.renew_days} days"
    return ""


def up(config: Config, host: Host) -> None:
    target = folder(config)
    new, old = target.with_name("pki.new"), target.with_name("pki.old")
    if old.exists() and not target.exists() and not host.check:  # killed between the two renames
        old.rename(target)
    if host.check and not Path(config.pki.kubeadm_config).exists():
        host.change("certificates")
        return
    reason = reason_to_make(config)
    if not reason or not host.change(reason):
        return
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
    (new / "etcd").mkdir(parents=True, mode=0o700)
    new.chmod(0o700)
    for name in AUTHORITIES:
        if (target / name).exists():
            shutil.copy2(target / name, new / name)
    _make(config, new)
    (new / STAMP).write_text(stamp(config))
    if target.exists():
        target.rename(old)
    new.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _make(config: Config, new: Path) -> None:
    kubeadm = str(config.data_dir / "bin" / "kubeadm")
    common = ["--config", config.pki.kubeadm_config, "--cert-dir", str(new)]
    # The configuration names the final folder, which is what the components read; here it is overruled.
    text = Path(config.pki.kubeadm_config).read_text().replace(str(folder(config)), str(new))
    staged = new / "kubeadm.yaml"
    staged.write_text(text)
    common = ["--config", str(staged)]
    Host.run([kubeadm, "init", "phase", "certs", "all", *common])
    Host.run([kubeadm, "init", "phase", "kubeconfig", "all", "--kubeconfig-dir", str(new), *common])
    for name, user in config.pki.users.items():
        path = new / f"{name}.conf"
        path.touch(mode=0o600)
        path.write_text(Host.run([kubeadm, "kubeconfig", "user", "--config", str(staged), "--client-name", user]))
    staged.unlink()
    _kubelet_serving(config, new)


def _kubelet_serving(config: Config, new: Path) -> None:
    """kubeadm leaves the kubelet to sign its own; ours is signed by the cluster, so that the API server can check it."""
    key, request, cert, extensions = (new / f"kubelet.{kind}" for kind in ("key", "csr", "crt", "ext"))
    extensions.write_text(KUBELET_EXTENSIONS.format(name=config.pki.node_name, address=config.pki.node_address))
    subject = f"/O=system:nodes/CN=system:node:{config.pki.node_name}"
    key.touch(mode=0o600)
    Host.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(key)])
    Host.run(["openssl", "req", "-new", "-key", str(key), "-subj", subject, "-out", str(request)])
    signer = ["-CA", str(new / "ca.crt"), "-CAkey", str(new / "ca.key"), "-CAcreateserial"]
    usage = ["-days", "365", "-sha256", "-extfile", str(extensions)]
    Host.run(["openssl", "x509", "-req", "-in", str(request), "-out", str(cert), *signer, *usage])
    for leftover in (request, extensions, new / "ca.srl"):
        leftover.unlink(missing_ok=True)
