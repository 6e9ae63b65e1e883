# SPDX-License-Identifier: Apache-2.0
"""Checks that read what another program said."""

from __future__ import annotations

from tools import lint


def test_what_the_importer_warns_of_is_found() -> None:
    log = """\
Linting collection via ansible-lint 26.10.1...
WARNING: ERROR    Failed to find paddleflow.core.install playbook.
Loading role volcano
ERROR: No README
Importer processing completed successfully
"""
    assert lint.importer_complaints(log) == [
        "WARNING: ERROR    Failed to find paddleflow.core.install playbook.",
        "ERROR: No README",
    ]
    assert lint.importer_complaints("Loading role volcano\nImporter processing completed successfully\n") == []
