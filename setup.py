# SPDX-License-Identifier: Apache-2.0
"""What pyproject.toml cannot say: the packages of each root that exists, and the version of the collection.

The library under plugins/module_utils/_core is the package paddleflow_core of the wheel: mapped, not copied (docs/design/one-library-two-names.md).
"""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent
ROOTS = {
    "paddleflow_core": "plugins/module_utils/_core",
    "paddleflow_fuse": "fuse_agent",
    "paddleflow_csi": "csi",
    "paddleflow_controllers": "controllers",
    "paddleflow": "client",
}


def existing_roots() -> dict[str, str]:
    return {name: folder for name, folder in ROOTS.items() if (ROOT / folder / "__init__.py").is_file()}


def packages() -> list[str]:
    found = []
    for name, folder in existing_roots().items():
        found.append(name)
        found.extend(f"{name}.{package}" for package in find_packages(str(ROOT / folder)))
    return found


def version() -> str:
    match = re.search(r"^version: (\S+)$", (ROOT / "galaxy.yml").read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise SystemExit("galaxy.yml has no line 'version: x.y.z'")
    return match.group(1)


if __name__ == "__main__":
    setup(version=version(), packages=packages(), package_dir=existing_roots())
