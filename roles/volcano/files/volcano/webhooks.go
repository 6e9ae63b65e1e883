// SPDX-License-Identifier: Apache-2.0

package main

import (
	"volcano.sh/volcano/cmd/webhook-manager/app"
	"volcano.sh/volcano/cmd/webhook-manager/app/options"
	_ "volcano.sh/volcano/pkg/webhooks/admission/cronjobs/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/hypernodes/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/jobflows/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/jobs/mutate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/jobs/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/podgroups/mutate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/podgroups/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/pods/mutate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/pods/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/queues/mutate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/queues/validate"
)

func newWebhookManager() program {
	c := options.NewConfig()
	return program{
		name:         "vc-webhook-manager",
		flags:        c.AddFlags,
		printVersion: func() bool { return c.PrintVersion },
		run: func() error {
			if err := c.CheckPortOrDie(); err != nil {
				return err
			}
			if err := c.ParseCAFiles(nil); err != nil {
				return err
			}
			return app.Run(c)
		},
	}
}
