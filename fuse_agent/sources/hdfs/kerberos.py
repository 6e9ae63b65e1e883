# SPDX-License-Identifier: Apache-2.0
"""What Kerberos reads from files, in memory: nothing of it is ever on a disk, and all of it ends with the process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .options import Kerberos


class Tickets:
    """
    :ivar keytab: the name of a file that only this process can open
    """

    def __init__(self, kerberos: Kerberos) -> None:
        self._files = [_file("keytab", kerberos.keytab), _file("krb5.conf", configuration(kerberos).encode())]
        self.keytab, config = (f"/proc/self/fd/{one}" for one in self._files)
        os.environ["KRB5_CONFIG"] = config

    def close(self) -> None:
        for one in self._files:
            os.close(one)


def configuration(kerberos: Kerberos) -> str:
    """Of the library, in the form of krb5.conf. Names are not looked up in the DNS backwards: a cluster's are as they are given."""
    kdcs = "\n".join(f"    kdc = {one}" for one in kerberos.kdcs)
    return f"""[libdefaults]
  default_realm = {kerberos.realm}
  dns_lookup_realm = false
  dns_lookup_kdc = false
  rdns = false
  dns_canonicalize_hostname = false
  default_ccache_name = MEMORY:paddleflow
[realms]
  {kerberos.realm} = {{
{kdcs}
  }}
"""


def _file(name: str, content: bytes) -> int:
    descriptor = os.memfd_create(name)
    os.write(descriptor, content)
    return descriptor
