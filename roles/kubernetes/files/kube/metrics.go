// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// keepMetrics hides the metrics of other programs. Packages of etcd and CoreDNS register theirs while they are
// initialised, in the one default registry of the process: without this CoreDNS would report an etcd without a leader.
// Kubernetes has a registry of its own.
func keepMetrics(own func(name string) bool) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(ownMetrics{from: prometheus.DefaultGatherer, own: own})
	prometheus.DefaultRegisterer, prometheus.DefaultGatherer = registry, registry
}

// ownMetrics passes on what another registry holds, as far as it is the program's own.
type ownMetrics struct {
	from prometheus.Gatherer
	own  func(name string) bool
}

// Describe says nothing, which tells the registry that the metrics are not known beforehand.
func (ownMetrics) Describe(chan<- *prometheus.Desc) {}

func (o ownMetrics) Collect(to chan<- prometheus.Metric) {
	families, _ := o.from.Gather() // what could be gathered is there even if something failed
	for _, family := range families {
		if !o.own(family.GetName()) {
			continue
		}
		description := prometheus.NewDesc(family.GetName(), family.GetHelp(), nil, nil)
		for _, metric := range family.GetMetric() {
			to <- gathered{description, metric}
		}
	}
}

type gathered struct {
	description *prometheus.Desc
	metric      *dto.Metric
}

func (g gathered) Desc() *prometheus.Desc { return g.description }

func (g gathered) Write(out *dto.Metric) error {
	out.Label, out.TimestampMs = g.metric.Label, g.metric.TimestampMs
	out.Counter, out.Gauge, out.Untyped = g.metric.Counter, g.metric.Gauge, g.metric.Untyped
	out.Summary, out.Histogram = g.metric.Summary, g.metric.Histogram
	return nil
}
