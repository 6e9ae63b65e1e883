# SPDX-License-Identifier: Apache-2.0
"""The command `paddleflow-fuse`: mounts a place of a store as a folder, and asks what serves it."""

from __future__ import annotations

import argparse
import errno
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cache.claim import clean
from ..cache.errors import ForeignError, HeldError, UnsavedError
from ..configuration import OptionsError
from ..session.mount import MountError as PointError
from ..session.mount import unmount
from . import mount
from .ask import RUN, AskError, ask, last, wait_for_end

if TYPE_CHECKING:
    from collections.abc import Sequence

_WRONG, _FAILED = 2, 1


def main(words: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(words)
    try:
        code: int = given.run_command(given)
    except OptionsError as error:
        print(error, file=sys.stderr)
        return _WRONG
    except (AskError, mount.MountError, PointError, HeldError, ForeignError, UnsavedError, OSError) as error:
        print(error, file=sys.stderr)
        return _FAILED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="paddleflow-fuse", description=__doc__.partition(": ")[2])
    parser.add_argument("--run", type=Path, default=RUN, help="where agents are asked (%(default)s)")
    verbs = parser.add_subparsers(required=True, metavar="command")

    one = verbs.add_parser("mount", help="mount a place of a store on an empty folder, and serve it")
    one.add_argument("url", help="such as s3://bucket/path")
    one.add_argument("point", type=Path)
    one.add_argument("-o", dest="options", action="append", default=[], metavar="NAME=VALUE,...")
    one.add_argument(
        "--secrets", type=Path, metavar="FILE", help="JSON with accessKey and secretKey; read again when it changes"
    )
    one.add_argument(
        "-d", "--daemon", action="store_true", help="return when it is mounted, and serve in the background"
    )
    one.add_argument("--log", type=Path, default=Path("/var/log/paddleflow-fuse.log"), help="of --daemon (%(default)s)")
    one.add_argument("--json", action="store_true", help="log lines of JSON")
    one.set_defaults(run_command=_mount)

    one = verbs.add_parser("run", help="mount what a file of JSON declares, and serve it in the foreground")
    one.add_argument("file", type=Path, help="with url and point, and where they are wanted options and secrets")
    one.set_defaults(run_command=_run)

    one = verbs.add_parser("umount", help="store what is not stored yet, and unmount")
    one.add_argument("point", type=Path)
    one.add_argument(
        "-f",
        "--force",
        action="store_true",
        help="at once, also while it is used; what is not stored stays in the cache folder",
    )
    one.set_defaults(run_command=_umount)

    for name, text in (
        ("status", "what an agent knows of its mount"),
        ("metrics", "what it counts, as Prometheus reads it"),
    ):
        one = verbs.add_parser(name, help=text)
        one.add_argument("point", type=Path)
        one.set_defaults(run_command=_status if name == "status" else _metrics)

    one = verbs.add_parser("warmup", help="fetch before anybody asks")
    one.add_argument("point", type=Path)
    one.add_argument("paths", nargs="*", help="from the root of the mount; folders with all below them (all of it)")
    one.add_argument("-f", "--file", type=argparse.FileType("r"), help="one path in each line")
    one.add_argument("-t", "--type", choices=("meta", "data"), default="data")
    one.add_argument("-p", "--threads", type=int, default=100, help="files at a time (%(default)s)")
    one.set_defaults(run_command=_warmup)

    one = verbs.add_parser("clear", help="forget what is cached of paths, or all")
    one.add_argument("point", type=Path)
    one.add_argument("paths", nargs="*")
    one.set_defaults(run_command=_clear)

    one = verbs.add_parser(
        "resolve", help="say what becomes of a file that a newer version overtook (status: conflicts)"
    )
    one.add_argument("point", type=Path)
    one.add_argument(
        "take", choices=("ours", "theirs"), help="ours replaces what is there, theirs stays and ours is removed"
    )
    one.add_argument("paths", nargs="+", help="from the root of the mount")
    one.set_defaults(run_command=_resolve)

    one = verbs.add_parser("clean-cache", help="remove a cache folder that no agent holds")
    one.add_argument("folder", type=Path)
    one.set_defaults(run_command=_clean)
    return parser


def _mount(given: argparse.Namespace) -> int:
    options = mount.options(given.options)
    as_json = given.json or options.get("log-format") == "json"
    file = mount.write(given.run, given.url, given.point, options, given.secrets)
    if given.daemon:
        mount.in_background(file, given.log, as_json)
    else:
        mount.in_foreground(file, as_json)
    return 0


def _run(given: argparse.Namespace) -> int:
    wanted = mount.declared(given.file)
    file = mount.write(given.run, wanted.url, wanted.point, wanted.options, wanted.secrets, wanted.label)
    mount.in_foreground(file, wanted.options.get("log-format") == "json")
    return 0


def _umount(given: argparse.Namespace) -> int:
    if given.force:
        unmount(given.point, lazily=True)
        return 0
    unsaved = last(given.run, given.point, "save").get("unsaved", [])
    if unsaved:
        print(f"{given.point} stays mounted, since the store does not take: {', '.join(unsaved)}", file=sys.stderr)
        return _FAILED
    agent = last(given.run, given.point, "status")["pid"]
    try:
        unmount(given.point)
    except PointError as error:
        if error.errno != errno.EBUSY:
            raise
        print(
            f"{given.point} is used: somebody has a file of it open or stands in a folder of it. All that was written is stored. "
            f"See who it is: fuser -vm {given.point}",
            file=sys.stderr,
        )
        return _FAILED
    wait_for_end(agent)
    return 0


def _status(given: argparse.Namespace) -> int:
    _print(last(given.run, given.point, "status"))
    return 0


def _metrics(given: argparse.Namespace) -> int:
    for line in ask(given.run, given.point, "metrics", mount=str(given.point)):
        sys.stdout.write(line.get("text", ""))
    return 0


def _warmup(given: argparse.Namespace) -> int:
    lines = given.file.read().splitlines() if given.file else []
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
        print(failure, file=sys.stderr)
    return _FAILED if told.get("failed") else 0


def _clear(given: argparse.Namespace) -> int:
    for line in ask(given.run, given.point, "clear", paths=given.paths):
        if "cleared" in line:
            print(f"{line['cleared']} files will be fetched anew")
    return 0


def _resolve(given: argparse.Namespace) -> int:
    done = [
        line["resolved"]
        for line in ask(given.run, given.point, "resolve", paths=given.paths, take=given.take)
        if "resolved" in line
    ]
    print(f"{sum(done)} files are resolved")
    return 0 if all(done) else _FAILED


def _clean(given: argparse.Namespace) -> int:
    clean(given.folder)
    return 0


def _print(document: dict[str, Any]) -> None:
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    sys.exit(main())
