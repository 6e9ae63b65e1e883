# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What stands in a parsed kubeconfig: one reader for who connects by it and for who only judges it."""

from __future__ import annotations

import base64
import typing as t
from collections.abc import Mapping

SECTIONS = {"clusters": "cluster", "users": "user", "contexts": "context"}


class ShapeError(ValueError):
    """Its text is the section with an entry that is no mapping."""


def sections(document: Mapping[str, t.Any]) -> dict[str, dict[str, dict[str, t.Any]]]:
    """The entries of each section by their names, which are text also where YAML takes them for numbers.

    :raises ShapeError:
    """
    found: dict[str, dict[str, dict[str, t.Any]]] = {section: {} for section in SECTIONS}
    for section, key in SECTIONS.items():
        items = document.get(section)
        for item in items if isinstance(items, list) else ():
            if not isinstance(item, Mapping):
                continue
            body = item.get(key) or {}
            if not isinstance(body, Mapping):
                raise ShapeError(section)
            # Of two with one name the first counts.
            found[section].setdefault(str(item.get("name")), dict(body))
    return found


def decoded(data: t.Any) -> bytes:
    """
    :param data: base64, in one line or several
    :raises ValueError: when it is none
    """
    return base64.b64decode("".join(str(data).split()), validate=True)
