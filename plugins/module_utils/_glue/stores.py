# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What the module of a noun over a store does beside declaring it: it reads from Vault what is secret, and takes Secrets away that
nothing needs any more."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NoReturn

from .._core import vault
from .._core.kube.declare import declare
from .._core.kube.errors import ForbiddenError
from .._core.kube.wanted import Extra
from .._core.model import own, storage, storage_objects
from .._core.model.stores import ENGINE
from . import noun as glue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .._core.kube.wanted import Outcome, Run
    from .module import Module
    from .noun import Declared, NounFile, Planned

    Follow = Callable[[Module, Run, Sequence[Planned], Sequence[Outcome]], list[Outcome]]

# The names of community.hashi_vault, whose variables are read too.
CONNECTION: dict[str, Any] = {
    "vault_connection": {
        "type": "dict",
        "options": {
            "url": {"type": "str"},
            "namespace": {"type": "str"},
            "ca_cert": {"type": "path", "aliases": ["cacert"]},
            "validate_certs": {"type": "bool"},
            "auth_method": {"type": "str", "choices": list(vault.METHODS)},
            "mount_point": {"type": "str"},
            "token": {"type": "str", "no_log": True},
            "role_id": {"type": "str"},
            "secret_id": {"type": "str", "no_log": True},
            "jwt": {"type": "str", "no_log": True},
        },
    },
}


def run(noun: NounFile, extra: Extra | None = None, follow: Follow | None = None) -> NoReturn:
    """
    :param extra: what its objects need beside being written
    :param follow: what goes with those that are gone
    """

    def carried(module: Module, how: Run, planned: Sequence[Planned]) -> list[Outcome]:
        outcomes = carry(noun, extra or Extra(), module, how, planned)
        return outcomes + (follow(module, how, planned, outcomes[: len(planned)]) if follow else [])

    glue.run(noun, carried, beside=CONNECTION, complete=filled)


def filled(module: Module, noun: NounFile, declarations: Sequence[Declared]) -> tuple[list[Declared], list[str]]:
    """The declarations with what Vault says, and what is wrong with that. Each secret is read once, also in check mode."""
    pointing = [one for one in declarations if one.state != "absent" and "vault" in one.spec]
    if not pointing:
        return list(declarations), []
    specs: dict[int, dict[str, Any]] = {}
    problems: list[str] = []
    try:
        with vault.opened(vault.resolve(module.params["vault_connection"] or {}, module.environment)) as client:
            read = functools.cache(client.read)
            for one in pointing:
                pointer = one.spec["vault"]
                try:
                    secret = read(pointer.get("engineMountPoint", ENGINE), pointer["path"])
                except vault.SecretError as error:
                    problems.append(f"{glue.named(noun, one)}: {error}")
                    continue
                specs[id(one)], wrong = storage.fill(one.spec, secret)
                problems += glue.said(noun, one, wrong)
    except vault.VaultError as error:
        problems = [str(error)]
    for spec in specs.values():
        module.no_log_values.update(map(str, spec["vault"]["values"].values()))
    return [one._replace(spec=specs.get(id(one), one.spec)) for one in declarations], problems


def carry(noun: NounFile, extra: Extra, module: Module, how: Run, planned: Sequence[Planned]) -> list[Outcome]:
    """Takes away, too, Secrets that earlier declarations made and these make no use of; none is told of where there is none."""
    glue.refuse(module, [text for one in planned if one.state == "present" for text in _misplaced(noun, one)])
    left = {}
    for position, one in enumerate(planned):
        secret = storage_objects.unneeded(one.wanted.object) if one.state == "present" else None
        if secret:
            left[position] = glue.gone(secret, one.wanted.where)
    outcomes = declare(how._replace(extra=extra), [*(one.wanted for one in planned), *left.values()])
    made, rest = outcomes[: len(planned)], outcomes[len(planned) :]
    return made + [one for position, one in zip(left, rest, strict=True) if _matters(one, made[position].before or {})]


def _misplaced(noun: NounFile, one: Planned) -> list[str]:
    if not hasattr(noun, "placed"):
        return []
    declared = glue.Declared(own.name_of(one.wanted.object), "", one.state, {}, {}, one.wanted.where)
    return glue.said(noun, declared, noun.placed(one.wanted.object))


def _matters(outcome: Outcome, live: Mapping[str, Any]) -> bool:
    if isinstance(outcome.error, ForbiddenError) and outcome.before is None:
        # Who may not read Secrets is not bothered, unless the live object says that there is one.
        name: str = outcome.wanted.object["metadata"]["name"]
        return bool(live.get("spec", {}).get("secretRef", {}).get("name") == name)
    return outcome.action != "unchanged"
