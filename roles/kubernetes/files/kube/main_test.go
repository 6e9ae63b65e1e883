// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/metrics"
)

func TestChoose(t *testing.T) {
	known := []program{{name: "kubelet"}, {name: "kubectl"}}
	for _, test := range []struct {
		arguments []string
		name      string
		rest      []string
	}{
		{[]string{"/usr/bin/kubelet", "--v=2"}, "kubelet", []string{"/usr/bin/kubelet", "--v=2"}},
		{[]string{"kube", "kubectl", "get", "pods"}, "kubectl", []string{"kubectl", "get", "pods"}},
		{[]string{"kubectl", "kubelet"}, "kubectl", []string{"kubectl", "kubelet"}},
		{[]string{"kube", "help", "kubelet"}, "", nil},
		{[]string{"kube"}, "", nil},
		{nil, "", nil},
	} {
		p, rest, found := choose(known, test.arguments)
		if p.name != test.name || !slices.Equal(rest, test.rest) || found != (test.name != "") {
			t.Errorf("%q chooses %q with %q", test.arguments, p.name, rest)
		}
	}
}

func TestBuildFileNamesEveryProgram(t *testing.T) {
	text, err := os.ReadFile("build.json")
	if err != nil {
		t.Fatal(err)
	}
	var build struct{ Links map[string][]string }
	if err := json.Unmarshal(text, &build); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range programs() {
		names = append(names, p.name)
	}
	if links := build.Links["kube"]; !slices.Equal(links, names) {
		t.Errorf("build.json links %v, the programs are %v", links, names)
	}
}

func TestDirectivesKeepUpstreamsOrderAndAreLinked(t *testing.T) {
	last := -1
	linked := caddy.ListPlugins()["others"]
	for _, name := range directives {
		at := slices.Index(dnsserver.Directives, name)
		if name != "template" { // which is the exception that directives explains
			if at <= last {
				t.Errorf("%s is out of order", name)
			}
			last = at
		}
		if !slices.Contains(linked, "dns."+name) {
			t.Errorf("%s is not linked", name)
		}
	}
}

func TestWhatNobodyKnowsIsAnsweredAfterTheCluster(t *testing.T) {
	if slices.Index(directives, "template") < slices.Index(directives, "kubernetes") {
		t.Error("template would answer for the cluster's own names")
	}
}

func TestMetricsOfOtherProgramsAreHidden(t *testing.T) {
	registerer, gatherer := prometheus.DefaultRegisterer, prometheus.DefaultGatherer
	defer func() { prometheus.DefaultRegisterer, prometheus.DefaultGatherer = registerer, gatherer }()
	keepMetrics(func(name string) bool { return corednsMetric(name) || runtimeMetric(name) })
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{}
	for _, family := range families {
		kept[family.GetName()] = family.GetType().String()
	}
	for _, name := range []string{"coredns_panics_total", "go_goroutines", "process_start_time_seconds"} {
		if kept[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if kept["go_gc_duration_seconds"] != "SUMMARY" {
		t.Errorf("go_gc_duration_seconds is a %s", kept["go_gc_duration_seconds"])
	}
	for name := range kept {
		if strings.HasPrefix(name, "etcd_") {
			t.Errorf("%s is shown", name)
		}
	}
}

// client-go takes metrics once, and packages of both Kubernetes and CoreDNS offer theirs while they are initialised.
// The servers of Kubernetes need theirs; CoreDNS goes without the three about its calls to the API server.
func TestClientMetricsAreThoseOfKubernetes(t *testing.T) {
	owner := reflect.TypeOf(metrics.RequestResult).Elem().PkgPath()
	if owner != "k8s.io/component-base/metrics/prometheus/restclient" {
		t.Errorf("client-go reports to %s", owner)
	}
}
