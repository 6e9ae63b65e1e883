# SPDX-License-Identifier: Apache-2.0
"""Workers that are killed at each request of what they do: who asked sees a delay, and what is there is as if nothing had happened."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

from tests.conftest import EXTENDED
from tests.support.agent_mounts import Agent, agents, until
from tests.support.folder_store import Doom, FolderStore
from tests.support.places import client

WORKER = [sys.executable, "-P", "-m", "tests.support.agent_objects"]
QUICK = {"attributes_hold": 0, "names_hold": 0, "kernel_attributes_hold": 0, "kernel_names_hold": 0}
# What is done before a request is done after the one before.
WAYS = ("before", "after") if EXTENDED else ("after",)


class Case:
    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.store, self.doom = FolderStore(agent.files / "store"), Doom(agent.files / "doom")
        self.staging = agent.files / "staging"
        self.point = agent.point

    def act(self, code: str) -> str:
        """By another process, in the mount; what it says of an error."""
        who = client(f"os.chdir(sys.argv[1])\n{code}", self.point)
        return who.communicate(timeout=60)[1]

    def staged(self) -> list[str]:
        return [one.name for one in self.staging.iterdir()]


@pytest.fixture
def case() -> Iterator[Case]:
    with agents() as make:
        agent = make()
        agent.configuration["files"] = {"folder": str(agent.files), "settings": QUICK}
        yield Case(agent.start(worker=WORKER, settled=0))


def killed_everywhere(
    case: Case, ready: Callable[[int], str], check: Callable[[int], None], first: int = 1, step: int = 1
) -> int:
    """At each request of what a client does, until it does it without being killed; how many those were.

    :param ready: makes what is needed under names with that number, and says what the client does
    :param step: where there is not the time to try each
    """
    number = 0
    for request in range(first, 100, 1 if EXTENDED else step):
        for when in WAYS:
            number += 1
            code = ready(number)
            case.doom.say(request, when)
            said = case.act(code)
            is_met = case.doom.is_met
            case.doom.spare()
            assert said == "", f"killed {when} request {request}"
            check(number)
            if not is_met:
                return request - 1
    raise AssertionError("it takes a hundred requests")


def test_a_folder_is_renamed_whole_whenever_the_worker_is_killed(case: Case) -> None:
    """D-51."""
    tree = {"": b"", "a": b"a", "deep/b": b"b"}

    def ready(number: int) -> str:
        for name, data in tree.items():
            case.store.add(f"old{number}/{name}", data)
        return f"os.rename('old{number}', 'new{number}')"

    def check(number: int) -> None:
        found = {key: data for key, data in case.store.tree().items() if f"{number}/" in key}
        assert found == {f"new{number}/{name}": data for name, data in tree.items()}
        until(lambda: case.staged() == [], "the plan to be dropped")
        for key in found:
            case.store.delete([key])

    assert killed_everywhere(case, ready, check, first=5) >= 2 * len(tree) + 10


@pytest.mark.parametrize("before", ["a file", pytest.param("nothing", marks=pytest.mark.extended)])
def test_a_file_is_renamed_once_whenever_the_worker_is_killed(case: Case, before: str) -> None:
    def ready(number: int) -> str:
        case.store.add(f"old{number}", b"content")
        if before == "a file":
            case.store.add(f"new{number}", b"other")
        return f"os.rename('old{number}', 'new{number}')"

    def check(number: int) -> None:
        assert case.store.tree() == {f"new{number}": b"content"}
        case.store.delete([f"new{number}"])

    killed_everywhere(case, ready, check, first=5)


def test_names_are_made_and_removed_once_whenever_the_worker_is_killed(case: Case) -> None:
    code = (
        "n = '{0}'\nos.mkdir('d' + n)\nos.symlink('to', 'd' + n + '/l')\nos.mknod('d' + n + '/f')\nos.unlink('d' + n + '/l')\n"
        "os.unlink('d' + n + '/f')\nos.rmdir('d' + n)\nos.close(os.open('x' + n, os.O_CREAT | os.O_EXCL | os.O_WRONLY))\n"
    )

    def check(number: int) -> None:
        assert list(case.store.tree()) == [f"x{number}"]
        case.store.delete([f"x{number}"])

    killed_everywhere(case, code.format, check, step=4)


@pytest.mark.parametrize("what", ["file", pytest.param("folder", marks=pytest.mark.extended)])
def test_attributes_are_set_and_removed_once_whenever_the_worker_is_killed(what: str) -> None:
    """Where a copy has another version than what was copied. A new one is not told to be there already, and one that was removed not to
    be gone."""
    code = (
        "n = '{0}'\nos.setxattr(n, 'user.a', b'1', os.XATTR_CREATE)\nos.setxattr(n, 'user.b', b'2')\nos.removexattr(n, 'user.a')\n"
        "one = os.open(n, os.O_RDONLY) if os.path.isdir(n) else os.open(n, os.O_RDWR)\n"
        "os.setxattr(one, 'user.c', b'3', os.XATTR_CREATE)\nos.setxattr(one, 'user.b', b'4', os.XATTR_REPLACE)\nos.close(one)\n"
    )
    with agents() as make:
        agent = make()
        settings = {**QUICK, "xattrs": True}
        agent.configuration["files"] = {"folder": str(agent.files), "settings": settings, "persist": True}
        case = Case(agent.start(worker=WORKER, settled=0))

        def ready(number: int) -> str:
            case.store.add(f"{number}/" if what == "folder" else f"{number}", b"" if what == "folder" else b"content")
            return code.format(number)

        def check(_number: int) -> None:
            until(lambda: case.staged() == [], "it to be stored")
            (key,) = case.store.tree()
            assert case.store.head(key).metadata["pfs-xattrs"] == "b=4&c=3"
            case.store.delete([key])

        killed_everywhere(case, ready, check, step=3)


def test_what_others_made_in_the_meantime_is_not_removed_again(case: Case) -> None:
    """A worker dies over a removal that is done; before the next one looks, others made a file of that name."""
    case.store.add("file", b"ours")
    case.doom.say(1, "after", "delete", then=("file", "theirs"))
    assert case.act("os.unlink('file')") == ""
    assert case.doom.is_met
    assert case.store.tree() == {"file": b"theirs"}


def test_what_others_made_in_the_meantime_is_not_moved(case: Case) -> None:
    case.store.add("old", b"ours")
    case.doom.say(1, "after", "delete", then=("old", "theirs"))
    said = case.act("os.rename('old', 'new')")
    assert said == ""
    assert case.doom.is_met
    assert case.store.tree() == {"old": b"theirs", "new": b"ours"}


def test_who_writes_a_file_writes_on_when_its_folder_was_renamed_by_two_workers(case: Case) -> None:
    case.store.add("old/a", b"a")
    code = (
        "one = os.open('old/b', os.O_CREAT | os.O_RDWR)\nos.write(one, b'written ')\nreader = os.open('old/a', os.O_RDONLY)\n"
        "os.rename('old', 'new')\nos.write(one, b'on')\nos.close(one)\nassert os.read(reader, 9) == b'a'\n"
    )
    case.doom.say(1, "after", "delete")
    assert case.act(code) == ""
    assert case.doom.is_met
    until(lambda: case.staged() == [], "it to be stored")
    assert case.store.tree() == {"new/a": b"a", "new/b": b"written on"}


def test_a_folder_whose_rename_was_cut_off_is_moved_by_the_next_mount(case: Case) -> None:
    """As after the machine died: what is staged and belongs there goes along."""
    for name in ("a", "b", "c/d"):
        case.store.add(f"old/{name}", name.encode())
    case.doom.say(2, "after", "copy", all_die=True)
    code = (
        "one = os.open('old/a', os.O_RDWR | os.O_TRUNC)\nos.write(one, b'staged')\nos.stat('old')\n"
        "try: os.rename('old', 'new')\nexcept OSError: pass\nos._exit(0)"
    )
    assert case.act(code) == ""
    assert case.doom.is_met
    assert case.agent.ended() != 0
    case.doom.spare()
    case.agent.start()
    until(lambda: case.staged() == [], "all to be stored")
    assert case.store.tree() == {"new/a": b"staged", "new/b": b"b", "new/c/d": b"c/d"}
