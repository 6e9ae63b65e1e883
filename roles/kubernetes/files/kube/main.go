// SPDX-License-Identifier: Apache-2.0

// Command kube is Kubernetes, etcd and CoreDNS in one binary. It does what it is called: link it as kubelet, etcd and so
// on, or name the program first, as in `kube kubelet --help`. The programs share most of their code, so one binary is a
// quarter of the size of ten.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// program is one of the programs. run does not return to a caller that needs a result: it exits as upstream's main does.
type program struct {
	name string
	run  func()
	// goFlags says which of the flags that packages put on the global command line belong to the program; nil: none.
	goFlags func(name string) bool
	// versionFlag is set for the programs that take --version from Kubernetes' version package.
	versionFlag bool
	// metrics says which of the metrics in Prometheus' default registry belong to the program; nil: it does not show any.
	metrics func(name string) bool
	// prefixMatching lets users shorten subcommands.
	prefixMatching bool
}

func programs() []program {
	return slices.Concat(kubernetesPrograms, etcdPrograms, corednsPrograms)
}

// choose finds the program by the name of the binary or else by the first argument, and drops that argument.
func choose(known []program, arguments []string) (program, []string, bool) {
	for range 2 {
		if len(arguments) == 0 {
			break
		}
		for _, p := range known {
			if p.name == filepath.Base(arguments[0]) {
				return p, arguments, true
			}
		}
		arguments = arguments[1:]
	}
	return program{}, nil, false
}

// isolate removes from the process what packages of other programs have set up while they were initialised: each program
// shows and takes the flags of upstream's own binary, no more.
func isolate(p program) {
	all := flag.CommandLine
	flag.CommandLine = flag.NewFlagSet(p.name, flag.ExitOnError)
	all.VisitAll(func(f *flag.Flag) {
		if p.goFlags != nil && p.goFlags(f.Name) {
			flag.CommandLine.Var(f.Value, f.Name, f.Usage)
		}
	})
	if !p.versionFlag {
		pflag.CommandLine = pflag.NewFlagSet(p.name, pflag.ExitOnError)
	}
	if p.metrics != nil {
		keepMetrics(p.metrics)
	}
	cobra.EnablePrefixMatching = p.prefixMatching
}

func usage(to io.Writer, known []program) {
	fmt.Fprintln(to, "usage: kube PROGRAM [ARGUMENTS], or a link to it named like the program. Programs:")
	for _, p := range known {
		fmt.Fprintln(to, "  "+p.name)
	}
}

func main() {
	known := programs()
	p, arguments, found := choose(known, os.Args)
	if !found {
		usage(os.Stderr, known)
		os.Exit(2)
	}
	os.Args = arguments
	isolate(p)
	p.run()
}
