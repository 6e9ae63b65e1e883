# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from paddleflow_fuse.metrics import FAMILIES, Metrics, Request, Sample, text, together

from tests.support.prometheus import read


def test_operations_are_counted_by_name_and_errno_and_timed_by_name() -> None:
    metrics = Metrics()
    metrics.operation("LOOKUP", 0, 0.00004)
    metrics.operation("LOOKUP", 2, 0.3)
    metrics.operation("LOOKUP", 2, 100)
    found = read(text(metrics.samples(), {"mp": "/mnt"}))
    assert found("pfs_fuse_ops_total", op="LOOKUP", errno="0") == 1
    assert found("pfs_fuse_ops_total", op="LOOKUP", errno="2", mp="/mnt") == 2
    seconds = "pfs_fuse_ops_durations_histogram_seconds"
    for bound, count in (("5e-05", 1), ("0.2", 1), ("0.5", 2), ("30.0", 2), ("+Inf", 3)):
        assert found(f"{seconds}_bucket", op="LOOKUP", le=bound) == count
    assert found(f"{seconds}_count", op="LOOKUP") == 3
    assert found(f"{seconds}_sum", op="LOOKUP") == pytest.approx(100.30004)


def test_counters_have_labels() -> None:
    metrics = Metrics()
    metrics.count("object_request_errors_total", code="503")
    metrics.count("object_request_errors_total", code="503")
    metrics.count("blockcache_hit_bytes", 7)
    assert metrics.value("object_request_errors_total", code="503") == 2
    found = read(text(metrics.samples(), {}))
    assert found("pfs_object_request_errors_total", code="503") == 2
    assert found("pfs_blockcache_hit_bytes") == 7


def test_what_is_known_of_a_source_is_timed_by_what_it_was_asked() -> None:
    metrics = Metrics()
    metrics.see("meta_ops_durations_histogram_seconds", 0.5, op="find")
    metrics.see("meta_ops_durations_histogram_seconds", 0.5, op="list")
    found = read(text(metrics.samples(), {}))
    assert found("pfs_meta_ops_durations_histogram_seconds_count", op="find") == 1


@pytest.mark.parametrize(("hits", "misses", "rate"), [(0, 0, 0), (3, 1, 0.75), (0, 2, 0)])
def test_a_rate_of_hits_is_of_all_tiers(hits: int, misses: int, rate: float) -> None:
    metrics = Metrics()
    metrics.count("blockcache_hits", hits, tier="disk")
    metrics.count("blockcache_miss", misses, tier="memory")
    assert read(text(metrics.samples(), {}))("pfs_blockcache_hit_rate") == rate


def test_requests_of_a_source_are_counted_timed_and_their_bytes_too() -> None:
    metrics = Metrics()
    metrics.request(Request("GetObject", 503, seconds=0.3))
    metrics.request(Request("GetObject", 200, again=True, seconds=0.01, received=7))
    metrics.request(Request("PutObject", 0))
    metrics.request(Request("PutObject", 200, again=True, sent=11))
    shown = text(metrics.samples(), {})
    assert 'pfs_object_requests_total{op="GetObject",code="503",retried="false"} 1\n' in shown
    assert 'pfs_object_requests_total{op="GetObject",code="200",retried="true"} 1\n' in shown
    assert 'pfs_object_request_errors_total{code="0"} 1\n' in shown
    assert 'pfs_object_request_durations_histogram_seconds_bucket{op="GetObject",le="0.01"} 1\n' in shown
    assert 'pfs_object_request_durations_histogram_seconds_count{op="GetObject"} 2\n' in shown
    assert "pfs_object_request_data_bytes_GET{} 7\n" in shown
    assert "pfs_object_request_data_bytes_PUT{} 11\n" in shown


def test_what_a_label_says_cannot_break_a_line() -> None:
    odd = '/a"b\\c\nd}'
    assert text([Sample("nodes", 1)], {"mp": odd}).count("\n") == 3
    assert read(text([Sample("nodes", 1)], {"mp": odd}))("pfs_nodes", mp=odd) == 1


def test_every_name_is_described_and_of_a_kind() -> None:
    assert {family.type for family in FAMILIES.values()} <= {"counter", "gauge", "histogram"}
    assert all(family.help for family in FAMILIES.values())


def test_texts_of_several_mounts_are_one_in_which_each_name_is_described_once() -> None:
    texts = [text([Sample("nodes", n), Sample("up", n)], {"mp": f"/{n}"}) for n in (1, 2)]
    found = read(together(texts))
    assert [found("pfs_nodes", mp=f"/{n}") for n in (1, 2)] == [1, 2]
    assert together(texts).count("# TYPE pfs_up gauge\n") == 1
