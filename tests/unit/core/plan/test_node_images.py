# SPDX-License-Identifier: Apache-2.0
"""Images that were imported on a node, as containerd lists them."""

from __future__ import annotations

from paddleflow_core.plan.node_images import LABEL, Changes, changes

REPOSITORY = "localhost/paddleflow"
NEW, OLD, OLDER = (f"{REPOSITORY}/volcano:{tag}" for tag in ("new", "old", "older"))
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


REPLACED = f"io.cri-containerd.image=managed,{LABEL}"


def listed(labels: str = "-", **digests: list[str]) -> str:
    rows = [
        f"{ref} {MANIFEST} sha256:{digest} 9.1 MiB linux/amd64 {labels if ref != NEW else '-'}"
        for digest, refs in digests.items()
        for ref in refs
    ]
    return "\n".join(["REF TYPE DIGEST SIZE PLATFORMS LABELS", *rows, ""])


def running(*images: str) -> str:
    return "\n".join(["CONTAINER IMAGE RUNTIME", *(f"c{n} {one} runc.v2" for n, one in enumerate(images)), ""])


def test_a_node_without_images_lacks_all() -> None:
    assert changes("", "", [NEW], REPOSITORY) == Changes([NEW], [], [])


def test_an_image_that_is_there_is_neither_missing_nor_stale() -> None:
    assert changes(listed(a=[NEW]), running(), [NEW], REPOSITORY) == Changes([], [], [])


def test_the_release_before_stays_and_is_labelled_once() -> None:
    replaced = [{"ref": OLD, "label": f"{LABEL}=new"}]
    assert changes(listed(b=[OLD]), running(), [NEW], REPOSITORY) == Changes([NEW], replaced, [])
    assert changes(listed(a=[NEW], b=[OLD]), running(), [NEW], REPOSITORY) == Changes([], replaced, [])
    labelled = listed(f"{REPLACED}=new", a=[NEW], b=[OLD])
    assert changes(labelled, running(), [NEW], REPOSITORY) == Changes([], [], [])


def test_after_a_way_back_the_release_that_ran_is_the_one_before() -> None:
    back = listed(f"{REPLACED}=new", b=[OLD])
    assert changes(back, running(), [OLD], REPOSITORY) == Changes([], [{"ref": OLD, "label": f"{LABEL}="}], [])


def test_the_release_before_that_goes_by_all_its_names() -> None:
    old = [OLD, "sha256:config", f"{REPOSITORY}/volcano@sha256:b"]
    images = listed(f"{REPLACED}=newer", a=[NEW], b=old)
    assert changes(images, running(NEW), [NEW], REPOSITORY) == Changes([], [], sorted(old))


def test_what_a_container_runs_stays_whatever_name_it_goes_by() -> None:
    images = listed(f"{REPLACED}=newer", a=[NEW], b=[OLD, "sha256:config"], c=[OLDER])
    assert changes(images, running("sha256:config"), [NEW], REPOSITORY) == Changes([], [], [OLDER])


def test_an_image_that_no_release_has_any_more_goes_at_once() -> None:
    assert changes(listed(b=[OLD]), running(), [], REPOSITORY) == Changes([], [], [OLD])


def test_images_of_others_stay() -> None:
    images = listed(a=["docker.io/library/busybox:1", "localhost/paddleflow-like/x:1"])
    assert changes(images, running(), [], REPOSITORY) == Changes([], [], [])


def test_two_names_of_one_content_are_one_image() -> None:
    assert changes(listed(a=[NEW, OLD]), running(), [NEW], REPOSITORY) == Changes([], [], [])
    images = listed(f"{REPLACED}=newer", b=[OLDER]) + f"{OLD} {MANIFEST} sha256:b 9.1 MiB linux/amd64 -\n"
    assert changes(images, running(), [NEW], REPOSITORY).stale == []


def test_a_container_without_an_image_uses_none() -> None:
    table = running() + "c9   runc.v2\nc8\n"
    assert changes(listed(b=[OLD]), table, [], REPOSITORY) == Changes([], [], [OLD])
