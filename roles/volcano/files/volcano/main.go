// SPDX-License-Identifier: Apache-2.0

// Command volcano is Volcano's scheduler, controller manager and webhook manager in one binary, with this project's
// scheduler plugins beside Volcano's own. It does what it is called: link it as vc-scheduler, vc-controller-manager and
// vc-webhook-manager, or name the program first, as in `volcano vc-scheduler --help`.
//
// The sources of Volcano come from its module as they are. What stands here are the three short main functions, because
// upstream's cannot be imported.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/automaxprocs/maxprocs"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/version"
)

// program is one of the three. flags adds its flags to the command line; run is called once they are parsed.
type program struct {
	name         string
	flags        func(*pflag.FlagSet)
	printVersion func() bool
	run          func() error
}

func programs() []program {
	return []program{newScheduler(), newControllerManager(), newWebhookManager()}
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

func main() {
	known := programs()
	p, arguments, found := choose(known, os.Args)
	if !found {
		fmt.Fprintln(os.Stderr, "usage: volcano PROGRAM [FLAGS], or a link to it named like the program. Programs:")
		for _, p := range known {
			fmt.Fprintln(os.Stderr, "  "+p.name)
		}
		os.Exit(2)
	}
	os.Args = arguments
	if err := start(p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func start(p program) error {
	// Upstream takes the limit of the container's CPUs from this package too, and then overwrites it.
	if _, err := maxprocs.Set(); err != nil {
		fmt.Fprintln(os.Stderr, "GOMAXPROCS is left alone:", err)
	}
	flag.CommandLine.Init(p.name, flag.ExitOnError)
	pflag.CommandLine.Init(p.name, pflag.ExitOnError)
	klog.InitFlags(nil)
	flushEvery := pflag.Duration("log-flush-frequency", 5*time.Second, "Maximum number of seconds between log flushes")
	p.flags(pflag.CommandLine)
	cliflag.InitFlags()

	if p.printVersion() {
		version.PrintVersionAndExit()
	}
	klog.StartFlushDaemon(*flushEvery)
	defer klog.Flush()
	return p.run()
}
