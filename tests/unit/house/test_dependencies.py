# SPDX-License-Identifier: Apache-2.0
"""Every dependency has its line in docs/design/dependencies.md, and every line its dependency."""

from __future__ import annotations

import re
import tomllib

from tools import tree

PROJECT = tomllib.loads((tree.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DOCUMENT = (tree.ROOT / "docs/design/dependencies.md").read_text(encoding="utf-8")


def name_of(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None, requirement
    return found[0].lower()


def declared() -> set[str]:
    project = PROJECT["project"]
    found = {name_of(one) for one in [*project["dependencies"], *PROJECT["build-system"]["requires"]]}
    found |= {
        name_of(one) for name, extra in project["optional-dependencies"].items() if name != "all" for one in extra
    }
    for path in [*(tree.ROOT / "locks").glob("*.in"), tree.ROOT / "meta/ee-requirements.txt"]:
        lines = path.read_text(encoding="utf-8").splitlines()
        found |= {name_of(line) for line in lines if line and not line.startswith("#")}
    return found - {"paddleflow"}  # an extra that has another one


def test_documented_and_declared_are_the_same() -> None:
    documented = {name.lower() for name in re.findall(r"^\| ([A-Za-z0-9._-]+) \| .+ \| .+ \|$", DOCUMENT, re.MULTILINE)}
    assert documented - {"package"} == declared()


def test_an_execution_environment_has_the_programs_that_roles_run_on_the_control_node() -> None:
    """buildah and mmdebstrap by the role images, openssl by the role volcano, whose host is the control node's for most."""
    lines = (tree.ROOT / "meta/ee-bindep.txt").read_text(encoding="utf-8").splitlines()
    listed = {line.split()[0]: line for line in lines if line and not line.startswith("#")}
    assert set(listed) == {"buildah", "mmdebstrap", "openssl"}
    assert [name for name, line in listed.items() if "platform:rpm" not in line] == ["mmdebstrap"]
