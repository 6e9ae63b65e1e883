// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"testing"

	_ "volcano.sh/volcano/pkg/scheduler/actions"
	"volcano.sh/volcano/pkg/scheduler/framework"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"
)

// The scheduler's registries overwrite silently: a name of ours must not hide one of Volcano's.
func TestRegisterAddsAndHidesNothing(t *testing.T) {
	for name := range builders {
		if _, taken := framework.GetPluginBuilder(name); taken {
			t.Errorf("Volcano has a plugin %s already", name)
		}
	}
	for _, action := range actions {
		if _, taken := framework.GetAction(action.Name()); taken {
			t.Errorf("Volcano has an action %s already", action.Name())
		}
	}
	Register()
	for name, builder := range builders {
		if _, found := framework.GetPluginBuilder(name); !found {
			t.Errorf("plugin %s is not registered", name)
		}
		if got := builder(nil).Name(); got != name {
			t.Errorf("the plugin registered as %s calls itself %s", name, got)
		}
	}
	for _, action := range actions {
		if _, found := framework.GetAction(action.Name()); !found {
			t.Errorf("action %s is not registered", action.Name())
		}
	}
}
