# SPDX-License-Identifier: Apache-2.0
"""Lists that stand in more than one place say the same."""

from __future__ import annotations

import re
import tomllib

import setup
from tools import generate, tree

PROJECT = tomllib.loads((tree.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (tree.ROOT / "Makefile").read_text(encoding="utf-8")


def test_make_links_the_packages_that_setup_maps() -> None:
    names = re.search(r"^NAMES := (.*?[^\\])$", MAKEFILE, re.MULTILINE | re.DOTALL)
    assert names is not None
    assert dict(pair.split(":") for pair in names[1].replace("\\", "").split()) == setup.ROOTS


def test_import_linter_reads_every_package_that_exists() -> None:
    assert PROJECT["tool"]["importlinter"]["root_packages"] == list(setup.existing_roots())


def test_every_package_of_a_root_has_an_init_file() -> None:
    """Without one, the folder works in an editable install and is missing from the wheel."""
    for folder in setup.existing_roots().values():
        packages = {path.parent for path in tree.files() if path.is_relative_to(folder) and path.suffix == ".py"}
        assert [str(package) for package in packages if not (tree.ROOT / package / "__init__.py").is_file()] == []


def test_the_extra_all_names_every_other_extra() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    named = re.fullmatch(r"paddleflow\[(.*)\]", extras["all"][0])
    assert named is not None
    assert set(named[1].split(",")) == set(extras) - {"all"}


def test_every_requirement_has_an_upper_bound() -> None:
    project = PROJECT["project"]
    every = [
        *project["dependencies"],
        *(one for name, extra in project["optional-dependencies"].items() if name != "all" for one in extra),
    ]
    assert [requirement for requirement in every if not re.search(r">=[\d.]+,<\d+$|^paddleflow\[", requirement)] == []


def test_make_help_knows_every_target_that_a_person_calls() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))
    checks = "test test-extended lint unit agent api cluster molecule bench bench-ground bench-modules bench-agent"
    wanted = f"quickstart verify stop down {checks} generate docs collection installed lock deps help"
    assert targets == set(wanted.split())


def test_ci_calls_make_test_and_nothing_else() -> None:
    lines = (tree.ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    assert commands == ["exec make test"]


def test_sanity_ignores_nothing() -> None:
    assert [path for path in tree.files() if path.match("tests/sanity/*")] == []


def test_what_is_generated_is_current() -> None:
    assert generate.stale(generate.outputs()) == []
