# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Judges links by their file system and its other links, those of the same declaration included."""

from __future__ import annotations

import typing as t

from ..model import filesystem_link, own
from ..model.names import option
from ..plan import compare, view
from .errors import DeclarationError, KubeError
from .wanted import Extra, Outcome

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..model.check import Problem
    from .client import Object
    from .wanted import Item, Run


class Links(Extra):
    def prepare(
        self, run: Run, items: Mapping[int, Item], live: dict[int, Object | None], outcomes: dict[int, Outcome]
    ) -> None:
        """Only what will be written is judged: what is as declared was judged when it was made."""
        links = {
            position: item
            for position, item in items.items()
            if item.kind.kind == filesystem_link.NOUN["kind"] and position not in outcomes
        }
        changing: dict[str, list[int]] = {}
        for position, item in links.items():
            same = compare.compare(item.wanted.object, live.get(position), item.wanted.exact, run.client.manager)
            if item.wanted.state == "present" and same is not compare.Verdict.SAME:
                changing.setdefault(item.namespace, []).append(position)
        for namespace, positions in changing.items():
            here = [item for item in links.values() if item.namespace == namespace]
            try:
                hosts = self._all(run, "FileSystem", namespace)
                others = {own.name_of(one): one for one in self._all(run, filesystem_link.NOUN["kind"], namespace)}
            except KubeError as error:
                outcomes.update({at: Outcome(links[at].wanted, "failed", error=error) for at in positions})
                continue
            for item in here:
                others.pop(own.name_of(item.wanted.object), None)
                if item.wanted.state == "present":
                    others[own.name_of(item.wanted.object)] = item.wanted.object
            for position in positions:
                wanted = links[position].wanted
                problems = [one.text(option) for one in _problems(wanted.object, hosts, others.values())]
                if problems:
                    wrong = DeclarationError(f"{view.title(wanted.object)}: {' '.join(problems)}")
                    outcomes[position] = Outcome(wanted, "failed", live.get(position), None, wrong)

    @staticmethod
    def _all(run: Run, kind: str, namespace: str) -> list[Object]:
        return run.client.list(
            run.client.kind(filesystem_link.NOUN["api"], kind), namespace, deadline=run.deadline
        ).items


def _problems(link: Object, hosts: Iterable[Object], others: Iterable[Object]) -> Iterable[Problem]:
    """Of a file system that is not there yet nothing can be said."""
    spec = link["spec"]
    beside = [one["spec"] for one in others if one is not link and one["spec"]["fileSystem"] == spec["fileSystem"]]
    host = next((one["spec"] for one in hosts if own.name_of(one) == spec["fileSystem"]), None)
    return filesystem_link.beside(spec, host, beside)
