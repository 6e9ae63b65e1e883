// SPDX-License-Identifier: Apache-2.0

// A Vault with its data in memory, unsealed, on a loopback port: the server's own core and HTTP handlers, and of its
// plugins those that the tests need. It prints its address and root token as one line of JSON, and ends with its input.
package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	hclog "github.com/hashicorp/go-hclog"
	kubernetes "github.com/hashicorp/vault-plugin-auth-kubernetes"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	"github.com/hashicorp/vault/builtin/credential/approle"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/internalshared/configutil"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
)

var (
	engines = plugins{"kv": kv.Factory}
	logins  = plugins{"approle": approle.Factory, "kubernetes": kubernetes.Factory}
)

type plugins map[string]logical.Factory

// What the server asks for its plugins: there are these two kinds.
type registry struct{}

func (registry) of(kind consts.PluginType) plugins {
	switch kind {
	case consts.PluginTypeSecrets:
		return engines
	case consts.PluginTypeCredential:
		return logins
	}
	return nil
}

func (r registry) Contains(name string, kind consts.PluginType) bool {
	_, found := r.of(kind)[name]
	return found
}

func (r registry) Get(name string, kind consts.PluginType) (func() (interface{}, error), bool) {
	factory, found := r.of(kind)[name]
	return func() (interface{}, error) { return factory, nil }, found
}

func (r registry) Keys(kind consts.PluginType) []string {
	var names []string
	for name := range r.of(kind) {
		names = append(names, name)
	}
	return names
}

func (r registry) DeprecationStatus(name string, kind consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, r.Contains(name, kind)
}

func (registry) IsBuiltinEntPlugin(string, consts.PluginType) bool { return false }

func main() {
	logger := hclog.New(&hclog.LoggerOptions{Level: hclog.Error})
	storage, err := inmem.NewInmem(nil, logger)
	must(err)
	core, err := vault.NewCore(&vault.CoreConfig{
		Physical:           storage,
		Logger:             logger,
		DisableMlock:       true,
		BuiltinRegistry:    registry{},
		LogicalBackends:    engines,
		CredentialBackends: logins,
	})
	must(err)
	one := &vault.SealConfig{SecretShares: 1, SecretThreshold: 1}
	made, err := core.Initialize(context.Background(), &vault.InitParams{BarrierConfig: one})
	must(err)
	_, err = core.Unseal(made.SecretShares[0])
	must(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	said := map[string]string{"url": "http://" + listener.Addr().String(), "token": made.RootToken}
	must(json.NewEncoder(os.Stdout).Encode(said))
	properties := &vault.HandlerProperties{Core: core, ListenerConfig: &configutil.Listener{}}
	go func() { must(http.Serve(listener, vaulthttp.Handler.Handler(properties))) }()
	_, err = io.Copy(io.Discard, os.Stdin)
	must(err)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
