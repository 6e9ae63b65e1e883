# SPDX-License-Identifier: Apache-2.0
"""What is done to a mounted folder, the same whoever serves it: standard library only, in a process of its own.

It reads one line that says what to do, prepares it, says that it is ready, and begins when it is told to. What it found is a line of
JSON. Nothing lasts longer than the seconds that it is given: who is slow does less, and is known by his rate.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

PAGE = 4096
BLOCK = 1 << 20
# For a small file: memory for a larger piece is asked of the kernel anew for each, which takes longer than all the rest.
ENOUGH = 8 << 10
Found = dict[str, Any]
Run = Callable[[], Found]


def prepare(do: str, given: dict[str, Any]) -> Run:
    load: Callable[..., Run] = LOADS[do]
    return load(**given)


def small(paths: list[str], how: str, size: int, seconds: float, again: bool = False) -> Run:
    """Opens, reads and closes file after file.

    :param how: ``os`` for the calls of the system alone, ``python`` for open()
    :param again: from the beginning when it is at the end, until the time is over
    """
    read = {"os": _by_system, "python": _by_python}[how]

    def run() -> Found:
        done = wrong = 0
        longest = 0.0
        begin = before = time.perf_counter()
        while True:
            for path in paths:
                try:
                    wrong += read(path) != size
                except OSError:
                    wrong += 1
                now = time.perf_counter()
                longest, before, done = max(longest, now - before), now, done + 1
                if now - begin > seconds:
                    break
            if not again or before - begin > seconds:
                break
        return {"done": done, "seconds": before - begin, "wrong": wrong, "longest": longest}

    return run


def _by_system(path: str) -> int:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return len(os.read(descriptor, ENOUGH))
    finally:
        os.close(descriptor)


def _by_python(path: str) -> int:
    with open(path, "rb") as file:  # noqa: PTH123 (what is measured is this very call)
        return len(file.read())


def sequential(paths: list[str], seconds: float) -> Run:
    """Whole files, one at least."""
    buffer = bytearray(BLOCK)

    def run() -> Found:
        done = files = 0
        begin = now = time.perf_counter()
        for path in paths:
            descriptor = os.open(path, os.O_RDONLY)
            while size := os.readv(descriptor, [buffer]):
                done += size
            os.close(descriptor)
            files, now = files + 1, time.perf_counter()
            if now - begin > seconds:
                break
        return {"done": done, "seconds": now - begin, "wrong": 0, "files": files}

    return run


def scattered(path: str, size: int, seconds: float, first: bool = False) -> Run:
    """Single pages of a file in no order.

    :param first: opens it now, and reads a little, so that what is measured is reading alone
    """
    chance, buffer = random.Random(1), bytearray(PAGE)
    places = [chance.randrange(size // PAGE) * PAGE for _read in range(1 << 17)]
    held = os.open(path, os.O_RDONLY) if first else -1
    if first:
        os.preadv(held, [buffer], 0)

    def run() -> Found:
        done = wrong = 0
        begin = now = time.perf_counter()
        descriptor = held if first else os.open(path, os.O_RDONLY)
        while now - begin < seconds:
            start = done % len(places)
            for place in places[start : start + 64]:
                wrong += os.preadv(descriptor, [buffer], place) != PAGE
            done, now = done + 64, time.perf_counter()
        os.close(descriptor)
        return {"done": done, "seconds": now - begin, "wrong": wrong}

    return run


def listing(folder: str, seconds: float) -> Run:
    def run() -> Found:
        done = 0
        begin = time.perf_counter()
        with os.scandir(folder) as entries:
            for _entry in entries:
                done += 1
                if not done % 256 and time.perf_counter() - begin > seconds:
                    break
        return {"done": done, "seconds": time.perf_counter() - begin, "wrong": 0}

    return run


def walk(folder: str) -> Run:
    """Every name of it is listed and looked at, as `find` and `du` do."""

    def run() -> Found:
        done = 0
        begin = time.perf_counter()
        with os.scandir(folder) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)
                done += 1
        return {"done": done, "seconds": time.perf_counter() - begin, "wrong": 0}

    return run


def status(paths: list[str], seconds: float) -> Run:
    def run() -> Found:
        done = 0
        begin = now = time.perf_counter()
        for path in paths:
            os.stat(path)  # noqa: PTH116 (the call itself)
            done, now = done + 1, time.perf_counter()
            if now - begin > seconds:
                break
        return {"done": done, "seconds": now - begin, "wrong": 0}

    return run


def create(paths: list[str], size: int, seconds: float, sync: bool = False) -> Run:
    """
    :param sync: where a close alone does not store it
    """
    data = random.Random(2).randbytes(size)

    def run() -> Found:
        done = 0
        begin = now = time.perf_counter()
        for path in paths:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            os.write(descriptor, data)
            if sync:
                os.fsync(descriptor)
            os.close(descriptor)
            done, now = done + 1, time.perf_counter()
            if now - begin > seconds:
                break
        return {"done": done, "seconds": now - begin, "wrong": 0}

    return run


def unlink(paths: list[str]) -> Run:
    def run() -> Found:
        begin = time.perf_counter()
        for path in paths:
            os.unlink(path)  # noqa: PTH108
        return {"done": len(paths), "seconds": time.perf_counter() - begin, "wrong": 0}

    return run


def write(path: str, size: int, sync: bool = False) -> Run:
    """One large file, until it is closed.

    :param sync: as above
    """
    data = random.Random(3).randbytes(8 * BLOCK)

    def run() -> Found:
        begin = time.perf_counter()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        for place in range(0, size, BLOCK):
            start = place % len(data)
            os.write(descriptor, data[start : start + min(BLOCK, size - place)])
        if sync:
            os.fsync(descriptor)
        os.close(descriptor)
        return {"done": size, "seconds": time.perf_counter() - begin, "wrong": 0}

    return run


def append(path: str, count: int, seconds: float) -> Run:
    """Pages to an open file; closing it is not measured."""
    data = random.Random(4).randbytes(PAGE)

    def run() -> Found:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        done = 0
        begin = now = time.perf_counter()
        while done < count and now - begin < seconds:
            for _turn in range(64):
                os.write(descriptor, data)
            done, now = done + 64, time.perf_counter()
        os.close(descriptor)
        return {"done": done, "seconds": now - begin, "wrong": 0}

    return run


def loader(paths: list[str], workers: int, batch: int, epochs: int, decoder: str | None) -> Run:
    """As a DataLoader of PyTorch reads a data set: batches of a new order in each epoch go to worker processes in turn, each of which
    has two on its way, and come back in order.

    :param decoder: a folder with Pillow; None only reads
    """

    def run() -> Found:
        crew = [_Worker(paths, decoder) for _worker in range(workers)]
        chance, took = random.Random(5), []
        wrong = 0
        for _epoch in range(epochs):
            begin = time.perf_counter()
            order = list(range(len(paths)))
            chance.shuffle(order)
            batches = [order[start : start + batch] for start in range(0, len(order), batch)]
            ahead = 2 * workers
            for number, one in enumerate(batches[:ahead]):
                crew[number % workers].ask(one)
            for number in range(len(batches)):
                wrong += crew[number % workers].answer()
                if number + ahead < len(batches):
                    crew[(number + ahead) % workers].ask(batches[number + ahead])
            took.append(time.perf_counter() - begin)
        for (
            worker
        ) in crew:  # all, before any is waited for: those that were begun later hold the pipes of the others, too
            worker.stop()
        for worker in crew:
            worker.end()
        return {"done": len(paths), "seconds": took[-1], "epochs": took, "wrong": wrong}

    return run


class _Worker:
    def __init__(self, paths: list[str], decoder: str | None) -> None:
        (asks, self._asks), (self._answers, answers) = os.pipe(), os.pipe()
        self._process = os.fork()
        if not self._process:
            os.close(self._asks)
            try:
                _load(paths, decoder, asks, answers)
            finally:
                os._exit(0)
        os.close(asks)
        os.close(answers)
        self._told = os.fdopen(self._answers, "rb")

    def ask(self, batch: list[int]) -> None:
        os.write(self._asks, json.dumps(batch).encode() + b"\n")

    def answer(self) -> int:
        return int(self._told.readline())

    def stop(self) -> None:
        os.close(self._asks)

    def end(self) -> None:
        os.waitpid(self._process, 0)
        self._told.close()


def _load(paths: list[str], decoder: str | None, asks: int, answers: int) -> None:
    decode = _decoder(decoder)
    with os.fdopen(asks, "rb") as lines:
        for line in lines:
            wrong = 0
            for index in json.loads(line):
                try:
                    with open(paths[index], "rb") as file:  # noqa: PTH123 (as a data set of PyTorch does)
                        data = file.read()
                    decode(data)
                except OSError:
                    wrong += 1
            os.write(answers, b"%d\n" % wrong)


def _decoder(folder: str | None) -> Callable[[bytes], object]:
    if folder is None:
        return len
    sys.path.insert(0, folder)
    image = importlib.import_module("PIL.Image")

    def decode(data: bytes) -> object:
        return image.open(io.BytesIO(data)).convert("RGB").tobytes()

    return decode


def together(clients: int, load: str, given: dict[str, Any]) -> Run:
    """By several processes at once, which take the paths in turn as the workers of one loader do."""
    paths = given["paths"]
    shares = [prepare(load, {**given, "paths": paths[number::clients]}) for number in range(clients)]

    def run() -> Found:
        found = list(_each(shares))
        longest = max(one["seconds"] for one in found)
        return {name: sum(one[name] for one in found) for name in ("done", "wrong")} | {"seconds": longest}

    return run


def _each(shares: list[Run]) -> Iterator[Found]:
    readers = []
    for share in shares:
        reader, writer = os.pipe()
        if not os.fork():
            try:
                os.write(writer, json.dumps(share()).encode())
            finally:
                os._exit(0)
        os.close(writer)
        readers.append(reader)
    for reader in readers:
        with os.fdopen(reader, "rb") as found:
            yield json.load(found)
        os.wait()


def forget(paths: list[str]) -> Run:
    """What the kernel keeps of the content of these files, and of nothing else."""

    def run() -> Found:
        for path in paths:
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
        return {"done": len(paths), "seconds": 0.0, "wrong": 0}

    return run


LOADS: dict[str, Callable[..., Run]] = {
    "small": small, "sequential": sequential, "scattered": scattered, "listing": listing, "walk": walk, "status": status, "create": create,
    "unlink": unlink, "write": write, "append": append, "loader": loader, "together": together, "forget": forget,
}  # fmt: skip


def main() -> None:
    wanted = json.loads(sys.stdin.readline())
    run = prepare(wanted["do"], wanted["given"])
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(run()), flush=True)


if __name__ == "__main__":
    main()
