# SPDX-License-Identifier: Apache-2.0
"""The loads of the protocol, A to G: what is done to one contender in one round, and under which row it is noted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from tests.bench.agent.daemon import TroubleError
from tests.bench.agent.peers import NATIVE, NO_DISK, OURS, Contender
from tests.bench.agent.stand import PATIENCE, TORCH, WRITTEN, Measured, Stand, Trial

PAGE = 4096
CLIENTS = (1, 2, 4)
# Of the small files that are read where every lookup is asked again each second.
SHORT = 2_000
WORKERS, BATCH, EPOCHS = 2, 32, 2
KILLS = 3
CREATED, LOOKUP = "create", "lookup of what the agent knows"


class Note(NamedTuple):
    """
    :ivar stored: which part of what was written the store had at once, where that can be counted
    :ivar extra: what else is told of it
    """

    row: str
    measured: Measured
    stored: float | None = None
    extra: dict[str, float] | None = None

    def told(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self._asdict(), "measured": self.measured._asdict()}

    @classmethod
    def heard(cls, told: dict[str, Any]) -> Note:
        return cls(**{**told, "measured": Measured(**told["measured"])})


Notes: TypeAlias = list[Note]
Load: TypeAlias = Callable[[Stand, Contender, float], Notes]


def small(stand: Stand, one: Contender, seconds: float) -> Notes:
    """A: small files, cold and warm, by one, two and four at once."""
    notes = []
    for clients in CLIENTS:
        with stand.mounted(one) as trial:
            names = trial.look(stand.sizes.small_files(), 3 * seconds)
            cold = _small(trial, names, clients, "os", seconds, again=False)
            if one.name != NATIVE:  # whose pages nobody drops
                notes.append(Note(f"small cold {clients}", cold))
            # Those that were read, so that all of them are warm for everybody.
            read = names[: int(cold.found["done"])]
            if clients > 1:
                _small(trial, read, clients, "os", PATIENCE, again=False)
            notes.append(Note(f"small warm {clients}", _small(trial, read, clients, "os", seconds / 2, again=True)))
            if clients == 1:
                python = _small(trial, read, 1, "python", seconds / 2, again=True)
                notes.append(Note("small warm, Python's open()", python))
    return notes


def _small(trial: Trial, names: list[str], clients: int, how: str, seconds: float, again: bool) -> Measured:
    given = {"paths": trial.paths(names), "how": how, "size": PAGE, "seconds": seconds, "again": again}
    return (
        trial.run("small", **given)
        if clients == 1
        else trial.run("together", clients=clients, load="small", given=given)
    )


def small_asked(stand: Stand, one: Contender, seconds: float) -> Notes:
    """A, where nothing is believed for longer than a second."""
    with stand.mounted(one, ttl=1) as trial:
        names = trial.look(stand.sizes.small_files()[:SHORT], 3 * seconds)
        names = names[: int(_small(trial, names, 1, "os", 3 * seconds, again=False).found["done"])]
        return [Note("small warm 1, ttl 1 s", _small(trial, names, 1, "os", seconds / 2, again=True))]


def large(stand: Stand, one: Contender, seconds: float) -> Notes:
    """B and C: large files in order, from the store, from the disk cache and from memory; then pages of one in no order."""
    names, size = stand.sizes.large_files(), stand.sizes.large
    with stand.mounted(one) as trial:
        cold = trial.run("sequential", paths=trial.paths(names), seconds=2 * seconds)
        paths = trial.paths(names[: cold.found["files"]])
        if one.name == NO_DISK:
            return [Note("seq cold, no disk", cold)]
        notes = [] if one.name == NATIVE else [Note("seq cold", cold)]
        if one.name != NATIVE:
            trial.run("forget", paths=paths)
        again = {"paths": paths, "seconds": 2 * seconds}
        notes.append(Note("seq from the disk cache", trial.run("sequential", **again)))
        notes.append(Note("seq warm", trial.run("sequential", **again)))
        if one.name != NATIVE:
            trial.run("forget", paths=paths)
        scattered = {"path": paths[0], "size": size, "seconds": seconds / 2}
        notes.append(Note("rand 4 KiB from the disk cache", trial.run("scattered", **scattered)))
        notes.append(Note("rand 4 KiB, descriptor open already", trial.run("scattered", first=True, **scattered)))
        if one.name == NATIVE:  # the memory is wanted for others
            trial.run("forget", paths=paths)
    return notes


def many(stand: Stand, one: Contender, seconds: float) -> Notes:
    """D: a folder of many files is listed and looked at, cold, warm, and where the kernel believes no name and so asks for each."""
    names = stand.sizes.many_files()
    with stand.mounted(one) as trial:
        listing = {"folder": trial.path("many"), "seconds": 4 * seconds}
        notes = [] if one.name == NATIVE else [Note("list cold", trial.run("listing", **listing))]
        notes.append(Note("list warm", trial.run("listing", **listing)))
        notes.append(Note("stat after the listing", trial.run("status", paths=trial.paths(names), seconds=seconds)))
    with stand.mounted(one, names=0) as trial:
        trial.run("listing", **(listing | {"folder": trial.path("many")}))
        notes.append(Note(LOOKUP, trial.run("status", paths=trial.paths(names), seconds=seconds)))
    return notes


def writing(stand: Stand, one: Contender, seconds: float) -> Notes:
    """E: small files that are made and removed, a large one, and pages that are written one by one."""
    sizes = stand.sizes
    if one.writes is None:
        return []
    counts = one.name not in (NATIVE, "juicefs")
    try:
        with stand.mounted(one, writes=True) as trial:
            paths = trial.paths([f"{WRITTEN}{number}" for number in range(sizes.created)])
            made = trial.run("create", paths=paths, size=PAGE, seconds=seconds, sync=one.syncs)
            there = stand.stored(WRITTEN) / made.found["done"] if counts else None
            notes = [Note(CREATED, made, there)]
            notes.append(Note("unlink", trial.run("unlink", paths=paths[: made.found["done"]])))
            large = trial.run("write", path=trial.path(f"{WRITTEN}large"), size=sizes.written, sync=one.syncs)
            there = float(stand.stored(f"{WRITTEN}large")) if counts else None
            notes.append(Note("write 1 GiB", large, there))
            count = sizes.written // PAGE // 4
            notes.append(
                Note(
                    "write() of 4 KiB",
                    trial.run("append", path=trial.path(f"{WRITTEN}pages"), count=count, seconds=seconds),
                )
            )
            trial.run("unlink", paths=trial.paths([f"{WRITTEN}large", f"{WRITTEN}pages"]))
    finally:
        stand.remove()
    return notes


def training(stand: Stand, one: Contender, seconds: float) -> Notes:
    """F: a data set of JPEGs, read by PyTorch's DataLoader, or as that reads it: decoded, and once more as it is."""
    notes = []
    if stand.decoder is None:
        return []
    with stand.mounted(one) as trial:
        names = trial.look(stand.sizes.image_files(), 3 * seconds)
        given: dict[str, Any] = {"paths": trial.paths(names), "workers": WORKERS, "batch": BATCH}
        for row, decoder, epochs in (("decoded", str(stand.decoder), EPOCHS), ("undecoded", None, 2)):
            if decoder and stand.pytorch:
                found = trial.run("loader", words=[str(stand.pytorch), str(TORCH)], epochs=epochs, **given)
            else:
                found = trial.run("loader", epochs=epochs, decoder=decoder, **given)
            if decoder and one.name != NATIVE:
                cold = {**found.found, "seconds": found.found["epochs"][0]}
                notes.append(Note(f"epoch, cold, {row}", found._replace(found=cold)))
            notes.append(Note(f"epoch, warm, {row}", found))
    return notes


def killed(stand: Stand, one: Contender, seconds: float) -> Notes:
    """G: who serves is killed again and again, while an epoch is read for the first time and anew."""
    with stand.mounted(one) as trial:
        names = trial.look(stand.sizes.small_files(), PATIENCE)
        reads: dict[str, Any] = {"paths": trial.paths(names), "how": "os", "size": PAGE}
        with trial.client("small", seconds=2 * KILLS * seconds, again=True, **reads) as client:
            client.begin()
            for _kill in range(KILLS):
                try:
                    client.process.wait(seconds)
                except subprocess.TimeoutExpired:
                    os.kill(worker(trial), signal.SIGKILL)
                else:
                    raise TroubleError("its client ended before it was killed")
            found = client.result(forgives=True)
    extra = {"errors": found["wrong"], "longest stall, s": found["longest"]}
    return [Note("small files while killed", Measured(found, 0.0, 0.0), None, extra)]


def worker(trial: Trial) -> int:
    """Of ours, the process that serves."""
    run = trial.root.parent / "run"
    words = [*OURS, "--run", str(run), "status", "--json", str(trial.root)]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return int(json.loads(said)["worker_pid"])


LOADS: dict[str, Load] = {
    "A": small, "A1": small_asked, "B": large, "D": many, "E": writing, "F": training, "G": killed,
}  # fmt: skip
