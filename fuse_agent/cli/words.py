# SPDX-License-Identifier: Apache-2.0
"""What can be said to `paddleflow-fuse`."""

from __future__ import annotations

import argparse
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from paddleflow_core.model import mount as model

from . import bench, mount, mount_options
from .ask import RUN

# As of a supervisor.
UNSAVED = 4
_ENDS = """
exit statuses: 0 it is done; 1 it failed, and says why; 2 it was said wrongly; 3 the mount was given up, since no process stays alive to serve
it; 4 the store does not take files that were written, which are named; 128 and the number of a signal: it was interrupted
"""
_LETTERS = "ufmcog"


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="paddleflow-fuse",
        description="mounts a place of a store as a folder, and asks what serves it",
        epilog=_ENDS,
    )
    made.add_argument("--run", type=Path, default=RUN, help="where agents are asked (%(default)s)")
    made.add_argument("--logs", type=Path, help=argparse.SUPPRESS)  # root's folder of what is mounted with --daemon
    made.add_argument("--version", action="version", version=_version())
    verbs = made.add_subparsers(required=True, metavar="command", dest="command")
    _mounts(verbs)
    _tells(verbs)
    _fetches(verbs)
    return made


def _mounts(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    one = verbs.add_parser(
        "mount", help="mount a place of a store on an empty folder, and serve it",
        formatter_class=argparse.RawDescriptionHelpFormatter, epilog=mount_options.TEXT,
    )  # fmt: skip
    one.add_argument("url", help="such as s3://bucket/path")
    one.add_argument("point", type=Path)
    one.add_argument(
        "-o", dest="options", action="append", default=[], metavar="NAME=VALUE,...",
        help="what is listed below, by name; a name alone is true. Sizes are bytes (20Mi), times seconds (0.5)",
    )  # fmt: skip
    one.add_argument(
        "--secrets",
        type=Path,
        metavar="FILE",
        help="JSON with what is secret, such as accessKey and secretKey, or password; read again when it changes",
    )
    one.add_argument(
        "-d", "--daemon", action="store_true", help="return when it is mounted, and serve in the background"
    )
    one.add_argument("--log", type=Path, help=f"of --daemon ({mount.LOG})")
    one.add_argument("--json", action="store_true", help="log lines of JSON")

    one = verbs.add_parser("run", help="mount what a file of JSON declares, and serve it in the foreground")
    one.add_argument("file", type=Path, help="with url and point, and where they are wanted options and secrets")

    one = verbs.add_parser("umount", help="store what is not stored yet, and unmount")
    one.add_argument("point", type=Path)
    one.add_argument(
        "-f",
        "--force",
        action="store_true",
        help="at once, also while it is used; what is not stored stays in the cache folder",
    )


def _tells(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    one = verbs.add_parser("status", help="what an agent knows of its mount")
    one.add_argument("point", type=Path)
    one.add_argument("--json", action="store_true", help="for programs")

    one = verbs.add_parser(
        "stats", help="a live table of what an agent does, a line for each interval",
        description="Numbers and bytes are of a second, times in milliseconds.",
    )  # fmt: skip
    one.add_argument("point", type=Path)
    one.add_argument(
        "--schema", type=_schema, default="ufco", metavar="LETTERS",
        help="u usage, f fuse (requests of the kernel), m meta (questions about names), c cache, o object (requests to the source), "
        "g the agent itself (%(default)s)",
    )  # fmt: skip
    one.add_argument("--interval", type=_positive, default=1.0, metavar="SECONDS")
    one.add_argument("--count", type=int, default=0, metavar="LINES", help="then end (as long as it is mounted)")
    one.add_argument("-l", dest="more", type=int, default=0, metavar="LEVEL", help="1 for more columns")

    one = verbs.add_parser("metrics", help="what it counts, as Prometheus reads it; .stats in the mount is the same")
    one.add_argument("point", type=Path)

    one = verbs.add_parser("exporter", help="an HTTP endpoint for the metrics of all agents of this machine")
    one.add_argument("--listen", default="127.0.0.1:8993", metavar="ADDRESS:PORT", help="(%(default)s)")


def _fetches(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    one = verbs.add_parser("bench", help="measure a folder, of a mount or any other; what is written there is removed")
    one.add_argument("path", type=Path)
    sizes = bench.Sizes()
    for name, default, text in (
        ("--block-size", sizes.block, "of a read or write of the large file"),
        ("--big-file-size", sizes.big, "of the large file"),
        ("--small-file-size", sizes.small, "of each small file"),
    ):
        one.add_argument(name, type=_size, default=default, metavar="SIZE", help=f"{text}, as 1Mi (%(default)s)")
    one.add_argument("--small-file-count", type=_whole, default=sizes.files, metavar="COUNT", help="(%(default)s)")
    one.add_argument(
        "-p",
        "--threads",
        type=_whole,
        default=sizes.threads,
        help="each with a large file and as many small ones (%(default)s)",
    )
    one.add_argument("--json", action="store_true", help="for programs")

    one = verbs.add_parser("warmup", help="fetch before anybody asks")
    one.add_argument("point", type=Path)
    one.add_argument("paths", nargs="*", help="from the root of the mount; folders with all below them (all of it)")
    one.add_argument(
        "-f", "--file", type=argparse.FileType("r", errors="surrogateescape"), help="one path in each line"
    )
    one.add_argument("-t", "--type", choices=("meta", "data"), default="data")
    one.add_argument("-p", "--threads", type=_whole, default=100, help="files at a time (%(default)s)")
    one.add_argument("-r", "--recursive", action="store_true", help="folders with all below them, which holds anyway")

    one = verbs.add_parser("clear", help="forget what is cached of paths, or all")
    one.add_argument("point", type=Path)
    one.add_argument("paths", nargs="*", help="from the root of the mount; folders with all below them (all of it)")

    one = verbs.add_parser(
        "resolve", help="say what becomes of a file that a newer version overtook (status: conflicts)"
    )
    one.add_argument("point", type=Path)
    one.add_argument(
        "take", choices=("ours", "theirs"), help="ours replaces what is there, theirs stays and ours is removed"
    )
    one.add_argument("paths", nargs="+", help="from the root of the mount")

    one = verbs.add_parser("clean-cache", help="remove cache folders that no agent holds")
    one.add_argument("folder", type=Path, help="of one cache, or the folder of all")
    one.add_argument("--days", type=float, default=0, help="only what nobody used for so long (%(default)s)")

    one = verbs.add_parser(
        "fsck", help="check cache folders that no agent holds; what they hold that is not stored is named"
    )
    one.add_argument("folder", type=Path, help="of one cache, or the folder of all")
    one.add_argument("--quick", action="store_true", help="compare sizes, and read no content")
    one.add_argument(
        "--repair", action="store_true", help="remove what is damaged; it is fetched again when it is wanted"
    )


def _version() -> str:
    try:
        return version("paddleflow")
    except PackageNotFoundError:  # as in a checkout
        return "not installed"


def _schema(text: str) -> str:
    if not text or set(text) - set(_LETTERS):
        raise argparse.ArgumentTypeError(f"{text!r} has letters other than {', '.join(_LETTERS)}")
    return text


def _positive(text: str) -> float:
    if not 0.01 <= (found := float(text)) <= 86400:
        raise argparse.ArgumentTypeError(f"{text} is not from 0.01 to 86400 seconds")
    return found


def _whole(text: str) -> int:
    if (found := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return found


def _size(text: str) -> int:
    try:
        found = model.size(text)
    except ValueError:
        found = 0
    if found < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no size, as 1Mi or 4096")
    return found
