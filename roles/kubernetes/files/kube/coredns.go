// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/loop"
	_ "github.com/coredns/coredns/plugin/metrics"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
	_ "github.com/coredns/coredns/plugin/template"
)

var corednsPrograms = []program{
	{
		name:    "coredns",
		goFlags: func(name string) bool { return slices.Contains(corednsFlags, name) },
		metrics: func(name string) bool { return corednsMetric(name) || runtimeMetric(name) },
		run:     runCoreDNS,
	},
}

var corednsFlags = []string{"conf", "plugins", "pidfile", "version", "quiet", "dns.port", "p"}

// corednsMetric tells the metrics of CoreDNS. Its three coredns_kubernetes_rest_client_ metrics stay empty here: client-go
// counts for one owner only, and that is Kubernetes.
func corednsMetric(name string) bool { return strings.HasPrefix(name, "coredns_") }

// runtimeMetric tells the metrics of the Go runtime and the process, which every program has.
func runtimeMetric(name string) bool {
	return strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_")
}

// directives are the plugins above, in the order in which a query passes them: the order of upstream's plugin.cfg, but for
// template, which here answers what nobody before it knows.
var directives = []string{
	"reload",
	"bind",
	"ready",
	"health",
	"prometheus",
	"errors",
	"log",
	"loadbalance",
	"cache",
	"hosts",
	"kubernetes",
	"template",
	"loop",
	"forward",
}

func runCoreDNS() {
	dnsserver.Directives = directives
	coremain.Run()
}
