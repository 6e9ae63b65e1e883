// SPDX-License-Identifier: Apache-2.0

package cacheaffinity

import "time"

// report is what one node says about its cache: the NodeCache object, reduced to what placement needs.
type report struct {
	node        string
	observed    time.Time
	fileSystems []cachedFileSystem
}

// cachedFileSystem is one file system in a report. total is 0 when the size of the data set is not known.
type cachedFileSystem struct {
	key    string // "<namespace>/<name>"
	cached int64
	total  int64
}

// holding is who holds how much of one file system.
type holding struct {
	size   int64            // of the data set
	byNode map[string]int64 // cached bytes, only nodes that hold some, never more than size
}

// holdings is keyed by file system. It is built once from the reports and then only read.
type holdings map[string]holding

// fresh says whether a report of that time still counts. A time far in the future is as wrong as an old one:
// it comes from a node whose clock is off, and would otherwise never expire.
func fresh(observed, now time.Time, maxAge time.Duration) bool {
	age := now.Sub(observed)
	return age <= maxAge && age >= -maxAge
}

// newHoldings turns reports into holdings and says until when they are right if no new report comes.
func newHoldings(reports map[string]report, now time.Time, maxAge time.Duration) (holdings, time.Time) {
	result := holdings{}
	validUntil := now.Add(maxAge)
	largest := map[string]int64{}
	for _, r := range reports {
		if !fresh(r.observed, now, maxAge) {
			continue
		}
		if end := r.observed.Add(maxAge); end.Before(validUntil) {
			validUntil = end
		}
		for _, fs := range r.fileSystems {
			h, found := result[fs.key]
			if !found {
				h.byNode = map[string]int64{}
			}
			h.size = max(h.size, fs.total)
			if fs.cached > 0 {
				h.byNode[r.node] = max(h.byNode[r.node], fs.cached)
				largest[fs.key] = max(largest[fs.key], fs.cached)
			}
			result[fs.key] = h
		}
	}
	for key, h := range result {
		if h.size <= 0 {
			// Nobody knows how large the data set is: the node that holds most of it sets the scale.
			h.size = largest[key]
		}
		for node, cached := range h.byNode {
			// More than everything means that a known size is out of date; it must not outweigh other file systems.
			h.byNode[node] = min(cached, h.size)
		}
		result[key] = h
	}
	return result, validUntil
}

// scores gives each node that holds some of the file systems its score from 0 to 100: the share of all their bytes
// that it holds. Nodes that hold nothing are left out. File systems that no report names do not count.
func (h holdings) scores(fileSystems []string) map[string]float64 {
	var size int64
	for _, key := range fileSystems {
		size += h[key].size
	}
	if size <= 0 {
		return nil
	}
	result := map[string]float64{}
	for _, key := range fileSystems {
		for node, cached := range h[key].byNode {
			result[node] += 100 * float64(cached) / float64(size)
		}
	}
	for node, score := range result {
		result[node] = min(max(score, 0), 100) // rounding may exceed 100 by a hair
	}
	return result
}
