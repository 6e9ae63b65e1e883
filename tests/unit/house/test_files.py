# SPDX-License-Identifier: Apache-2.0
"""Habits that hold for every file of the tree."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import tree

FILES = tree.files()
PYTHON = [path for path in FILES if path.suffix == ".py"]
CODE = [path for path in FILES if path.suffix in {".py", ".go"}]
CORE = Path("plugins/module_utils/_core")
# Layers that hold pure decisions.
PURE = ("model", "plan", "workflow")
CODE_LINES = 400
# Run on a node as one script before anything else is there: to split one would be to copy it there first.
LONGER = {Path("roles/preflight/files/probe.py"): 450, Path("roles/k3s/files/k3s_node.py"): 450}


def read(path: Path) -> str:
    return (tree.ROOT / path).read_text(encoding="utf-8")


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Module name and the number of leading dots of each import in a file, also of those inside functions."""
    for node in ast.walk(ast.parse(read(path))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", node.level


def absolute_imports(path: Path) -> set[str]:
    return {name.partition(".")[0] for name, level in imports(path) if level == 0}


@pytest.mark.parametrize("path", CODE, ids=str)
def test_no_file_is_too_long(path: Path) -> None:
    assert tree.code_lines(read(path)) <= LONGER.get(path, CODE_LINES)


def needs_licence(path: Path) -> bool:
    return path.name != "__init__.py" and (
        path.suffix in {".py", ".go", ".yml", ".yaml", ".sh"} and not path.match("changelogs/changelog.yaml")
    )


@pytest.mark.parametrize("path", [path for path in FILES if needs_licence(path)], ids=str)
def test_every_file_names_its_licence(path: Path) -> None:
    expected = "Apache-2.0"
    if path.parts[0] == "plugins" or path.match("tools/callback/*"):
        # These import, or are loaded by, GPL code of ansible-core.
        expected = "Apache-2.0 OR GPL-3.0-or-later"
    found = re.search(r"^(?:#|//) SPDX-License-Identifier: (.+)$", "\n".join(read(path).splitlines()[:8]), re.MULTILINE)
    assert found is not None, "no SPDX-License-Identifier in the first lines"
    assert found[1] == expected


# S3 wants that of a customer's key beside it, to see that it came whole.
WEAK = (Path("fuse_agent/sources/s3/clients.py"), Path("tests/unit/fuse_agent/sources/s3/test_said.py"))


@pytest.mark.parametrize("path", CODE, ids=str)
def test_no_weak_hash(path: Path) -> None:
    if path in WEAK:
        return
    weak = "|".join(("m" + "d5", "sha" + "1"))
    assert not re.search(rf"\b({weak})\b(?!sum\.)", read(path))


@pytest.mark.parametrize("path", [path for path in PYTHON if path.parts[0] == "plugins"], ids=str)
def test_plugins_know_the_library_by_its_second_name_only(path: Path) -> None:
    assert "paddleflow_core" not in absolute_imports(path)


@pytest.mark.parametrize("path", [path for path in PYTHON if path.parts[0] not in {"plugins", "tests"}], ids=str)
def test_everything_else_knows_it_by_the_first_name_only(path: Path) -> None:
    assert "ansible_collections" not in absolute_imports(path)


@pytest.mark.parametrize("path", [path for path in PYTHON if path.parts[0] == "tests"], ids=str)
def test_no_test_uses_both_names(path: Path) -> None:
    assert not {"ansible_collections", "paddleflow_core"} <= absolute_imports(path)


@pytest.mark.parametrize("path", [path for path in PYTHON if path.is_relative_to(CORE)], ids=str)
def test_the_library_imports_itself_relatively_and_never_ansible(path: Path) -> None:
    assert not absolute_imports(path) & {"ansible", "ansible_collections", "paddleflow_core"}
    depth = len(path.relative_to(CORE).parts)
    assert all(level <= depth for _name, level in imports(path)), "an import leaves the library"


@pytest.mark.parametrize(
    "path", [path for name in PURE for path in PYTHON if path.is_relative_to(CORE / name)], ids=str
)
def test_pure_layers_use_the_standard_library_only(path: Path) -> None:
    assert absolute_imports(path) <= sys.stdlib_module_names


@pytest.mark.parametrize("folder", sorted({path.parent for path in PYTHON if path.is_relative_to("plugins")}), ids=str)
def test_no_folder_is_named_like_something_imported(folder: Path) -> None:
    """A folder plugins/module_utils/ansible ends sanity's pylint with a crash."""
    assert folder.name not in {"ansible", "kubernetes", "yaml", "urllib3", "openshift", "kopf", "trio", "grpc"}


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix not in {".txt", ".sum"}], ids=str)
def test_no_file_knows_where_the_checkout_lies(path: Path) -> None:
    assert str(tree.ROOT) not in read(path)
