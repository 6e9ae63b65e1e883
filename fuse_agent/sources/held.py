# SPDX-License-Identifier: Apache-2.0
"""What a file of secrets says of Vault: where in it the keys lie, by ``vault`` as file systems declare it, and where Vault is and as
whom it is asked, by ``vault_connection`` as the modules take it. What that leaves out, the environment says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from paddleflow_core.model import check
from paddleflow_core.model.stores import ENGINE, SPEC

if TYPE_CHECKING:
    from collections.abc import Mapping

POINTER: Final = "vault"
CONNECTION: Final = "vault_connection"


class Pointer(NamedTuple):
    path: str
    engine: str
    keys: Mapping[str, str]


def pointer(found: Mapping[str, Any]) -> Pointer | None:
    """What a file of secrets says of Vault.

    :raises ValueError: with all that is wrong with it
    """
    if POINTER not in found:
        return None
    read, problems = check.read({POINTER: SPEC[POINTER]}, {POINTER: found[POINTER]})
    beside = sorted(set(found) - {POINTER, CONNECTION})
    texts = [problem.text() for problem in problems]
    if beside:
        texts.append(
            f"{beside[0]} is given beside vault. Leave one of them out: all that is secret comes from one place."
        )
    if texts:
        raise ValueError(" ".join(texts))
    told = read[POINTER]
    return Pointer(told["path"], told.get("engineMountPoint", ENGINE), told["keys"])


def points(path: str | Path | None) -> bool:
    """Whether a file of secrets points to Vault."""
    if path is None:
        return False
    try:
        return POINTER in json.loads(Path(path).read_bytes())
    except (OSError, ValueError, TypeError):
        return False
