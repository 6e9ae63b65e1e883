// SPDX-License-Identifier: Apache-2.0

// Package plugins lists what this project adds to Volcano's scheduler. A new plugin or action gets its own folder here
// and one line below.
package plugins

import (
	"volcano.sh/volcano/pkg/scheduler/framework"

	"paddleflow.org/volcano/plugins/cacheaffinity"
)

// builders are our scheduler plugins by the names that the scheduler's configuration uses.
var builders = map[string]framework.PluginBuilder{
	cacheaffinity.PluginName: cacheaffinity.New,
}

// actions are our scheduler actions.
var actions []framework.Action

// Register makes our plugins and actions known to the scheduler, beside Volcano's own.
func Register() {
	for name, builder := range builders {
		framework.RegisterPluginBuilder(name, builder)
	}
	for _, action := range actions {
		framework.RegisterAction(action)
	}
}
