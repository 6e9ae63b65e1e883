// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	componentbaseoptions "k8s.io/component-base/config/options"

	"volcano.sh/volcano/cmd/scheduler/app"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"
	_ "volcano.sh/volcano/pkg/scheduler/util/assert"
	commonutil "volcano.sh/volcano/pkg/util"

	"paddleflow.org/volcano/plugins"
)

func newScheduler() program {
	s := options.NewServerOption()
	return program{
		name: "vc-scheduler",
		flags: func(fs *pflag.FlagSet) {
			s.AddFlags(fs)
			utilfeature.DefaultMutableFeatureGate.AddFlag(fs)
			commonutil.LeaderElectionDefault(&s.LeaderElection)
			s.LeaderElection.ResourceName = commonutil.GenerateComponentName(s.SchedulerNames)
			componentbaseoptions.BindLeaderElectionFlags(&s.LeaderElection, fs)
			s.RegisterOptions()
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
			plugins.Register()
			return app.Run(s)
		},
	}
}
