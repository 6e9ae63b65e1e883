# SPDX-License-Identifier: Apache-2.0
"""What the action of apply does before anything is asked of a cluster: where it runs, and what it reads and takes."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultLib, VaultSecret
from ansible.template import Templar, trust_as_template
from ansible_collections.paddleflow.core.plugins.action import apply
from ansible_collections.paddleflow.core.plugins.plugin_utils import here


def action(folder: Path, args: dict[str, Any], transport: str = "local", become: bool = False, later: int = 0) -> Any:
    loader: Any = DataLoader()
    loader.set_basedir(str(folder))
    secrets: Any = [("default", VaultSecret(b"password"))]
    loader.set_vault_secrets(secrets)
    task = SimpleNamespace(args=args, async_val=later, delegate_to=None, get_search_path=lambda: [str(folder)])
    play: Any = {
        "task": task,
        "connection": SimpleNamespace(transport=transport),
        "play_context": SimpleNamespace(become=become),
    }
    return apply.ActionModule(**play, loader=loader, templar=Templar(loader, {"who": "ann"}), shared_loader_obj=None)


@pytest.mark.parametrize(
    ("python", "context", "runs_here"),
    [
        (None, {}, True),
        ("auto_silent", {}, True),
        (sys.executable, {}, True),
        (trust_as_template("{{ ansible_playbook_python }}"), {}, True),
        (None, {"transport": "ssh"}, False),
        (None, {"become": True}, False),
        (None, {"later": 30}, False),
        ("/usr/bin/env", {}, False),
    ],
)
def test_where_it_runs(python: str | None, context: dict[str, Any], runs_here: bool, tmp_path: Path) -> None:
    made = action(tmp_path, {}, **context)
    made._templar.available_variables = {"ansible_playbook_python": sys.executable}
    assert made._is_here({"ansible_python_interpreter": python} if python else {}) is runs_here


def test_the_python_of_another_environment_is_another(tmp_path: Path) -> None:
    """Whatever its link leads to."""
    (tmp_path / "python").symlink_to(os.path.realpath(sys.executable))
    assert not action(tmp_path, {})._is_here({"ansible_python_interpreter": str(tmp_path / "python")})


def test_the_same_python_by_another_name_is_the_same(tmp_path: Path) -> None:
    names = [
        one for one in Path(sys.executable).parent.glob("python*") if one.resolve() == Path(sys.executable).resolve()
    ]
    assert len(names) > 1
    assert all(action(tmp_path, {})._is_here({"ansible_python_interpreter": str(one)}) for one in names)


@pytest.mark.parametrize(("python", "runs_here"), [(sys.executable, True), ("/usr/bin/env", False)])
def test_the_python_of_whom_it_is_delegated_to_counts(python: str, runs_here: bool, tmp_path: Path) -> None:
    made = action(tmp_path, {})
    made._task.delegate_to = "there"
    known = {"ansible_delegated_vars": {"there": {"ansible_python_interpreter": python}}}
    assert made._is_here(known) is runs_here


def read(made: Any) -> Any:
    return here.plain(made.arguments({"who": "ann", "ansible_search_path": []}))["definition"]


def test_encrypted_files_are_read(tmp_path: Path) -> None:
    text = VaultLib([("default", VaultSecret(b"password"))]).encrypt("kind: Secret\nmetadata: {name: '{{ who }}'}\n")
    for name in ("manifest.yaml", "template.yaml"):
        (tmp_path / name).write_bytes(text)
    assert read(action(tmp_path, {"src": ["manifest.yaml"]})) == [{"kind": "Secret", "metadata": {"name": "{{ who }}"}}]
    assert read(action(tmp_path, {"template": "template.yaml"})) == [{"kind": "Secret", "metadata": {"name": "ann"}}]


def test_a_template_includes_what_stands_beside_it(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/metadata.j2").write_text("{name: {{ who }}}")
    (tmp_path / "templates/whole.yaml.j2").write_text("kind: {{ 'a\\\\b' }}\nmetadata: {% include 'metadata.j2' %}\n")
    found = read(action(tmp_path, {"template": ["whole.yaml.j2"]}))
    assert found == [{"kind": "a\\b", "metadata": {"name": "ann"}}]


@pytest.mark.filterwarnings("ignore")
def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes("kind: B\u00fcro".encode("latin-1"))
    with pytest.raises(AnsibleActionFail, match="latin is no text in UTF-8: save it as such"):
        read(action(tmp_path, {"src": ["latin"]}))


def test_times_are_texts_as_the_api_server_reads_them() -> None:
    given = {"at": datetime(2024, 1, 1, 10, tzinfo=UTC), "on": [date(2024, 1, 1)]}
    assert here.plain(given) == {"at": "2024-01-01T10:00:00+00:00", "on": ["2024-01-01"]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("definition: [{data: {key: !!binary aGVsbG8=}}]", "definition[0].data.key is bytes, which no object can hold: wri"),
        ("definition: {data: !!set {a, b}}", "definition.data is set, which no object can hold: write it as a list."),
    ],
)  # fmt: skip
def test_values_that_no_object_can_hold_are_refused(text: str, said: str) -> None:
    with pytest.raises(AnsibleActionFail) as raised:
        here.plain(yaml.safe_load(text))
    assert str(raised.value).startswith(said)


def test_a_folder_of_files_is_read(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps({"kind": "A"}))
    assert read(action(tmp_path, {"src": [str(tmp_path)]})) == [{"kind": "A"}]


def names(made: Any) -> list[str]:
    return [one["kind"] for one in read(made)]


@pytest.mark.parametrize(
    ("given", "found"),
    [("false", ["A"]), ("no", ["A"]), (0, ["A"]), (None, ["A"]), ("true", ["A", "B"]), (True, ["A", "B"])],
)
def test_recursive_is_read_as_ansible_reads_it(tmp_path: Path, given: Any, found: list[str]) -> None:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "a.json").write_text(json.dumps({"kind": "A"}))
    (tmp_path / "deeper/b.json").write_text(json.dumps({"kind": "B"}))
    assert names(action(tmp_path, {"src": str(tmp_path), "recursive": given})) == found


def test_what_is_neither_true_nor_false_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AnsibleActionFail, match="recursive is 'maybe', but must be true or false"):
        read(action(tmp_path, {"src": str(tmp_path), "recursive": "maybe"}))


@pytest.mark.parametrize("option", ["src", "template"])
def test_files_are_a_list_however_it_is_written(tmp_path: Path, option: str) -> None:
    for name in "AB":
        (tmp_path / f"{name}.yml").write_text(f"kind: {name}")
    (tmp_path / "A,B.yml").write_text("kind: AB")
    assert names(action(tmp_path, {option: "A.yml,B.yml"})) == ["A", "B"]
    assert names(action(tmp_path, {option: ["A,B.yml"]})) == ["AB"]
    with pytest.raises(AnsibleActionFail, match=f"{option} is {{'a': 1}}, but must be a path or a list of paths"):
        read(action(tmp_path, {option: {"a": 1}}))
