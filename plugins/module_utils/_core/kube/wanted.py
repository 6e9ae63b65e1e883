# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What is wanted of objects, how it is carried out, and what became of it, as values."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .client import Client, Object
    from .errors import KubeError
    from .kinds import Kind

    Action = t.Literal["created", "changed", "recreated", "deleted", "unchanged", "kept", "failed"]
    State = t.Literal["present", "absent", "ensured", "found", "amended", "kept"]


class Wanted(t.NamedTuple):
    object: Object
    # ensured: made when missing, else left as it is; found: has to be there, and is left as it is; amended: has to be there,
    # and is given further fields, of which nothing is ever dropped; kept: would be absent, had nothing else failed
    state: State = "present"
    exact: bool = False  # the schema of its kind is known to us, so that no dry run is needed to tell a difference
    recreate: bool = False  # deleted and made anew where a field cannot be changed
    part: bool = False  # one part of an object that others make: it has to be there, and stays when the part goes
    where: str = ""  # the place in the declaration, for errors
    # What to write when there is one already: made of it, or None for another one in its place.
    revise: Callable[[Object], Object | None] | None = None
    foreground: bool = False  # gone only when all that it owns is gone
    # Asked about an object that is there: why it cannot come into the state, nothing when it is in it, None when it can.
    judge: Callable[[Object], str | None] | None = None
    purpose: str = ""  # the state in the words of the declaration, for errors
    done: str = ""  # what it is called that an object was amended
    leftover: bool = False  # to be absent once all else is as declared, since what failed may still need it
    known: Object | None = None  # as it was read a moment ago, so that it is not read again


class Outcome(t.NamedTuple):
    wanted: Wanted
    action: Action
    before: Object | None = None
    after: Object | None = None
    error: KubeError | None = None
    # What was done beside writing the object, and the states that tell of it: ("closed", "Open", "Closed").
    steered: tuple[str, str, str] | None = None

    @property
    def changed(self) -> bool:
        return self.action in ("created", "changed", "recreated", "deleted") or (
            self.steered is not None and self.error is None
        )

    def brief(self) -> Outcome:
        """With nothing of the objects but what they are called."""
        found = self.after or self.before
        called = None if found is None else _called(self.wanted.object, found["metadata"])
        return self._replace(before=self.before and called, after=self.after and called)

    def failing(self, error: KubeError) -> Outcome:
        """What was done stays done, though what came after it went wrong."""
        return self._replace(action=self.action if self.changed else "failed", error=error)


def _called(declared: Object, metadata: Mapping[str, t.Any]) -> Object:
    """What is declared will do where it tells the namespace: it is there anyway."""
    place = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    if all(declared["metadata"].get(key) == value for key, value in place.items()):
        return declared
    return {"apiVersion": declared["apiVersion"], "kind": declared["kind"], "metadata": place}


class Extra:
    """What a kind needs beside being written; here nothing. Most modules do not carry what others need."""

    def prepare(
        self, run: Run, items: Mapping[int, Item], live: dict[int, Object | None], outcomes: dict[int, Outcome]
    ) -> None:
        """Comes before anything is written. What it puts among the outcomes is done with."""

    def settle(self, run: Run, written: Sequence[Outcome], later: Sequence[Object]) -> None:
        """Comes between what was written and what is written later."""

    def told(self, _run: Run, outcomes: list[Outcome]) -> list[Outcome]:
        """Comes last, with what became of each."""
        return outcomes


class Run(t.NamedTuple):
    """How a declaration is carried out. ``deadline`` is a ``time.monotonic()``."""

    client: Client
    deadline: float
    check: bool = False
    force_conflicts: bool = False
    writers: int = 8
    wait: bool = False  # for the end of what is taken away
    whole: bool = True  # whether outcomes tell of whole objects, else of their names alone: of ten thousand it is most of the memory
    extra: Extra = Extra()
    # Until when what a webhook of Volcano says may be of a moment ago.
    patience: float = 0.0
    # In check mode: the names of queues that would be written too, here or by an earlier task.
    queues: frozenset[str] = frozenset()


class Item(t.NamedTuple):
    wanted: Wanted
    kind: Kind
    name: str
    namespace: str
