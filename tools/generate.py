# SPDX-License-Identifier: Apache-2.0
"""Write what is derived from the model: crds/, the schema that editors read, the options of a mount, and the documentation of the nouns' modules.

`--check` writes nothing and fails when a file is stale.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from tools import module_docs, mount_options, schema

ROOT = Path(__file__).resolve().parent.parent
NOUNS = (
    "filesystem", "filesystem_link", "flavour", "nodecache", "pipeline", "pipeline_run", "pipeline_schedule", "samplejob",
    "sampleset",
)  # fmt: skip
SCHEMA = "docs/schema/paddleflow.json"
MOUNT_OPTIONS = "docs/reference/mount-options.md"
MOUNT_HELP = "fuse_agent/cli/mount_options.py"
HEADER = """\
---
# SPDX-License-Identifier: Apache-2.0
# Written by `make generate` from {sources}; do not edit.
"""


def outputs() -> dict[str, str]:
    """Path in the tree -> content, for every generated file."""
    from paddleflow_core.model.crd import crd

    found = {SCHEMA: json.dumps(editors(), indent=1, ensure_ascii=False) + "\n"}
    found[MOUNT_OPTIONS] = mount_options.page(_read("mount"), _read("shared"))
    found[MOUNT_HELP] = mount_options.module(_read("mount"), _read("shared"))
    for name in NOUNS:
        noun = importlib.import_module(f"paddleflow_core.model.{name}").NOUN
        definition = crd(noun, texts(name))
        sources = f"plugins/module_utils/_core/model/{name}.py and docs/model/{name}.yaml"
        found[f"crds/{definition['metadata']['name']}.yaml"] = HEADER.format(sources=sources) + dump(definition)
    return found | policies() | modules()


def editors() -> dict[str, Any]:
    nouns = ((importlib.import_module(f"paddleflow_core.model.{name}").NOUN, texts(name)) for name in NOUNS)
    return schema.schema(nouns, _read("document"), texts("job"))


def policies() -> dict[str, str]:
    """What the API server checks of objects that use queues and file systems: each policy with its binding."""
    from paddleflow_core.model import policies

    header = HEADER.format(sources="plugins/module_utils/_core/model/policies.py")
    found = {}
    for policy, binding in policies.policies():
        name = policy["metadata"]["name"]
        found[f"crds/policies/{name}.yaml"] = header + dump(policy)
        found[f"crds/policies/{name}.binding.yaml"] = header + dump(binding)
    return found


def modules() -> dict[str, str]:
    """The modules of nouns, each with its documentation as the model says it."""
    heads = yaml.safe_load((ROOT / "docs/model/modules.yaml").read_text(encoding="utf-8"))
    found = {}
    for name, head in heads.items():
        info = name.endswith("_info")
        noun = importlib.import_module(f"paddleflow_core.model.{name.removesuffix('_info')}").NOUN
        path = f"plugins/modules/{name}.py"
        source = (ROOT / path).read_text(encoding="utf-8")
        if info:
            document = module_docs.info_documentation(name, noun, head)
            answer = module_docs.info_returned(name, noun, head)
        else:
            document, answer = module_docs.documentation(name, noun, texts(name), head), module_docs.returned(noun)
        source = module_docs.put(source, "DOCUMENTATION", dump(document))
        found[path] = module_docs.put(source, "RETURN", dump(answer))
    return found


def texts(name: str) -> dict[str, str]:
    """A noun's own, and those that several nouns name by the `doc` of their fields."""
    return {**_read("shared"), **_read(name)}


def _read(name: str) -> dict[str, str]:
    found: dict[str, str] = yaml.safe_load((ROOT / "docs/model" / f"{name}.yaml").read_text(encoding="utf-8"))
    return found


def dump(document: Any) -> str:
    text: str = yaml.dump(document, Dumper=IndentedDumper, sort_keys=False, width=140)
    return text


class IndentedDumper(yaml.SafeDumper):
    """PyYAML does not indent lists below their key, which yamllint wants; and writes anchors, which nobody wants to read."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 (PyYAML's signature)
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 (PyYAML's signature)
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Of several lines (an expression of a policy): as they are."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


IndentedDumper.add_representer(str, _text)


def stale(content: dict[str, str]) -> list[str]:
    """Files that differ from what they should be, are missing, or are left over."""
    wrong = [path for path, text in content.items() if not same(ROOT / path, text)]
    made = [*(ROOT / "crds").rglob("*.yaml"), *(ROOT / SCHEMA).parent.iterdir()]
    left = [path for path in (file.relative_to(ROOT).as_posix() for file in made) if path not in content]
    return sorted(wrong + left)


def same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def main(arguments: list[str]) -> int:
    content = outputs()
    wrong = stale(content)
    if "--check" in arguments:
        for path in wrong:
            print(f"stale: {path} (run `make generate`)")
        return 1 if wrong else 0
    for path in wrong:
        target = ROOT / path
        if path in content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content[path], encoding="utf-8")
        else:
            target.unlink()
        print(f"{'wrote' if path in content else 'removed'} {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
