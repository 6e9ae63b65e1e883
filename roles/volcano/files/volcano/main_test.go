// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

func TestChoose(t *testing.T) {
	known := []program{{name: "vc-scheduler"}, {name: "vc-webhook-manager"}}
	for _, test := range []struct {
		arguments []string
		name      string
		rest      []string
	}{
		{[]string{"/usr/bin/vc-scheduler", "--v=2"}, "vc-scheduler", []string{"/usr/bin/vc-scheduler", "--v=2"}},
		{[]string{"volcano", "vc-webhook-manager", "-h"}, "vc-webhook-manager", []string{"vc-webhook-manager", "-h"}},
		{[]string{"volcano", "help", "vc-scheduler"}, "", nil},
		{[]string{"volcano"}, "", nil},
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
	if links := build.Links["volcano"]; !slices.Equal(links, names) {
		t.Errorf("build.json links %v, the programs are %v", links, names)
	}
}
