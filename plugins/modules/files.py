#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: files
short_description: Place several small text files in one call
version_added: 0.1.0
description:
  - Brings the text files of one folder into the given state. A loop over M(ansible.builtin.copy) or M(ansible.builtin.template) costs one
    or two calls per file; this is one call for all of them.
  - Each file is replaced by a rename, so that nobody reads half of one.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  dest:
    description: Folder that the files are placed in. It is made when it is missing, with its parents.
    type: path
    required: true
  contents:
    description: Content of each file by its path below O(dest).
    type: dict
    required: true
  mode:
    description: Mode of every file, in octal.
    type: str
    default: "0644"
  directory_mode:
    description: Mode of the folders that are made, in octal. Folders that are there keep theirs.
    type: str
    default: "0755"
  purge:
    description: Whether every other file below O(dest) is removed, such as what an earlier version had placed.
    type: bool
    default: false
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: full
"""

EXAMPLES = r"""
- name: Write a configuration of two files
  paddleflow.core.files:
    dest: /etc/example
    contents:
      main.conf: |
        include extra/more.conf
      extra/more.conf: |
        answer = 42

- name: Render several templates in one call
  paddleflow.core.files:
    dest: /etc/example
    contents: "{{ dict(['a.conf', 'b.conf'] | zip(query('ansible.builtin.template', 'a.conf.j2', 'b.conf.j2'))) }}"
"""

RETURN = r"""
written:
  description: Paths below O(dest) whose content or mode was changed.
  returned: always
  type: list
  elements: str
removed:
  description: Paths below O(dest) that were removed by O(purge).
  returned: always
  type: list
  elements: str
"""

import os
import tempfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule


def outside(paths: list[str]) -> list[str]:
    """Those that do not name a file below the folder."""
    return [path for path in paths if Path(path).is_absolute() or ".." in Path(path).parts or Path(path) == Path()]


def differs(path: Path, content: bytes, mode: int) -> bool:
    try:
        return path.is_symlink() or path.read_bytes() != content or path.stat().st_mode & 0o7777 != mode
    except FileNotFoundError:
        return True


def surplus(dest: Path, wanted: set[Path]) -> list[Path]:
    return sorted(path for path in dest.rglob("*") if path not in wanted and (path.is_symlink() or not path.is_dir()))


def replace(path: Path, content: bytes, mode: int, directory_mode: int) -> None:
    for folder in reversed([path.parent, *path.parent.parents]):
        if not folder.is_dir():
            folder.mkdir(exist_ok=True)
            folder.chmod(directory_mode)  # the mode of mkdir is cut by the umask
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        room = Path(file.name)
        try:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
            room.replace(path)
        except OSError:
            room.unlink()
            raise


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "dest": {"type": "path", "required": True},
            "contents": {"type": "dict", "required": True},
            "mode": {"type": "str", "default": "0644"},
            "directory_mode": {"type": "str", "default": "0755"},
            "purge": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    dest = Path(module.params["dest"])
    contents = {name: str(content) for name, content in module.params["contents"].items()}
    if strange := outside(list(contents)):
        module.fail_json(
            msg=f"contents: {', '.join(strange)} is not a path below {dest}; give paths relative to it, without .."
        )
    try:
        mode, directory_mode = (int(module.params[name], 8) for name in ("mode", "directory_mode"))
    except ValueError:
        module.fail_json(
            msg=f"mode {module.params['mode']} and directory_mode {module.params['directory_mode']} must be octal, such as 0644"
        )

    wanted = {dest / name: content.encode() for name, content in contents.items()}
    try:
        written = [path for path, content in wanted.items() if differs(path, content, mode)]
        removed = surplus(dest, set(wanted)) if module.params["purge"] else []
        diff = [
            {
                "before_header": str(path),
                "after_header": str(path),
                "before": text(path),
                "after": wanted.get(path, b"").decode(),
            }
            for path in [*written, *removed]
        ]
        if not module.check_mode:
            for path in written:
                replace(path, wanted[path], mode, directory_mode)
            for path in removed:
                path.unlink()
    except OSError as error:
        module.fail_json(msg=f"{dest}: {error}")
    module.exit_json(
        changed=bool(written or removed),
        written=[str(path.relative_to(dest)) for path in written],
        removed=[str(path.relative_to(dest)) for path in removed],
        diff=diff,
    )


if __name__ == "__main__":
    main()
