// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"slices"
	_ "time/tzdata" // time zones of CronJobs

	"github.com/spf13/cobra"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubeadmerrors "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var kubernetesPrograms = []program{
	{name: "kube-apiserver", versionFlag: true, run: component(apiserver.NewAPIServerCommand)},
	{name: "kube-controller-manager", versionFlag: true, run: component(controllermanager.NewControllerManagerCommand)},
	{name: "kube-scheduler", versionFlag: true, run: component(func() *cobra.Command { return scheduler.NewSchedulerCommand() })},
	{name: "kubelet", versionFlag: true, goFlags: cadvisorFlag, run: component(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) })},
	{name: "kube-proxy", versionFlag: true, goFlags: machineFlag, run: component(proxy.NewProxyCommand)},
	{name: "kubectl", run: runKubectl},
	{name: "kubeadm", run: func() { kubeadmerrors.HandleError(kubeadm.Run()) }},
}

// cadvisorFlag tells the flags of cAdvisor, which lives in the kubelet: all but those of CoreDNS.
func cadvisorFlag(name string) bool { return !slices.Contains(corednsFlags, name) }

// machineFlag tells the part of them that kube-proxy has.
func machineFlag(name string) bool { return name == "boot_id_file" || name == "machine_id_file" }

// component runs a command the way all servers of Kubernetes do.
func component(newCommand func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(newCommand())) }
}

func runKubectl() {
	// Logging has to work while the command is being built, before its flags are parsed.
	_, _ = logs.GlogSetter(kubectl.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}
