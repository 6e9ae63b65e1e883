# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""From when until when a certificate is valid."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime


class CertificateError(ValueError):
    pass


def _element(data: bytes, at: int) -> tuple[int, int, int]:
    """(tag, start of the content, end) of the DER element at ``at``."""
    tag, length, start = data[at], data[at + 1], at + 2
    if length & 0x80:
        size = length & 0x7F
        length, start = int.from_bytes(data[start : start + size], "big"), start + size
    if start + length > len(data):
        raise IndexError
    return tag, start, start + length


def validity(pem: str) -> tuple[datetime, datetime]:
    """From when until when the first certificate of a PEM text is valid.

    The standard library reads certificates only from a live connection, so the five elements on the way are
    walked here.

    :raises CertificateError: when there is none
    """
    _before, separator, rest = pem.partition("-----BEGIN CERTIFICATE-----")
    try:
        if not separator:
            raise CertificateError("it holds no PEM certificate")
        der = base64.b64decode(rest.partition("-----END")[0])
        _tag, at, _end = _element(der, 0)  # Certificate
        _tag, at, _end = _element(der, at)  # TBSCertificate
        tag, _start, end = _element(der, at)
        at = end if tag == 0xA0 else at  # the version is optional
        for _passed in ("serialNumber", "signature", "issuer"):
            at = _element(der, at)[2]
        _tag, at, _end = _element(der, at)  # Validity
        moments = []
        for _moment in ("notBefore", "notAfter"):
            tag, start, at = _element(der, at)
            form = "%y%m%d%H%M%SZ" if tag == 0x17 else "%Y%m%d%H%M%SZ"
            moments.append(datetime.strptime(der[start:at].decode("ascii"), form).replace(tzinfo=UTC))
        return moments[0], moments[1]
    except (IndexError, UnicodeDecodeError, binascii.Error) as error:
        raise CertificateError("it is no X.509 certificate") from error
    except ValueError as error:
        raise CertificateError(str(error)) from error
