// SPDX-License-Identifier: Apache-2.0

package cacheaffinity

import (
	"maps"
	"math"
	"testing"
	"time"
)

var noon = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

const (
	imagenet = "train/imagenet"
	corpus   = "train/corpus"
)

func reportOf(node string, age time.Duration, held ...cachedFileSystem) report {
	return report{node: node, observed: noon.Add(-age), fileSystems: held}
}

func reportsOf(list ...report) map[string]report {
	result := map[string]report{}
	for _, r := range list {
		result[r.node] = r
	}
	return result
}

func near(a, b map[string]float64) bool {
	return maps.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) < 1e-9 })
}

func TestScores(t *testing.T) {
	minute := time.Minute
	for name, test := range map[string]struct {
		reports []report
		wanted  []string
		scores  map[string]float64
	}{
		"no reports": {
			wanted: []string{imagenet},
		},
		"no file systems": {
			reports: []report{reportOf("a", minute, cachedFileSystem{imagenet, 50, 100})},
		},
		"share of a known size": {
			reports: []report{
				reportOf("a", minute, cachedFileSystem{imagenet, 25, 100}),
				reportOf("b", minute, cachedFileSystem{imagenet, 100, 100}),
				reportOf("c", minute, cachedFileSystem{imagenet, 0, 100}),
			},
			wanted: []string{imagenet},
			scores: map[string]float64{"a": 25, "b": 100},
		},
		"unknown size: the node that holds most sets the scale": {
			reports: []report{
				reportOf("a", minute, cachedFileSystem{imagenet, 30, 0}),
				reportOf("b", minute, cachedFileSystem{imagenet, 60, 0}),
			},
			wanted: []string{imagenet},
			scores: map[string]float64{"a": 50, "b": 100},
		},
		"a size known to one node counts for all": {
			reports: []report{
				reportOf("a", minute, cachedFileSystem{imagenet, 30, 0}),
				reportOf("b", minute, cachedFileSystem{imagenet, 60, 120}),
			},
			wanted: []string{imagenet},
			scores: map[string]float64{"a": 25, "b": 50},
		},
		"several file systems are summed by bytes": {
			reports: []report{
				reportOf("a", minute, cachedFileSystem{imagenet, 300, 300}),
				reportOf("b", minute, cachedFileSystem{corpus, 100, 100}),
				reportOf("c", minute, cachedFileSystem{imagenet, 150, 300}, cachedFileSystem{corpus, 50, 100}),
			},
			wanted: []string{imagenet, corpus},
			scores: map[string]float64{"a": 75, "b": 25, "c": 50},
		},
		"file systems that the pod does not use do not count": {
			reports: []report{reportOf("a", minute, cachedFileSystem{imagenet, 50, 100}, cachedFileSystem{corpus, 900, 1000})},
			wanted:  []string{imagenet},
			scores:  map[string]float64{"a": 50},
		},
		"a file system that nobody reports does not count": {
			reports: []report{reportOf("a", minute, cachedFileSystem{imagenet, 50, 100})},
			wanted:  []string{imagenet, corpus},
			scores:  map[string]float64{"a": 50},
		},
		"old reports are ignored, also for the size": {
			reports: []report{
				reportOf("a", 11*minute, cachedFileSystem{imagenet, 100, 1000}),
				reportOf("b", 10*minute, cachedFileSystem{imagenet, 40, 0}),
			},
			wanted: []string{imagenet},
			scores: map[string]float64{"b": 100},
		},
		"a clock a little ahead is fine, one far ahead is not": {
			reports: []report{
				reportOf("a", -minute, cachedFileSystem{imagenet, 50, 100}),
				reportOf("b", -time.Hour, cachedFileSystem{imagenet, 100, 100}),
			},
			wanted: []string{imagenet},
			scores: map[string]float64{"a": 50},
		},
		"more than everything is everything, and no more": {
			reports: []report{reportOf("a", minute, cachedFileSystem{imagenet, 5000, 100}, cachedFileSystem{corpus, 0, 100})},
			wanted:  []string{imagenet, corpus},
			scores:  map[string]float64{"a": 50},
		},
		"negative numbers count as nothing": {
			reports: []report{
				reportOf("a", minute, cachedFileSystem{imagenet, -5, -10}),
				reportOf("b", minute, cachedFileSystem{imagenet, 10, -10}),
			},
			wanted: []string{imagenet},
			scores: map[string]float64{"b": 100},
		},
		"a file system listed twice counts once, with the larger number": {
			reports: []report{reportOf("a", minute, cachedFileSystem{imagenet, 20, 100}, cachedFileSystem{imagenet, 40, 100})},
			wanted:  []string{imagenet},
			scores:  map[string]float64{"a": 40},
		},
	} {
		t.Run(name, func(t *testing.T) {
			held, _ := newHoldings(reportsOf(test.reports...), noon, 10*minute)
			if got := held.scores(test.wanted); !near(got, test.scores) {
				t.Errorf("scores are %v, want %v", got, test.scores)
			}
		})
	}
}

func TestHoldingsAreValidUntilTheFirstReportExpires(t *testing.T) {
	reports := reportsOf(reportOf("a", time.Minute), reportOf("b", 4*time.Minute), reportOf("c", time.Hour))
	_, until := newHoldings(reports, noon, 10*time.Minute)
	if want := noon.Add(6 * time.Minute); !until.Equal(want) {
		t.Errorf("valid until %v, want %v", until, want)
	}
}
