# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Which imported images a node lacks, and which of earlier releases nothing runs any more.

Nobody can pull an imported image again, so the kubelet must not collect it; then somebody else has to.
"""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Collection


class Changes(t.NamedTuple):
    missing: list[str]
    stale: list[str]


def changes(images: str, containers: str, wanted: Collection[str], repository: str) -> Changes:
    """The names to import, and the names to remove: all that an image of the repository goes by.

    :param images: what ``ctr images list`` printed
    :param containers: what ``ctr containers list`` printed
    """
    # containerd's CRI names an image by its digest and by its configuration's as well, and a container by any of them.
    digests = {row[0]: row[2] for row in _rows(images, 3)}
    used = {digests.get(row[1]) for row in _rows(containers, 2)}
    kept = used | {digests.get(ref) for ref in wanted}
    ours = {digest for ref, digest in digests.items() if ref.startswith(f"{repository}/")}
    return Changes(
        [ref for ref in wanted if ref not in digests],
        sorted(ref for ref, digest in digests.items() if digest in ours - kept),
    )


def _rows(table: str, columns: int) -> list[list[str]]:
    """Without the header; a row's later columns hold blanks, and may be empty."""
    rows = [line.split() for line in table.splitlines()[1:]]
    return [row for row in rows if len(row) >= columns]
