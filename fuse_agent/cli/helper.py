# SPDX-License-Identifier: Apache-2.0
"""What `mount -t paddleflow` and lines of /etc/fstab call: `/sbin/mount.paddleflow SOURCE POINT [-sfnv] [-o OPTIONS]`."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .__main__ import main as command

if TYPE_CHECKING:
    from collections.abc import Sequence

# What mount(8), systemd and the lines of a table have for themselves, and what holds for our mounts anyway.
_OTHERS: Final = re.compile(
    r"defaults|rw|auto|noauto|user|users|nouser|owner|group|nofail|_netdev|nosuid|nodev|exec|async|noatime|nodiratime|relatime|norelatime|"
    r"(x-|X-|comment=).*"
)
# What we cannot keep: better not mounted than other than it was asked for.
_NEVER: Final = {
    "suid": "programs never run as their owner from here",
    "dev": "there are no devices here",
    "noexec": "it cannot be kept from running programs",
    "sync": "a file is stored when it is closed or synced",
    "remount": "unmount it, and mount it anew",
}


def main(words: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(words)
    options = [one for text in given.options for one in text.split(",") if one and not _OTHERS.fullmatch(one)]
    refused = [f"{one}: {_NEVER[one]}" for one in options if one in _NEVER]
    if refused:
        print(f"{given.point} is not mounted. These options cannot be kept: {'; '.join(refused)}.", file=sys.stderr)
        return 1
    own = {"secrets": "", "log": "", "run": given.run}
    for one in list(options):
        name, _equals, value = one.partition("=")
        if name in own:
            own[name] = value
            options.remove(one)
    before = [*(["--run", own["run"]] if own["run"] else []), *(["--logs", given.logs] if given.logs else [])]
    after = [word for name in ("secrets", "log") if own[name] for word in (f"--{name}", own[name])]
    if given.fake:
        return 0
    code = command(
        [
            *before,
            "mount",
            given.source,
            str(given.point),
            "-d",
            *(["-o", ",".join(options)] if options else []),
            *after,
        ]
    )
    return _MOUNT_FAILED if code else 0


# As mount(8) has it.
_MOUNT_FAILED: Final = 32


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mount.paddleflow",
        description="What mount(8) calls for -t paddleflow. Beside the options of a mount: secrets=FILE, log=FILE, run=FOLDER.",
    )
    parser.add_argument("source", help="such as s3://bucket/path")
    parser.add_argument("point", type=Path)
    parser.add_argument("-o", dest="options", action="append", default=[])
    parser.add_argument("-f", dest="fake", action="store_true", help="mount nothing")
    for letter in "snv":
        parser.add_argument(f"-{letter}", action="store_true", help=argparse.SUPPRESS)
    for name in ("--run", "--logs"):
        parser.add_argument(name, default="", help=argparse.SUPPRESS)
    parser.add_argument("-t", dest="type", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
