# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What a check found, and how it is said."""

from __future__ import annotations

import typing as t
from dataclasses import asdict, dataclass

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Severity = t.Literal["error", "warning", "note"]
ORDER: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """One sentence with its parts: ``<object> <found>, but <needed>: <remedy>.``"""

    severity: Severity
    check: str
    object: str
    found: str
    needed: str = ""
    remedy: str = ""

    @property
    def message(self) -> str:
        needed = f", but {self.needed}" if self.needed else ""
        remedy = f": {self.remedy}" if self.remedy else ""
        return f"{self.object} {self.found}{needed}{remedy}."


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def report(findings: Sequence[Finding], title: str) -> str:
    """All findings as one text, errors first. Empty when nothing was found."""
    counts = [(len([f for f in findings if f.severity == severity]), severity) for severity in ORDER]
    said = [_count(number, severity) for number, severity in counts if number]
    if not said:
        return ""
    lines = [f"{title}: {' and '.join([', '.join(said[:-1]), said[-1]] if len(said) > 1 else said)}"]
    if counts[0][0]:
        lines[0] += "; nothing was changed"
    for severity in ORDER:
        lines += [f"  {severity}: {finding.message}" for finding in findings if finding.severity == severity]
    return "\n".join(lines)


def as_data(findings: Iterable[Finding], title: str) -> dict[str, t.Any]:
    """The shape that the filters return: lists of sentences by severity, the whole report, and the parts."""
    findings = list(findings)
    data: dict[str, t.Any] = {"findings": [{**asdict(finding), "message": finding.message} for finding in findings]}
    for severity in ORDER:
        data[severity + "s"] = [finding.message for finding in findings if finding.severity == severity]
    data["report"] = report(findings, title)
    return data
