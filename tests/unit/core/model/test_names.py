# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paddleflow_core.model import names


@pytest.mark.parametrize(
    ("field", "option"),
    [
        ("url", "url"),
        ("maxRunningJobs", "max_running_jobs"),
        ("podIPs", "pod_ips"),
        ("extraFS", "extra_fs"),
        ("s3ForcePathStyle", "s3_force_path_style"),
        ("imagePullSecrets", "image_pull_secrets"),
        ("max", "max"),
        ("attr-cache", "attr_cache"),
        ("kerberos.data.protection", "kerberos_data_protection"),
        ("juiceFSMountOptions", "juice_fs_mount_options"),
    ],
)
def test_one_function_names_options_and_flags(field: str, option: str) -> None:
    assert names.option(field) == option
    assert names.flag(field) == "--" + option.replace("_", "-")


@pytest.mark.parametrize("name", ["a", "fs-root-data", "a--b", "0", "x" * 63])
def test_a_label_is_its_own_slug(name: str) -> None:
    assert names.slug(name) == name


def test_what_is_no_label_gets_a_digest_of_itself() -> None:
    assert names.slug("fs-root-Data_1") == "fs-root-data-1-905ff1bd"
    assert names.slug("fs-root-data_1") != names.slug("fs-root-data-1")
    assert re.fullmatch(r"[0-9a-f]{8}", names.slug("___"))


@given(st.text(st.characters()), st.integers(min_value=10, max_value=63))
def test_every_name_has_a_slug_that_is_a_label_of_the_length(name: str, limit: int) -> None:
    assert re.fullmatch(names.LABEL, names.slug(name, limit))
    assert len(names.slug(name, limit)) <= limit


@given(st.text(alphabet="aA_-.", max_size=6), st.text(alphabet="aA_-.", max_size=6))
def test_two_names_never_share_a_slug(one: str, other: str) -> None:
    assert (names.slug(one) == names.slug(other)) == (one == other)
