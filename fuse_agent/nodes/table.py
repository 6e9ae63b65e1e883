# SPDX-License-Identifier: Apache-2.0
"""Every node that the kernel may name, and what is known of the names around them.

What is changed in more than one place is changed under a mark; a worker that finds the mark of one that was killed sorts everything
anew from the records.
"""

from __future__ import annotations

import contextlib
import errno
from collections import OrderedDict
from stat import S_IFDIR, S_ISDIR
from typing import TYPE_CHECKING, Final, NamedTuple

from .arena import LONGEST
from .children import Children
from .index import Index
from .records import (
    CHAIN,
    CHILDREN,
    FIRST,
    LAST,
    LISTED,
    LISTED_UNTIL,
    LOOKUPS,
    MODE,
    NAME,
    NEXT,
    NOBODY,
    ORDER,
    PARENT,
    ROOT,
    STATE,
    VERSION,
    WORDS,
    Known,
    Records,
    StaleError,
    State,
)
from .region import BUSY, BYTES, FREE, GRAVES, HAND, LISTINGS, NODES, TOP, Region

if TYPE_CHECKING:
    from collections.abc import Iterator

# Slots that are looked at for room, for each node that is added when there is none.
_STEPS: Final = 16
# That are counted of one node: what the kernel holds for no time is looked up each time.
_MOST_LOOKUPS: Final = 2**32 - 1
# Ends of listings that are remembered, so that whoever goes on there need not be led from the beginning.
_ENDS: Final = 256


class Child(NamedTuple):
    node: int
    name: bytes
    order: int  # where a listing goes on behind it


class Nodes:
    def __init__(self, region: Region, most: int = 1 << 22) -> None:
        """
        :param most: names that are kept for their own sake, beside those that the kernel holds
        """
        self.region = region
        self._most = most
        self._kept: list[int] = []  # folders that are listed
        self._words, self._counters = region.words, region.counters
        self._records = Records(region)
        self._index, self._children = Index(region, self._records.text), Children(region)
        # Not in the region: whoever holds them dies with this process, or tells the next one.
        self._pins: dict[int, int] = {}
        # Of folders and places in their listings, which node was there.
        self._ends: OrderedDict[tuple[int, int], int] = OrderedDict()
        if self._counters[BUSY]:
            self._repair()
        if not self._counters[TOP]:
            self._counters[NODES] = 1
            self._words[ROOT * WORDS + PARENT] = NOBODY
            self._words[ROOT * WORDS + MODE] = S_IFDIR
            self._words[ROOT * WORDS + STATE] = State.LIVE
            # Last, since who is killed before has begun nothing. Slot 0 is none, and 1 the root.
            self._counters[TOP] = 2

    def __len__(self) -> int:
        count: int = self._counters[NODES]
        return count

    @property
    def size(self) -> int:
        """Bytes of all files that are known."""
        count: int = self._counters[BYTES]
        return count

    # --- names -------------------------------------------------------------------------------

    def find(self, parent: int, name: bytes) -> int:
        """The node that a name means, or 0 when it is not known to mean any."""
        slot = self._index.find(self._records.slot(parent), name)
        if not slot:
            return 0
        self._words[slot * WORDS + STATE] |= State.USED
        return self._records.node(slot)

    def add(self, parent: int, name: bytes, known: Known, version: bytes = b"") -> int:
        """A node that the name means from now on, whatever it meant before."""
        folder = self._folder(parent)
        with self._marked():
            slot = self._take(folder)
            before = self._index.find(folder, name)  # now, since it may have made room
            base = slot * WORDS
            self._records.fill(slot, known)
            self._records.put(slot, NAME, name)
            if not S_ISDIR(known.mode):
                self._records.put(slot, VERSION, version)
            self._words[base + STATE] = State.LIVE  # not used yet: a long listing pushes out nothing that is
            if before:
                self._supplant(before, slot, name)
            else:
                self._enter(slot, folder, name)
        return self._records.node(slot)

    def unname(self, node: int) -> None:
        """Its name means nothing any more; who holds the node goes on with it."""
        slot = self._records.slot(node)
        with self._marked():
            self._unname(slot)

    def rename(self, node: int, parent: int, name: bytes) -> None:
        slot, folder = self._records.slot(node), self._folder(parent)
        with self._marked():
            before = self._index.find(folder, name)
            if before == slot:
                return
            if before:
                self._unname(before)
            base = slot * WORDS
            if self._words[base + STATE] & State.NAMED:
                self._leave(slot)
            self._words[base + STATE] &= ~State.LEFT
            self._records.replace(slot, NAME, name)
            self._enter(slot, folder, name)

    def name(self, node: int) -> bytes:
        return self._name(self._records.slot(node))

    def parent(self, node: int) -> int:
        """0 of the root, and of a node whose name means something else now."""
        slot = self._words[self._records.slot(node) * WORDS + PARENT]
        return 0 if slot == NOBODY else self._records.node(slot)

    def path(self, node: int) -> list[bytes]:
        """The names from the root down.

        :raises StaleError: when the way to it leads over a name that means something else now
        """
        names = self._path(self._records.slot(node))
        if names is None:
            raise StaleError(node)
        return names

    def last_path(self, node: int) -> bytes:
        """Of one that lost its name while somebody had it open, the path that it had.

        :raises StaleError: when that is not known
        """
        slot = self._records.slot(node)
        return self._name(slot) if self._words[slot * WORDS + STATE] & State.LEFT else b"/".join(self.path(node))

    # --- what folders hold -------------------------------------------------------------------

    def children(self, node: int, after: int = 0, near: int = 0) -> Iterator[Child]:
        """In the order in which they came to be known, behind that place of a listing. It ends early when the last that it told
        of went meanwhile: ask again with that place.

        :param near: the node that was listed there, which saves the way to it if it is still
        """
        folder = self._records.slot(node)
        words = self._words
        slot = self._position(folder, after, near or self._ends.get((node, after), 0))
        last = before = Child(0, b"", 0)
        try:
            while slot:
                base = slot * WORDS
                order = words[base + ORDER]
                if order > after:
                    before, last = last, Child(self._records.node(slot), self._name(slot), order)
                    yield last
                    if words[base + ORDER] != order or words[base + PARENT] != folder:
                        return
                slot = words[base + NEXT]
        finally:
            for child in (before, last):  # who had no room for the last goes on behind the one before
                self._end(node, child)

    def _end(self, folder: int, child: Child) -> None:
        if child.node:
            self._ends[folder, child.order] = child.node
            if len(self._ends) > _ENDS:
                self._ends.popitem(last=False)

    def order(self, node: int) -> int:
        """Its place in a listing of its folder."""
        return int(self._words[self._records.slot(node) * WORDS + ORDER])

    def count(self, node: int) -> int:
        """Of the names that are known."""
        return int(self._words[self._records.slot(node) * WORDS + CHILDREN])

    def begin_listing(self) -> int:
        """A number for a listing of a folder, by which what it does not name is told from what it names."""
        self._counters[LISTINGS] = (self._counters[LISTINGS] + 1) % 2**32
        number: int = self._counters[LISTINGS]
        return number

    def seen(self, node: int, listing: int) -> None:
        self._words[self._records.slot(node) * WORDS + LISTED] = listing

    def was_seen(self, node: int, listing: int) -> bool:
        return bool(self._words[self._records.slot(node) * WORDS + LISTED] == listing)

    @contextlib.contextmanager
    def keeping(self, folder: int) -> Iterator[None]:
        """None of its names makes room meanwhile: it would be missing from a listing that is said to be whole."""
        slot = folder & 0xFFFFFFFF
        self._kept.append(slot)
        try:
            yield
        finally:
            self._kept.remove(slot)

    def complete(self, node: int, until: int) -> None:
        """Every name of the folder is known, and taken for granted until that second of the clock; 0 takes it back."""
        self._words[self._records.slot(node) * WORDS + LISTED_UNTIL] = until

    def complete_until(self, node: int) -> int:
        """0 when some name may be unknown, or was taken out to make room."""
        until: int = self._words[self._records.slot(node) * WORDS + LISTED_UNTIL]
        return until

    # --- what is known of a node -------------------------------------------------------------

    def known(self, node: int) -> Known:
        return self._records.known(self._records.slot(node))

    def set(self, node: int, known: Known) -> None:
        """All but what kind it is, and its number for users, which is that of all its names where it has several."""
        slot = self._records.slot(node)
        if S_ISDIR(known.mode) != S_ISDIR(self._words[slot * WORDS + MODE]):
            raise ValueError(f"node {node} cannot become another kind of thing")
        before = self._records.known(slot)
        if known.links == before.links == 1:
            known = known._replace(number=before.number)
        self._records.fill(slot, known)

    def version(self, node: int) -> bytes:
        slot = self._records.slot(node)
        if S_ISDIR(self._words[slot * WORDS + MODE]):
            return b""
        return self._records.text(slot, VERSION)

    def set_version(self, node: int, version: bytes) -> None:
        slot = self._records.slot(node)
        with self._marked():
            self._records.replace(slot, VERSION, version)

    def mark_written(self, node: int) -> None:
        """By passthrough, it may be: what the kernel keeps of it need not be what it is now."""
        self._words[self._records.slot(node) * WORDS + STATE] |= State.WRITTEN

    def mark_removed(self, node: int) -> None:
        """The kernel is about to know that its name is gone."""
        self._words[self._records.slot(node) * WORDS + STATE] |= State.REMOVED

    def is_replaced(self, node: int) -> bool:
        """Whether its name is gone, or means something else, and the kernel need not know."""
        state = self._words[self._records.slot(node) * WORDS + STATE]
        return not state & (State.NAMED | State.REMOVED)

    def was_written(self, node: int) -> bool:
        return bool(self._words[self._records.slot(node) * WORDS + STATE] & State.WRITTEN)

    # --- who holds a node --------------------------------------------------------------------

    def looked_up(self, node: int) -> None:
        """To be said before the kernel is answered: one time too many keeps a node, one too few would lose it."""
        lookups = self._records.slot(node) * WORDS + LOOKUPS
        if self._words[lookups] < _MOST_LOOKUPS:  # more than that it takes back at once, when it lets go of the node
            self._words[lookups] += 1

    def forget(self, node: int, times: int) -> None:
        """The kernel takes back so many lookups. Of nodes that are gone nothing is said: a worker was killed in between."""
        with contextlib.suppress(StaleError):
            slot = self._records.slot(node)
            lookups = slot * WORDS + LOOKUPS
            self._words[lookups] = max(self._words[lookups] - times, 0)
            self._drop_unheld(slot)

    def pin(self, node: int) -> None:
        """Somebody of ours holds it, as one who has it open does."""
        slot = self._records.slot(node)
        self._pins[slot] = self._pins.get(slot, 0) + 1

    def unpin(self, node: int) -> None:
        slot = self._records.slot(node)
        pins = self._pins.pop(slot) - 1
        if pins:
            self._pins[slot] = pins
        self._drop_unheld(slot)

    def __contains__(self, node: object) -> bool:
        try:
            return bool(isinstance(node, int) and self._records.slot(node))
        except StaleError:
            return False

    # --- below: by slot, and within a mark where more than one place is written ------------------

    def _folder(self, node: int) -> int:
        slot = self._records.slot(node)
        if not S_ISDIR(self._words[slot * WORDS + MODE]):
            raise NotADirectoryError(errno.ENOTDIR, f"node {node} is no folder")
        return slot

    def _name(self, slot: int) -> bytes:
        return self._records.text(slot, NAME)

    def _path(self, slot: int) -> list[bytes] | None:
        names: list[bytes] = []
        while slot != ROOT:
            names.append(self._name(slot))
            slot = self._words[slot * WORDS + PARENT]
            if slot == NOBODY:
                return None
        return names[::-1]

    def _enter(self, slot: int, folder: int, name: bytes) -> None:
        """The last of a folder's, under a name that means nothing else."""
        self._children.enter(slot, folder)
        self._words[slot * WORDS + STATE] |= State.NAMED
        self._index.add(slot, folder, name)

    def _supplant(self, before: int, slot: int, name: bytes) -> None:
        """In the place of the node that the name meant: who reads a listing meets the name once."""
        folder = self._words[before * WORDS + PARENT]
        self._lose(before)
        self._children.take_place(slot, folder, before)
        self._words[slot * WORDS + STATE] |= State.NAMED
        self._index.add(slot, folder, name)
        self._free_unheld(before)

    def _lose(self, slot: int) -> None:
        """Its name, for good. Who has it open may want more of it when this process is gone."""
        path = b"/".join(self._path(slot) or ()) if slot in self._pins else b""
        self._leave(slot)
        if 0 < len(path) <= LONGEST:
            self._records.replace(slot, NAME, path)
            self._words[slot * WORDS + STATE] |= State.LEFT  # last: a name alone is no path

    def _leave(self, slot: int) -> None:
        self._index.remove(slot)
        self._children.leave(slot)
        self._words[slot * WORDS + STATE] &= ~State.NAMED

    def _unname(self, slot: int) -> None:
        if self._words[slot * WORDS + STATE] & State.NAMED:
            self._lose(slot)
        self._free_unheld(slot)

    def _is_held(self, slot: int) -> bool:
        return slot == ROOT or bool(self._words[slot * WORDS + LOOKUPS]) or slot in self._pins

    def _drop_unheld(self, slot: int) -> None:
        """What has a name is kept for its own sake."""
        if not self._words[slot * WORDS + STATE] & State.NAMED:
            with self._marked():
                self._free_unheld(slot)

    def _free_unheld(self, slot: int) -> None:
        words, base = self._words, slot * WORDS
        if self._is_held(slot):
            return
        folder = S_ISDIR(words[base + MODE])
        words[base + STATE] = 0
        if folder and words[base + FIRST]:
            # What it holds goes little by little.
            words[base + CHAIN] = self._counters[GRAVES]
            self._counters[GRAVES] = slot
            return
        self._records.clear(slot)

    def _clear_graves(self) -> None:
        words = self._words
        for _step in range(_STEPS):
            slot = self._counters[GRAVES]
            if not slot:
                return
            base = slot * WORDS
            child = words[base + FIRST]
            if child:
                self._unname(child)  # may put a grave before this one
            else:
                self._counters[GRAVES] = words[base + CHAIN]
                self._free_unheld(slot)

    def _take(self, folder: int) -> int:
        if self._counters[GRAVES]:
            self._clear_graves()
        if self._counters[NODES] >= self._most:
            self._make_room(folder)
        return self._records.take()

    def _make_room(self, folder: int) -> None:
        """For one in the folder: what nobody holds and nobody asked for since the hand came by makes room. A few slots are looked
        at each time, so that nobody waits for all of them; when none of them can go, the table grows."""
        words = self._words
        for _step in range(_STEPS):
            slot = self._counters[HAND] + 1
            slot = slot if ROOT < slot < self._counters[TOP] else ROOT + 1
            self._counters[HAND] = slot
            base = slot * WORDS
            state = words[base + STATE]
            if not state & State.LIVE or slot == folder or self._is_held(slot) or words[base + PARENT] in self._kept:
                continue
            if state & State.USED or (S_ISDIR(words[base + MODE]) and words[base + CHILDREN]):
                words[base + STATE] = state & ~State.USED
                continue
            if state & State.NAMED:
                words[words[base + PARENT] * WORDS + LISTED_UNTIL] = 0
            self._unname(slot)
            if self._counters[NODES] < self._most:
                return

    def _position(self, folder: int, after: int, near: int) -> int:
        """Where to begin for what lies behind a place: at the node that was there, else at the beginning."""
        words = self._words
        slot = near & 0xFFFFFFFF
        base = slot * WORDS
        if near and near in self and words[base + PARENT] == folder and words[base + ORDER] <= after:
            return slot
        first: int = words[folder * WORDS + FIRST]
        return first

    @contextlib.contextmanager
    def _marked(self) -> Iterator[None]:
        self._counters[BUSY] = 1
        yield
        # Not when something was raised: what is half done is to be found.
        self._counters[BUSY] = 0

    def _repair(self) -> None:
        """Only the records are believed: what is live, whose it is and what it is called."""
        words = self._words
        live = [slot for slot in range(1, self._counters[TOP]) if words[slot * WORDS + STATE] & State.LIVE]
        self._index.clear()
        self._counters[NODES], self._counters[FREE], self._counters[GRAVES] = len(live), 0, 0
        alive = set(live)
        for slot in live:
            base = slot * WORDS
            if S_ISDIR(words[base + MODE]):
                for word in (FIRST, LAST, CHILDREN, LISTED_UNTIL):
                    words[base + word] = 0
        named: dict[tuple[int, bytes], int] = {}
        for slot in sorted(live, key=lambda slot: words[slot * WORDS + ORDER]):
            base = slot * WORDS
            words[base + STATE] &= ~State.NAMED
            folder, name = words[base + PARENT], self._name(slot)
            if folder in alive and (folder, name) not in named:
                named[folder, name] = slot
                self._enter(slot, folder, name)
            elif slot != ROOT:
                words[base + PARENT] = NOBODY
        for slot in range(self._counters[TOP] - 1, ROOT, -1):
            if slot not in alive:
                self._records.give(slot)
        self._records.sort_texts(live)
        self._counters[BYTES] = sum(self._records.known(slot).size for slot in live)
        self._counters[BUSY] = 0
