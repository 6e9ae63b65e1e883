# SPDX-License-Identifier: Apache-2.0
"""The files of the model that somebody can declare something by, by the names of their modules."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any

from paddleflow_core.model import job
from paddleflow_core.model.check import Problem

from tools import tree

_MODEL = "plugins/module_utils/_core/model/*.py"
_FOUND = {
    path.stem: importlib.import_module(f"paddleflow_core.model.{path.stem}")
    for path in tree.files()
    if path.match(_MODEL)
}
FILES: dict[str, Any] = {
    name: file for name, file in _FOUND.items() if hasattr(file, "NOUN") and hasattr(file, "problems")
}
# A job is written by what may still change of it, and a group of nodes is a patch of each; the rest is applied as it is built.
APPLIED = sorted(set(FILES) - {"job", "node_group"})


class KnownJob:
    """Jobs that name nothing that has to be looked up, but for their queue."""

    NOUN = job.NOUN

    @staticmethod
    def problems(name: str, spec: Mapping[str, Any]) -> Iterable[Problem]:
        return job.problems(name, spec, {"flavours": {}, "mounts": {}, "kinds": []})
