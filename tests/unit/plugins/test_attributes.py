# SPDX-License-Identifier: Apache-2.0
"""What modules say of themselves (attributes) is how they are made; that they change nothing the second time and return a
difference when asked is tried with their examples (tests/api/test_module_examples.py)."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import yaml
from ansible.module_utils.basic import AnsibleModule

from tests.support import examples
from tools import tree

PLUGINS = "ansible_collections.paddleflow.core.plugins"
MODULES = sorted(path.stem for path in tree.files() if path.match("plugins/modules/*.py"))
ACTIONS = {path.stem for path in tree.files() if path.match("plugins/action/*.py")}
GROUP = yaml.safe_load((tree.ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))["action_groups"]["paddleflow"]
# What has no connection to a cluster.
LOCAL = {"command_progress", "files"}


class _Begun(Exception):  # noqa: N818 (no error)
    pass


def made(name: str, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """With what the module makes itself a module."""
    given: dict[str, Any] = {}

    def begin(_self: AnsibleModule, **options: Any) -> None:
        given.update(options)
        raise _Begun

    patch.setattr(AnsibleModule, "__init__", begin)
    with pytest.raises(_Begun):
        importlib.import_module(f"{PLUGINS}.modules.{name}").main()
    return given


@pytest.mark.parametrize("name", MODULES)
def test_a_module_says_all_that_there_is_to_say(name: str) -> None:
    wanted = (
        {"check_mode", "diff_mode"}
        if name in LOCAL
        else {"check_mode", "diff_mode", "idempotent", "action_group", "platform"}
    )
    assert wanted <= set(examples.attributes(name))


@pytest.mark.parametrize("name", [name for name in MODULES if name != "command_progress"])
def test_check_mode_is_supported_as_it_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    supports = made(name, monkeypatch).get("supports_check_mode", False)
    assert (examples.attributes(name)["check_mode"]["support"] == "full") == supports


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_check_mode_is_supported_by_an_action_too(name: str) -> None:
    action = importlib.import_module(f"{PLUGINS}.action.{name}").ActionModule
    assert (examples.attributes(name)["check_mode"]["support"] == "full") == action._supports_check_mode


@pytest.mark.parametrize("name", MODULES)
def test_it_is_in_the_group_that_it_says(name: str) -> None:
    membership = examples.attributes(name).get("action_group", {}).get("membership", [])
    assert ("paddleflow.core.paddleflow" in membership) == (name in GROUP)


@pytest.mark.parametrize("name", [name for name in MODULES if name.endswith("_info")])
def test_what_only_reads_has_no_difference_to_show(name: str) -> None:
    assert examples.attributes(name)["diff_mode"]["support"] == "none"
