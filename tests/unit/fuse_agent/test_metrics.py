# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from paddleflow_fuse.metrics import Metrics, Request, Sample, text


def test_operations_are_counted_by_name_and_errno_and_timed_by_name() -> None:
    metrics = Metrics()
    metrics.operation("LOOKUP", 0, 0.00004)
    metrics.operation("LOOKUP", 2, 0.3)
    metrics.operation("LOOKUP", 2, 100)
    shown = text(metrics.samples(), {"mp": "/mnt"})
    assert 'pfs_fuse_ops_total{mp="/mnt",op="LOOKUP",errno="0"} 1\n' in shown
    assert 'pfs_fuse_ops_total{mp="/mnt",op="LOOKUP",errno="2"} 2\n' in shown
    for bound, count in (("5e-05", 1), ("0.2", 1), ("0.5", 2), ("30.0", 2), ("+Inf", 3)):
        assert (
            f'pfs_fuse_ops_durations_histogram_seconds_bucket{{mp="/mnt",op="LOOKUP",le="{bound}"}} {count}\n' in shown
        )
    assert 'seconds_count{mp="/mnt",op="LOOKUP"} 3\n' in shown
    assert shown.count("# TYPE pfs_fuse_ops_durations_histogram_seconds histogram\n") == 1


def test_counters_have_labels() -> None:
    metrics = Metrics()
    metrics.count("object_request_errors_total", code="503")
    metrics.count("object_request_errors_total", code="503")
    metrics.count("blockcache_hit_bytes", 7)
    assert metrics.value("object_request_errors_total", code="503") == 2
    assert text(metrics.samples(), {}) == (
        "# TYPE pfs_blockcache_hit_bytes counter\npfs_blockcache_hit_bytes{} 7\n"
        '# TYPE pfs_object_request_errors_total counter\npfs_object_request_errors_total{code="503"} 2\n'
    )


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
    assert text([Sample("a", 1)], {"mp": '/a"b\\c\nd'}) == '# TYPE pfs_a gauge\npfs_a{mp="/a\\"b\\\\c\\nd"} 1\n'
