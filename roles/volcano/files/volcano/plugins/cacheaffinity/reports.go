// SPDX-License-Identifier: Apache-2.0

package cacheaffinity

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

var nodeCaches = schema.GroupVersionResource{Group: "paddleflow.org", Version: "v1alpha1", Resource: "nodecaches"}

// nodeCache holds the fields of a NodeCache object that the plugin reads.
type nodeCache struct {
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		ObservedTime string `json:"observedTime"`
		FileSystems  []struct {
			FileSystem  string `json:"fileSystem"`
			CachedBytes int64  `json:"cachedBytes"`
			TotalBytes  int64  `json:"totalBytes"`
		} `json:"fileSystems"`
	} `json:"status"`
}

// parseReport reads a NodeCache object. Its name is the node: that is what the API server lets a node write.
func parseReport(object *unstructured.Unstructured) (report, error) {
	var parsed nodeCache
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &parsed); err != nil {
		return report{}, err
	}
	node := object.GetName()
	if parsed.Spec.NodeName != "" && parsed.Spec.NodeName != node {
		return report{}, fmt.Errorf("spec.nodeName is %q, allowed is only the name of the object", parsed.Spec.NodeName)
	}
	observed, err := time.Parse(time.RFC3339, parsed.Status.ObservedTime)
	if err != nil {
		return report{}, fmt.Errorf("status.observedTime: %w", err)
	}
	r := report{node: node, observed: observed}
	for _, fs := range parsed.Status.FileSystems {
		r.fileSystems = append(r.fileSystems, cachedFileSystem{key: fs.FileSystem, cached: fs.CachedBytes, total: fs.TotalBytes})
	}
	return r, nil
}

// reportStore keeps the latest report of each node for the life of the process. Sessions only read from it.
type reportStore struct {
	once sync.Once

	mu         sync.Mutex
	reports    map[string]report
	changed    bool
	built      holdings
	builtFor   time.Duration // the maxAge that built was made with
	validUntil time.Time
	trouble    string // the last reason why the objects cannot be read, logged once
}

func newReportStore() *reportStore {
	return &reportStore{reports: map[string]report{}}
}

// start begins to watch NodeCache objects, at the first call only. Without a configuration, as in a scheduler
// that runs on fake clients, there is nothing to watch.
func (s *reportStore) start(config *rest.Config) {
	if config == nil {
		return
	}
	s.once.Do(func() {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			klog.ErrorS(err, "Cannot watch NodeCache objects, jobs are placed without regard to caches")
			return
		}
		s.watch(context.Background(), client)
	})
}

// watch feeds the store until the context ends. The informer retries by itself, from 0.8 s up to 30 s apart, so the
// definition of NodeCache may be installed, removed and installed again while the scheduler runs.
func (s *reportStore) watch(ctx context.Context, client dynamic.Interface) {
	informer := dynamicinformer.NewFilteredDynamicInformer(client, nodeCaches, "", 0, cache.Indexers{}, nil).Informer()
	// Both calls fail only for an informer that runs already.
	_ = informer.SetWatchErrorHandlerWithContext(s.watchFailed)
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    s.put,
		UpdateFunc: func(_, object any) { s.put(object) },
		DeleteFunc: s.remove,
	})
	go informer.RunWithContext(ctx)
}

// watchFailed keeps the log quiet while NodeCache is not installed or not permitted: one line per reason, not per retry.
func (s *reportStore) watchFailed(ctx context.Context, reflector *cache.Reflector, err error) {
	var trouble string
	switch {
	case apierrors.IsNotFound(err):
		trouble = "NodeCache is not installed"
	case apierrors.IsForbidden(err):
		trouble = err.Error()
	default:
		cache.DefaultWatchErrorHandler(ctx, reflector, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if trouble != s.trouble {
		s.trouble = trouble
		klog.InfoS("Jobs are placed without regard to caches until NodeCache objects can be read", "reason", trouble)
	}
}

func (s *reportStore) put(object any) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	r, err := parseReport(u)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = ""
	s.changed = true
	if err != nil {
		delete(s.reports, u.GetName())
		if len(u.Object) > 0 && u.Object["status"] != nil { // a node writes the object first and its status later
			klog.V(2).InfoS("NodeCache ignored", "name", u.GetName(), "reason", err.Error())
		}
		return
	}
	s.reports[r.node] = r
}

func (s *reportStore) remove(object any) {
	name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.reports, name)
	s.changed = true
}

// holdings are what the reports that are not older than maxAge add up to, nil if there are none. They are built anew
// only after a report has come, gone or expired, since sessions open ten times a second.
func (s *reportStore) holdings(now time.Time, maxAge time.Duration) holdings {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.reports) == 0 {
		s.built = nil
		return nil
	}
	if s.changed || s.built == nil || s.builtFor != maxAge || now.After(s.validUntil) {
		s.built, s.validUntil = newHoldings(s.reports, now, maxAge)
		s.builtFor, s.changed = maxAge, false
	}
	return s.built
}
