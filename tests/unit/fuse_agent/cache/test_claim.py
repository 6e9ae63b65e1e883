# SPDX-License-Identifier: Apache-2.0
"""Who has a folder, who is told so, and what is removed of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from paddleflow_fuse.cache.claim import Claim, claim, clean
from paddleflow_fuse.cache.errors import ForeignError, HeldError, UnsavedError

from tests.support.caches import WHO, keep, killed, opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "fs-root-data" / "0123"


def test_a_folder_has_one_owner_and_whoever_else_comes_is_told_who(folder: Path) -> None:
    held = claim(folder, {"mount": "/mnt/data", "settings": "0123"})
    with pytest.raises(
        HeldError, match=rf"held by process {os.getpid()}, which serves /mnt/data: unmount that first"
    ) as told:
        claim(folder, WHO)
    assert told.value.who["settings"] == "0123"
    assert folder.stat().st_mode & 0o777 == 0o700
    held.release()
    claim(folder, WHO).release()


def test_who_is_killed_holds_nothing(folder: Path) -> None:
    def work(_die: object) -> None:
        claim(folder, WHO)

    killed(work)
    claim(folder, WHO).release()


def test_a_claim_is_handed_over(folder: Path) -> None:
    """The first may be killed: who has a copy of the descriptor has the folder."""
    held = claim(folder, WHO)
    copy = os.dup(held.descriptor)

    def work(_die: object) -> None:
        assert Claim.adopt(folder, os.dup(copy)).stands()

    killed(work)
    held.release()
    with pytest.raises(HeldError, match="which serves /mnt/data"):
        claim(folder, WHO)
    adopted = Claim.adopt(folder, copy)
    assert adopted.who["pid"] == os.getpid()
    assert adopted.who["mount"] == "/mnt/data"
    adopted.release()
    claim(folder, WHO).release()


def test_a_lock_of_a_folder_that_is_no_more_is_refused(folder: Path) -> None:
    held = claim(folder, WHO)
    copy = os.dup(held.descriptor)
    (folder / "owner").unlink()
    assert not held.stands()
    with pytest.raises(ForeignError, match="was removed or made anew meanwhile: claim the folder instead"):
        Claim.adopt(folder, copy)
    again = claim(folder, WHO)
    with pytest.raises(HeldError):
        held.renew()
    again.release()
    held.renew()
    assert held.stands()
    held.release()
    os.close(copy)


def file_of_another(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "thesis.txt").touch()


def owner_of_another(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "owner").write_text("me")


def link(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    (folder.parent / "elsewhere").mkdir()
    folder.symlink_to("elsewhere")


def link_to_nowhere(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.symlink_to("nowhere")


def owner_is_a_link(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder.parent / "elsewhere").touch()
    (folder / "owner").symlink_to("../elsewhere")


def owner_is_a_pipe(folder: Path) -> None:
    folder.mkdir(parents=True)
    os.mkfifo(folder / "owner")


def no_folder(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.touch()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (file_of_another, "holds thesis.txt and is no cache: name an empty folder"),
        (owner_of_another, "holds a file owner that is not of a cache: name another folder"),
        (link, "is a link or no folder: name the folder itself"),
        (link_to_nowhere, "is a link or no folder"),
        (owner_is_a_link, "is no file of a cache"),
        (owner_is_a_pipe, "is no file of ours"),
        (no_folder, "is a link or no folder"),
    ],
)
def test_what_is_not_ours_is_neither_used_nor_removed(folder: Path, make: Callable[[Path], None], said: str) -> None:
    make(folder)
    before = sorted(folder.parent.rglob("*"))
    for act in (lambda: claim(folder, WHO), lambda: clean(folder)):
        with pytest.raises(ForeignError, match=re.escape(said)):
            act()
    assert sorted(folder.parent.rglob("*")) == before


def test_a_folder_of_another_user_is_refused(folder: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a folder away")
    folder.mkdir(parents=True)
    os.chown(folder, 12345, 12345)
    with pytest.raises(ForeignError, match="belongs to another user than 0"):
        claim(folder, WHO)


def test_a_folder_that_is_open_to_others_is_closed(folder: Path) -> None:
    folder.mkdir(parents=True, mode=0o755)
    claim(folder, WHO).release()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_who_was_killed_before_he_had_said_who_he_is_is_no_harm(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "owner").touch()
    claim(folder, WHO).release()


def test_a_cache_is_removed_with_all_that_is_in_it(folder: Path) -> None:
    with opened(folder) as disk:
        keep(disk, "a", 100)
    for name in ("staging", "rates", "uploads"):
        (folder / name).mkdir()
    (folder / "rates" / "rate-limit-read").touch()
    clean(folder)
    assert not folder.exists()
    clean(folder)  # is no harm
    claim(folder, WHO).release()


def test_a_cache_in_use_is_not_removed(folder: Path) -> None:
    with opened(folder) as disk:
        keep(disk, "a", 100)
        with pytest.raises(HeldError):
            clean(folder)
        assert disk.get(b"", 0) is None
        assert list(folder.glob("objects/*/*"))


def test_what_users_wrote_and_is_stored_nowhere_is_not_removed(folder: Path) -> None:
    with opened(folder) as disk:
        keep(disk, "a", 100)
    (folder / "staging" / "deep").mkdir(parents=True)
    (folder / "staging" / "deep" / "results.csv").touch()
    with pytest.raises(UnsavedError, match=r"staging holds 1 files .* mount the file system again, which stores them"):
        clean(folder)
    assert list(folder.glob("objects/*/*"))


def test_what_somebody_put_there_is_not_removed(folder: Path) -> None:
    claim(folder, WHO).release()
    (folder / "thesis.txt").touch()
    with pytest.raises(ForeignError, match=r"holds thesis\.txt, which is not of the cache: move it away first"):
        clean(folder)
    assert (folder / "thesis.txt").exists()


def test_nothing_that_a_link_leads_to_is_removed(folder: Path, tmp_path: Path) -> None:
    claim(folder, WHO).release()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    (folder / "objects").mkdir()
    (folder / "objects" / "aa").symlink_to(tmp_path / "precious")
    (folder / "filling").symlink_to(tmp_path / "precious")
    clean(folder)
    assert (tmp_path / "precious" / "file").exists()
    assert not folder.exists()
