# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""A job: one pod, or a gang of them that a framework joins. It is a Volcano Job, or the framework operator's own object
where that is asked for. Its table is `job_fields`, everything else stands in `jobs/`, imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import job_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .check import Problem
    from .jobs.tasks import Given
    from .table import Noun

NOUN: Noun = job_fields.NOUN


def problems(name: str, spec: Mapping[str, Any], given: Given | None = None) -> Iterator[Problem]:
    """What no single field can tell; `given` is what the cluster says, as far as it was asked."""
    from .jobs import rules

    return rules.problems(name, spec, given or {})


def build(name: str, namespace: str, spec: Mapping[str, Any], given: Given | None = None) -> list[dict[str, Any]]:
    """The object of a declaration without problems."""
    from .jobs import objects

    return [objects.build(name, namespace, spec, given or {})]


def declared(job: Mapping[str, Any]) -> dict[str, Any]:
    """The declaration that a live job says: what it was declared with and what was changed since, or itself as a template."""
    from .jobs import objects

    return objects.declared(job)
