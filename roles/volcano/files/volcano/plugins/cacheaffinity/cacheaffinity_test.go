// SPDX-License-Identifier: Apache-2.0

package cacheaffinity

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"
	"volcano.sh/volcano/pkg/scheduler/uthelper"
	"volcano.sh/volcano/pkg/scheduler/util"
)

func TestParseSettings(t *testing.T) {
	defaults := settings{weight: 1, maxAge: 10 * time.Minute}
	for name, test := range map[string]struct {
		arguments framework.Arguments
		want      settings
		problems  int
	}{
		"none":         {nil, defaults, 0},
		"both":         {framework.Arguments{weightArgument: 5, maxAgeArgument: "90s"}, settings{5, 90 * time.Second}, 0},
		"fraction":     {framework.Arguments{weightArgument: 0.5}, settings{0.5, 10 * time.Minute}, 0},
		"off":          {framework.Arguments{weightArgument: 0}, settings{0, 10 * time.Minute}, 0},
		"negative":     {framework.Arguments{weightArgument: -1}, defaults, 1},
		"not a number": {framework.Arguments{weightArgument: math.NaN()}, defaults, 1},
		"text":         {framework.Arguments{weightArgument: "much"}, defaults, 1},
		"no unit":      {framework.Arguments{maxAgeArgument: 600}, defaults, 1},
		"no time":      {framework.Arguments{maxAgeArgument: "0s"}, defaults, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, problems := parseSettings(test.arguments)
			if got != test.want || len(problems) != test.problems {
				t.Errorf("got %+v and %q, want %+v and %d problems", got, problems, test.want, test.problems)
			}
		})
	}
}

func TestRequired(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon.Add(-time.Minute))}}
	for _, test := range []struct {
		affinity, wait string
		want           bool
	}{
		{"", "", false},
		{"Prefer", "", false},
		{"Require", "", true},
		{"Require", "600", true},
		{"Require", "60", false},
		{"Require", "0", false},
		{"Require", "soon", true},
	} {
		pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			affinityAnnotation: test.affinity, waitAnnotation: test.wait,
		}}}
		if got := required(pvc, pod, noon); got != test.want {
			t.Errorf("%q with wait %q: %v, want %v", test.affinity, test.wait, got, test.want)
		}
	}
}

// volume returns a claim in namespace "team" and the PV that it is bound to.
func volume(name, driver, fileSystem, affinity string) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {
	pvc := util.BuildPVC("team", name, nil, "")
	pvc.Spec.VolumeName = "pv-" + name
	pvc.Annotations = map[string]string{affinityAnnotation: affinity}
	pv := util.BuildPV("pv-"+name, "", nil)
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: name,
		VolumeAttributes: map[string]string{fileSystemAttribute: fileSystem}}
	return pvc, pv
}

// scene is a cluster of three equal nodes and one pod that uses one claim.
type scene struct {
	affinity string // annotation of the claim
	driver   string
	weight   any
	reports  []report
}

func report3(node string, cached int64) report {
	return report{node: node, observed: time.Now(), fileSystems: []cachedFileSystem{{imagenet, cached, 100}}}
}

// open starts a real scheduler session, on a fake cluster, with the gang plugin and ours.
func (s scene) open(t *testing.T) (*uthelper.TestCommonStruct, *framework.Session, *api.TaskInfo) {
	t.Helper()
	if s.driver == "" {
		s.driver = driverName
	}
	pvc, pv := volume("data", s.driver, imagenet, s.affinity)
	plain := util.BuildPVC("team", "unbound", nil, "")
	pod := util.BuildPodWithPVC("team", "trainer", "", corev1.PodPending, api.BuildResourceList("1", "1Gi"), pvc, "group", nil, nil)
	for _, claimed := range []string{"unbound", "data"} {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claimed + "-too", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimed}}})
	}
	store := newReportStore()
	for _, r := range s.reports {
		store.reports[r.node] = r
	}
	var nodes []*corev1.Node
	for _, name := range []string{"a", "b", "c"} {
		nodes = append(nodes, util.BuildNode(name, api.BuildResourceList("4", "8Gi", []api.ScalarResource{{Name: "pods", Value: "10"}}...), nil))
	}
	test := &uthelper.TestCommonStruct{
		Name: t.Name(),
		Plugins: map[string]framework.PluginBuilder{
			gang.PluginName: gang.New,
			PluginName:      func(arguments framework.Arguments) framework.Plugin { return newPlugin(arguments, store) },
		},
		// Else the scheduler counts volumes against a limit that only a CSINode object could set.
		IgnoreProvisioners: sets.New(s.driver),

		Pods:      []*corev1.Pod{pod},
		Nodes:     nodes,
		PVCs:      []*corev1.PersistentVolumeClaim{pvc, plain},
		PVs:       []*corev1.PersistentVolume{pv},
		PodGroups: []*schedulingv1beta1.PodGroup{util.BuildPodGroup("group", "team", "queue", 1, nil, schedulingv1beta1.PodGroupInqueue)},
		Queues:    []*schedulingv1beta1.Queue{util.BuildQueue("queue", 1, nil)},
	}
	yes := true
	arguments := map[string]any{}
	if s.weight != nil {
		arguments[weightArgument] = s.weight
	}
	session := test.RegisterSession([]conf.Tier{{Plugins: []conf.PluginOption{
		{Name: gang.PluginName, EnabledJobReady: &yes, EnabledJobPipelined: &yes},
		{Name: PluginName, EnabledPredicate: &yes, EnabledNodeOrder: &yes, Arguments: arguments},
	}}}, nil)
	t.Cleanup(test.Close)
	for _, job := range session.Jobs {
		for _, task := range job.Tasks {
			return test, session, task
		}
	}
	t.Fatal("the session has no task")
	return nil, nil, nil
}

func TestSessionScoresAndRefuses(t *testing.T) {
	third := []report{report3("a", 10), report3("b", 40)}
	for name, test := range map[string]struct {
		scene   scene
		scores  map[string]float64
		refused []string
	}{
		"preference":           {scene{reports: third}, map[string]float64{"a": 10, "b": 40}, nil},
		"weighted":             {scene{reports: third, weight: 3}, map[string]float64{"a": 30, "b": 120}, nil},
		"no preference":        {scene{reports: third, weight: 0}, nil, nil},
		"no reports":           {scene{affinity: "Require"}, nil, nil},
		"required":             {scene{affinity: "Require", reports: third}, map[string]float64{"a": 10, "b": 40}, []string{"c"}},
		"required, weight 0":   {scene{affinity: "Require", reports: third, weight: 0}, nil, []string{"c"}},
		"required, none holds": {scene{affinity: "Require", reports: []report{report3("a", 0)}}, nil, nil},
		"required, holder is gone": {
			scene{affinity: "Require", reports: []report{report3("gone", 80)}}, nil, nil},
		"ignored":        {scene{affinity: "Ignore", reports: third}, nil, nil},
		"another driver": {scene{driver: "nfs.example.org", affinity: "Require", reports: third}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, session, task := test.scene.open(t)
			scores, err := session.BatchNodeOrderFn(task, session.NodeList)
			if err != nil {
				t.Fatal(err)
			}
			if !near(scores, test.scores) {
				t.Errorf("scores are %v, want %v", scores, test.scores)
			}
			var refused []string
			for name, node := range session.Nodes {
				err := session.PredicateForAllocateAction(task, node)
				if err == nil {
					continue
				}
				refused = append(refused, name)
				if session.PredicateForPreemptAction(task, node) == nil {
					t.Error("preemption would look at the node")
				}
				if want := "claim team/data, which says paddleflow.org/cache-affinity: Require"; !strings.Contains(err.Error(), want) {
					t.Errorf("the reason is %q, want it to say %q", err, want)
				}
			}
			slices.Sort(refused)
			if !slices.Equal(refused, test.refused) {
				t.Errorf("refused are %v, want %v", refused, test.refused)
			}
		})
	}
}

// The scheduler picks at random among equal nodes: the pod must follow its data to each node in turn.
func TestPodLandsOnTheNodeThatHoldsItsData(t *testing.T) {
	for _, affinity := range []string{"", "Require"} {
		for _, node := range []string{"a", "b", "c"} {
			t.Run(fmt.Sprintf("%s on %s", affinity, node), func(t *testing.T) {
				test, _, _ := scene{affinity: affinity, reports: []report{report3(node, 1)}}.open(t)
				test.ExpectBindMap = map[string]string{"team/trainer": node}
				test.ExpectBindsNum = 1
				test.Run([]framework.Action{allocate.New()})
				if err := test.CheckAll(0); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func BenchmarkSessionWithoutReports(b *testing.B) {
	store := newReportStore()
	for b.Loop() {
		store.holdings(noon, time.Minute)
	}
}
