# SPDX-License-Identifier: Apache-2.0
"""The command `paddleflow-fuse`: mounts a place of a store as a folder, and asks what serves it."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from ..cache.errors import ForeignError, HeldError, UnsavedError
from ..configuration import OptionsError
from ..logs import plain
from ..session.mount import MountError as PointError
from . import bench, caches, mount, show, umount
from .ask import AskError, ask, last
from .words import parser

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_WRONG, _FAILED, _SIGNAL = 2, 1, 128


def main(words: Sequence[str] | None = None) -> int:
    given = parser().parse_args(words)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as what goes to stderr: a path may be no text
    try:
        code: int = _COMMANDS[given.command](given)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _SIGNAL + 2
    except bench.StoppedError as error:
        print(error, file=sys.stderr)
        return _SIGNAL + error.number
    except OptionsError as error:
        print(error, file=sys.stderr)
        return _WRONG
    except (AskError, mount.MountError, PointError, HeldError, ForeignError, UnsavedError, OSError) as error:
        print(error, file=sys.stderr)
        return _FAILED
    return code


def _mount(given: argparse.Namespace) -> int:
    options = mount.options(given.options, given.url)
    as_json = given.json or options.get("log-format") == "json"
    file = mount.write(given.run, given.url, given.point, options, given.secrets)
    if given.daemon:
        mount.in_background(file, given.log or mount.own_log(given.logs), as_json)
    else:
        mount.in_foreground(file, as_json)
    return 0


def _run(given: argparse.Namespace) -> int:
    wanted = mount.declared(given.file)
    file = mount.write(given.run, wanted.url, wanted.point, wanted.options, wanted.secrets, wanted.label)
    mount.in_foreground(file, wanted.options.get("log-format") == "json", bare=mount.make_point(wanted.point))
    return 0


def _status(given: argparse.Namespace) -> int:
    told = last(given.run, given.point, "status")
    print(json.dumps(told, indent=2) if given.json else show.status(told))
    return 0


def _stats(given: argparse.Namespace) -> int:
    from .stats import live

    live(given.run, given.point, given.schema, given.interval, given.more, given.count)
    return 0


def _metrics(given: argparse.Namespace) -> int:
    for line in ask(given.run, given.point, "metrics"):
        sys.stdout.write(line.get("text", ""))
    return 0


def _exporter(given: argparse.Namespace) -> int:
    from . import exporter  # whom nobody else needs

    try:
        exporter.serve(given.run, given.listen)
    except exporter.ListenError as error:
        print(error, file=sys.stderr)
        return _FAILED
    return 0


def _bench(given: argparse.Namespace) -> int:
    sizes = bench.Sizes(
        given.block_size, given.big_file_size, given.small_file_size, given.small_file_count, given.threads
    )
    results = []
    for result in bench.measure(given.path, sizes):
        results.append(result)
        if not given.json:
            print(bench.line(result), flush=True)
    if given.json:
        print(bench.document(given.path, sizes, results))
    return 0


def _warmup(given: argparse.Namespace) -> int:
    lines = given.file.read().split("\n") if given.file else []
    told: dict[str, Any] = {}
    for line in ask(
        given.run, given.point, "warmup", paths=[*given.paths, *lines] or ["/"], kind=given.type, at_once=given.threads
    ):
        if "files" in line:
            told = line
            print(
                f"{told['files']} files, {told['folders']} folders, {told['bytes'] / 1e6:.1f} MB, {told['failed']} failed",
                file=sys.stderr,
            )
    for failure in told.get("failures", []):
        print(plain(failure), file=sys.stderr)
    return _FAILED if told.get("failed") else 0


def _clear(given: argparse.Namespace) -> int:
    lacking: list[str] = []
    for line in ask(given.run, given.point, "clear", paths=given.paths):
        if "cleared" in line:
            print(f"{line['cleared']} files will be fetched anew")
            lacking = line.get("lacking", [])  # a worker of an older release says none
    for one in lacking:
        print(plain(one), file=sys.stderr)
    return _FAILED if lacking else 0


def _resolve(given: argparse.Namespace) -> int:
    done = [
        line["resolved"]
        for line in ask(given.run, given.point, "resolve", paths=given.paths, take=given.take)
        if "resolved" in line
    ]
    print(f"{sum(done)} files are resolved")
    return 0 if all(done) else _FAILED


def _clean(given: argparse.Namespace) -> int:
    return 0 if caches.remove(given.folder, given.days) else _FAILED


def _check(given: argparse.Namespace) -> int:
    return 0 if caches.check(given.folder, given.repair, given.quick) else _FAILED


_COMMANDS = {
    "mount": _mount, "run": _run, "umount": umount.umount, "status": _status, "stats": _stats, "metrics": _metrics, "exporter": _exporter,
    "bench": _bench, "warmup": _warmup, "clear": _clear, "resolve": _resolve, "clean-cache": _clean, "fsck": _check,
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main())
