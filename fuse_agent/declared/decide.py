# SPDX-License-Identifier: Apache-2.0
"""What has to be done, from what is and what is declared. No input or output."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NAMED: Final = 20  # files in one message


class Wanted(NamedTuple):
    """
    :ivar state: mounted, unmounted or absent
    :ivar point: of one that goes, where it was declared last, or nothing
    :ivar digest: of the file that declares it
    """

    name: str
    state: str
    point: str
    digest: str

    @property
    def label(self) -> str:
        return f"{self.name}:{self.digest}"

    def lasts(self, agent: Agent) -> bool:
        """Whether that mount can become what is wanted as it is: up to the point stands what cannot change while it is mounted."""
        is_same = agent.label.partition(".")[0] == self.label.partition(".")[0]
        return agent.label == self.label or (is_same and agent.goes_on)


class Agent(NamedTuple):
    """One that answers.

    :ivar programs: the installations that supervisor and worker run from, nothing of a worker that is slow to answer
    :ivar goes_on: its mount can be handed to another worker as it is
    """

    socket: str
    point: str
    label: str
    pid: int
    worker: int
    serves: bool
    programs: tuple[str, str]
    goes_on: bool = True

    @property
    def name(self) -> str:
        """Of what was declared; of what somebody mounted by hand, nothing."""
        return self.label.partition(":")[0]


class Step(Enum):
    UNMOUNT = "unmount"
    MOUNT = "mount"
    CHANGE = "change"
    ENABLE = "enable"
    DISABLE = "disable"
    FORGET = "forget"
    MOVE = "move"
    LOAD = "load"
    SET = "set"
    REMOVE = "remove"
    START = "start"
    STOP = "stop"

    def told(self, what: str, check: bool) -> str:
        if self is Step.MOVE:
            return f"{'would move' if check else 'moved'} {what} to the release that is installed now"
        return f"would {self.value} {what}" if check else f"{_DONE.get(self, self.value + 'ed')} {what}"


_DONE: Final = {
    Step.CHANGE: "changed",
    Step.ENABLE: "enabled",
    Step.DISABLE: "disabled",
    Step.FORGET: "forgot",
    Step.SET: "set",
    Step.REMOVE: "removed",
    Step.STOP: "stopped",
}


def steps(
    wanted: Wanted, agent: Agent | None, *, dead: bool, up: bool, known: bool, anew: bool = False
) -> Iterator[Step]:
    """
    :param anew: even if it is mounted as it is wanted
    :param dead: something of ours is mounted there that nobody serves
    :param up: whether its service is wanted by whoever starts services
    :param known: whether there is anything of its configuration
    """
    if wanted.state == "mounted":
        if agent and wanted.lasts(agent) and not anew:
            if agent.label != wanted.label:
                yield Step.CHANGE
            if not up:
                yield Step.ENABLE
            return
        if agent or dead:
            yield Step.UNMOUNT
        yield Step.MOUNT
        return
    if agent or dead:
        yield Step.UNMOUNT
    if up:
        yield Step.DISABLE
    if wanted.state == "absent" and known:
        yield Step.FORGET


def is_ours(agent: Agent, releases: str) -> bool:
    """What somebody runs from elsewhere is theirs."""
    return any(program.startswith(f"{releases}/") for program in agent.programs)


def is_due(agent: Agent, releases: str, release: str) -> bool:
    """Whether it runs from another release than the one that is installed now, as far as is known."""
    return is_ours(agent, releases) and {one for one in agent.programs if one} != {f"{releases}/{release}"}


def some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def count(names: Sequence[str]) -> str:
    return "1 file" if len(names) == 1 else f"{len(names)} files"
