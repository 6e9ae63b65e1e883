# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Which imported images a node lacks, and which of earlier releases have to go.

Nobody can pull an imported image again, so the kubelet must not collect it; then somebody else has to. The release before
stays, since what waits in a queue may still name its images; that it is the one before, a label on them says.
"""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Collection

LABEL = "paddleflow.org/replaced-by"


class Changes(t.NamedTuple):
    missing: list[str]
    # To be labelled, and to be kept for as long as their label is true.
    replaced: list[dict[str, str]]
    stale: list[str]


def changes(images: str, containers: str, wanted: Collection[str], repository: str) -> Changes:
    """The names to import, those to label, and those to remove: all that an image of the repository goes by.

    :param images: what ``ctr images list`` printed
    :param containers: what ``ctr containers list`` printed
    """
    # containerd's CRI names an image by its digest and by its configuration's as well, and a container by any of them.
    rows = {row[0]: row for row in _rows(images, 3)}
    digests = {ref: row[2] for ref, row in rows.items()}
    used = {digests.get(row[1]) for row in _rows(containers, 2)}
    kept = used | {digests.get(ref) for ref in wanted}
    tags = dict(ref.rpartition(":")[::2] for ref in wanted)
    # One that is wanted again is no longer the release before.
    replaced = [{"ref": ref, "label": f"{LABEL}="} for ref in wanted if ref in rows and _label(rows[ref][-1])]
    stale = set()
    for ref, digest in digests.items():
        name, _colon, _tag = ref.rpartition(":")
        if digest in kept or not ref.startswith(f"{repository}/") or "@" in ref:
            continue
        by = _label(rows[ref][-1])
        if name in tags and not by:
            replaced.append({"ref": ref, "label": f"{LABEL}={tags[name]}"})
        elif by != tags.get(name):
            stale.add(digest)
    held = {digests[one["ref"]] for one in replaced}
    return Changes(
        [ref for ref in wanted if ref not in digests],
        replaced,
        sorted(ref for ref, digest in digests.items() if digest in stale - held),
    )


def _label(labels: str) -> str:
    found = dict(label.partition("=")[::2] for label in labels.split(","))
    return found.get(LABEL, "")


def _rows(table: str, columns: int) -> list[list[str]]:
    """Without the header; a row's later columns hold blanks, and may be empty."""
    rows = [line.split() for line in table.splitlines()[1:]]
    return [row for row in rows if len(row) >= columns]
