# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The field `job` of a step: the fields of a job of its own, but for those that the step says itself (spec 1.11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model import check as model
from ..model import job_fields
from ..model.jobs import rules_form, tasks
from ..model.names import option

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..model.check import Problem
    from ..model.table import Field
    from .finding import At, Report

# Of a step: its own command, image, environment, file systems, retries and name.
_STEPS_OWN = {
    "displayName", "command", "args", "image", "env", "fs", "extraFS", "retryLimit", "ttlSeconds", "extensionTemplate",
}  # fmt: skip
FIELDS = {name: field for name, field in job_fields.NOUN["spec"].items() if name not in _STEPS_OWN}


def check(report: Report, value: object, at: At, env: Mapping[str, str]) -> None:
    """
    :param env: the step's, which says what the field leaves out
    """
    before = len(report.findings)
    found, problems = model.read(FIELDS, _named(report, FIELDS, value, at))
    _tell(report, problems, at)
    if len(report.findings) == before:
        _tell(report, _rules(found, env), at)


def _rules(found: Mapping[str, Any], env: Mapping[str, str]) -> Iterator[Problem]:
    """What no single field can tell, and no cluster has to be asked for."""
    if found.get("kind") == "workflow":
        yield model.Problem(("kind",), "'workflow'", "single or distributed", "A step is a job of its own.")
        return
    by_env = {"framework": env.get("PF_JOB_FRAMEWORK", "").lower()}
    distributed = env.get("PF_JOB_TYPE", "").lower() == "distributed"
    spec = {**({"kind": "distributed", **by_env} if distributed else {}), **found, "env": env}
    wrong = [*rules_form.form(spec)]
    if not wrong:
        this = tasks.Job("", "", spec, {}, tasks.tasks(spec))
        wrong = [*rules_form.roles(this)] or [*rules_form.bounds(this)]
    yield from wrong


def _tell(report: Report, problems: Iterable[Problem], at: At) -> None:
    for problem in problems:
        path = (option(part) if isinstance(part, str) else part for part in problem.path)
        report.wrong("1.11", at.of(*path), problem.found, problem.allowed, problem.remedy)


def _named(report: Report, fields: Mapping[str, Field], value: object, at: At) -> Any:
    """With the model's names, where a document may write limit_flavour as well as limitFlavour."""
    if isinstance(value, list):
        return [_named(report, fields, one, at.of(number)) for number, one in enumerate(value)]
    if not isinstance(value, dict):
        return value
    names = {option(name): name for name in fields}
    found: dict[Any, Any] = {}
    for key, one in value.items():
        name = names.get(key, key)
        field = fields.get(name) if isinstance(name, str) else None
        inner = field and (field.get("fields") or field.get("items", field).get("fields"))
        if name in found:
            report.wrong("1.11", at.of(str(key)), "given twice", "given once", f"Leave {key} out.")
        found[name] = _named(report, inner, one, at.of(str(key))) if inner else one
    return found
