# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Manifests as people write them: YAML with several documents, each with the place where it begins."""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, Any, ClassVar

from .._core.kube.errors import not_installed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class DocumentError(Exception):
    pass


def _yaml(file: str) -> Any:
    """PyYAML, for which it is asked here, since sanity refuses it at the top of what modules import.

    :raises ConfigError: when this Python has none
    """
    try:
        import yaml
    except ImportError as error:
        raise not_installed(file, "PyYAML", error) from None
    return yaml


def parse(text: str, file: str) -> Iterator[tuple[Any, str]]:
    """
    :raises DocumentError: when it is no YAML, with file and line
    :raises ConfigError: when nothing here can read YAML
    """
    yaml = _yaml(file)
    loader = _loader(yaml)(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            _once(yaml, node, file)
            yield loader.construct_document(node), f"{file}:{node.start_mark.line + 1}"
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise DocumentError(f"{file}:{line}: {error.problem or error.context}: it cannot be read as YAML.") from error
    except yaml.YAMLError as error:
        raise DocumentError(f"{file}: {error}: it cannot be read as YAML.") from error
    finally:
        loader.dispose()


def _once(yaml: Any, document: Any, file: str) -> None:
    """Also makes one text of those that are equal: of ten thousand objects most are.

    :raises DocumentError: when a key is given twice, of which YAML would drop one in silence
    """
    waiting, seen = [document], set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.ScalarNode):
            node.value = intern(node.value)
            continue
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
            continue
        first: dict[str, int] = {}
        for key, value in node.value:
            waiting.append(value)
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            key.value = intern(key.value)
            line = key.start_mark.line + 1
            if key.value in first:
                raise DocumentError(
                    f"{file}:{line}: {key.value!r} is given in line {first[key.value]} already: give it once."
                )
            first[key.value] = line


# What JSON has no word for. Left to PyYAML, they become something that only a process of ours could go on with.
_REFUSED = {f"tag:yaml.org,2002:{name}" for name in ("binary", "timestamp", "set", "omap", "pairs")}


def _loader(yaml: Any) -> Any:
    """As kubectl reads manifests: a time stays the text that it is, 12:30 too, and no key is given twice."""
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc, valid-type]  # whichever PyYAML has
        yaml_implicit_resolvers: ClassVar = {
            first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
            for first, resolvers in base.yaml_implicit_resolvers.items()
        }
        yaml_constructors: ClassVar = {
            tag: construct for tag, construct in base.yaml_constructors.items() if tag not in _REFUSED
        }

    for name in ("int", "float"):
        tag = f"tag:yaml.org,2002:{name}"
        Loader.add_constructor(tag, _number(base.yaml_constructors[tag]))
    return Loader


def _number(construct: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def number(loader: Any, node: Any) -> Any:
        """YAML 1.1 counts minutes and seconds in sixties, which nobody means."""
        return node.value if ":" in node.value else construct(loader, node)

    return number
