// SPDX-License-Identifier: Apache-2.0

// Package cacheaffinity places pods on nodes that hold their data.
//
// Nodes report in NodeCache objects how many bytes of which file system they have cached. A node's score for a pod is
// the share of the bytes of the pod's claims that it holds, from 0 to 100, times a weight. A claim annotated with
// `paddleflow.org/cache-affinity: Require` keeps its pods off nodes that hold none of its data.
//
//	plugins:
//	- name: cacheaffinity
//	  arguments:
//	    cacheaffinity.weight: 1     # 0: no preference, Require still holds (enablePredicate: false turns that off)
//	    cacheaffinity.maxAge: 10m   # reports older than this are ignored
package cacheaffinity

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

const (
	// PluginName is the name of the plugin in the scheduler's configuration.
	PluginName = "cacheaffinity"

	weightArgument = PluginName + ".weight"
	maxAgeArgument = PluginName + ".maxAge"

	defaultWeight = 1.0
	defaultMaxAge = 10 * time.Minute
)

type settings struct {
	weight float64
	maxAge time.Duration
}

// parseSettings reads the plugin's arguments. An argument that makes no sense keeps its default and is returned as a
// problem: a typing error must not stop the scheduler.
func parseSettings(arguments framework.Arguments) (settings, []string) {
	s := settings{weight: defaultWeight, maxAge: defaultMaxAge}
	var problems []string
	if value, found := arguments[weightArgument]; found {
		switch weight := value.(type) {
		case int:
			s.weight = float64(weight)
		case float64:
			s.weight = weight
		default:
			problems = append(problems, fmt.Sprintf("%s is %v, want a number", weightArgument, value))
		}
		if !(s.weight >= 0) { // also catches not-a-number
			problems = append(problems, fmt.Sprintf("%s is %v, want 0 or more", weightArgument, value))
			s.weight = defaultWeight
		}
	}
	if value, found := arguments[maxAgeArgument]; found {
		text, _ := value.(string)
		if age, err := time.ParseDuration(text); err != nil || age <= 0 {
			problems = append(problems, fmt.Sprintf("%s is %v, want a duration above 0 such as 10m", maxAgeArgument, value))
		} else {
			s.maxAge = age
		}
	}
	return s, problems
}

var (
	// shared outlives sessions: a plugin object lives for one session only, the watch for the whole process.
	shared = newReportStore()
	// told holds the configuration problems that were logged; the builder runs at each session.
	told sync.Map
)

// New builds the plugin for one session.
func New(arguments framework.Arguments) framework.Plugin {
	return newPlugin(arguments, shared)
}

func newPlugin(arguments framework.Arguments, store *reportStore) *plugin {
	s, problems := parseSettings(arguments)
	for _, problem := range problems {
		if _, known := told.LoadOrStore(problem, true); !known {
			klog.InfoS("Plugin argument replaced by its default", "plugin", PluginName, "problem", problem)
		}
	}
	return &plugin{settings: s, store: store}
}

type plugin struct {
	settings
	store *reportStore
}

func (p *plugin) Name() string { return PluginName }

func (p *plugin) OnSessionOpen(ssn *framework.Session) {
	p.store.start(ssn.ClientConfig())
	now := time.Now()
	held := p.store.holdings(now, p.maxAge)
	if len(held) == 0 {
		return // nothing is cached anywhere: all nodes are alike, and no function of ours is called
	}
	s := &session{
		held:    held,
		present: func(node string) bool { return ssn.Nodes[node] != nil },
		read: claimReader{
			claims:  ssn.InformerFactory().Core().V1().PersistentVolumeClaims().Lister(),
			volumes: ssn.InformerFactory().Core().V1().PersistentVolumes().Lister(),
		},
		now:   now,
		tasks: map[api.TaskID]*wishes{},
	}
	ssn.AddPredicateFn(PluginName, s.check)
	if p.weight > 0 {
		ssn.AddBatchNodeOrderFn(PluginName, func(task *api.TaskInfo, nodes []*api.NodeInfo) (map[string]float64, error) {
			return s.score(task, nodes, p.weight), nil
		})
	}
}

func (p *plugin) OnSessionClose(*framework.Session) {}

// session answers for the tasks of one session. The scheduler asks from several goroutines.
type session struct {
	held    holdings
	present func(node string) bool
	read    claimReader
	now     time.Time

	mu    sync.Mutex
	tasks map[api.TaskID]*wishes
}

// wishes is what one task wants; it does not change within a session.
type wishes struct {
	scores   map[string]float64 // nodes that hold some of its data
	required []claim            // claims that keep it off other nodes
}

func (s *session) wishes(task *api.TaskInfo) *wishes {
	if !hasClaims(task.Pod) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w, known := s.tasks[task.UID]
	if !known {
		claims := s.read.read(task.Pod, s.now)
		w = &wishes{scores: s.held.scores(fileSystems(claims))}
		for _, c := range claims {
			if c.require && s.heldAnywhere(c.fileSystem) {
				w.required = append(w.required, c)
			}
		}
		s.tasks[task.UID] = w
	}
	return w
}

// heldAnywhere is false for data that no ready node holds. Then Require does not bind: somebody has to read the data
// first, and a pod that waits for a cache that only a pod would fill would wait for ever.
func (s *session) heldAnywhere(fileSystem string) bool {
	for node := range s.held[fileSystem].byNode {
		if s.present(node) {
			return true
		}
	}
	return false
}

func (s *session) check(task *api.TaskInfo, node *api.NodeInfo) error {
	w := s.wishes(task)
	if w == nil {
		return nil
	}
	for _, c := range w.required {
		if s.held[c.fileSystem].byNode[node.Name] == 0 {
			// Evicting pods brings no data to the node, so preemption need not look at it.
			return api.NewFitErrWithStatus(task, node, &api.Status{
				Code:   api.UnschedulableAndUnresolvable,
				Plugin: PluginName,
				Reason: fmt.Sprintf("node(s) hold no cached data of claim %s, which says %s: Require", c.name, affinityAnnotation),
			})
		}
	}
	return nil
}

func (s *session) score(task *api.TaskInfo, nodes []*api.NodeInfo, weight float64) map[string]float64 {
	w := s.wishes(task)
	if w == nil || len(w.scores) == 0 {
		return nil
	}
	result := make(map[string]float64, len(w.scores))
	for _, node := range nodes {
		if score, found := w.scores[node.Name]; found {
			result[node.Name] = weight * score
		}
	}
	return result
}
