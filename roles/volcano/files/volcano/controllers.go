// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sort"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	componentbaseoptions "k8s.io/component-base/config/options"

	"volcano.sh/volcano/cmd/controller-manager/app"
	"volcano.sh/volcano/cmd/controller-manager/app/options"
	_ "volcano.sh/volcano/pkg/controllers/colocationconfig"
	_ "volcano.sh/volcano/pkg/controllers/cronjob"
	"volcano.sh/volcano/pkg/controllers/framework"
	_ "volcano.sh/volcano/pkg/controllers/garbagecollector"
	_ "volcano.sh/volcano/pkg/controllers/hypernode"
	_ "volcano.sh/volcano/pkg/controllers/job"
	_ "volcano.sh/volcano/pkg/controllers/jobflow"
	_ "volcano.sh/volcano/pkg/controllers/jobtemplate"
	_ "volcano.sh/volcano/pkg/controllers/podgroup"
	_ "volcano.sh/volcano/pkg/controllers/queue"
	_ "volcano.sh/volcano/pkg/controllers/sharding"
	commonutil "volcano.sh/volcano/pkg/util"
)

// controllerNames are the controllers that the imports above have registered.
func controllerNames() []string {
	var names []string
	framework.ForeachController(func(controller framework.Controller) {
		names = append(names, controller.Name())
	})
	sort.Strings(names)
	return names
}

func newControllerManager() program {
	s := options.NewServerOption()
	return program{
		name: "vc-controller-manager",
		flags: func(fs *pflag.FlagSet) {
			s.AddFlags(fs, controllerNames())
			utilfeature.DefaultMutableFeatureGate.AddFlag(fs)
			commonutil.LeaderElectionDefault(&s.LeaderElection)
			s.LeaderElection.ResourceName = "vc-controller-manager"
			componentbaseoptions.BindLeaderElectionFlags(&s.LeaderElection, fs)
		},
		printVersion: func() bool { return s.PrintVersion },
		run: func() error {
			if err := s.CheckOptionOrDie(); err != nil {
				return err
			}
			if s.CaCertFile != "" && s.CertFile != "" && s.KeyFile != "" {
				if err := s.ParseCAFiles(nil); err != nil {
					return err
				}
			}
			return app.Run(s)
		},
	}
}
