# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Manifests as people write them: YAML with several documents, each with the place where it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator


class DocumentError(Exception):
    pass


def parse(text: str, file: str) -> Iterator[tuple[Any, str]]:
    """
    :raises DocumentError: when it is no YAML, with file and line
    """
    import yaml  # inside, since sanity refuses it at the top of what modules import

    loader = _loader()(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            yield loader.construct_document(node), f"{file}:{node.start_mark.line + 1}"
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise DocumentError(f"{file}:{line}: {error.problem or error.context}: it cannot be read as YAML.") from error
    except yaml.YAMLError as error:
        raise DocumentError(f"{file}: {error}: it cannot be read as YAML.") from error
    finally:
        loader.dispose()


def _loader() -> Any:
    """A time stays the text that it is, as the API server wants it."""
    import yaml

    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc, valid-type]  # whichever PyYAML has
        yaml_implicit_resolvers: ClassVar = {
            first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
            for first, resolvers in base.yaml_implicit_resolvers.items()
        }

    return Loader
