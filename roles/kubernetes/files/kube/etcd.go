// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"

	"go.etcd.io/etcd/etcdctl/v3/ctlv3"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

var etcdPrograms = []program{
	{name: "etcd", metrics: func(name string) bool { return !corednsMetric(name) }, run: func() { etcdmain.Main(os.Args) }},
	{name: "etcdctl", run: ctlv3.MustStart, prefixMatching: true},
}
