// SPDX-License-Identifier: Apache-2.0

package cacheaffinity

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

func nodeCacheObject(name string, spec, status map[string]any) *unstructured.Unstructured {
	object := map[string]any{
		"apiVersion": "paddleflow.org/v1alpha1",
		"kind":       "NodeCache",
		"metadata":   map[string]any{"name": name},
		"spec":       spec,
	}
	if status != nil {
		object["status"] = status
	}
	return &unstructured.Unstructured{Object: object}
}

func statusAt(observed time.Time, cached, total int64) map[string]any {
	return map[string]any{
		"observedTime": observed.Format(time.RFC3339),
		"fileSystems":  []any{map[string]any{"fileSystem": imagenet, "cachedBytes": cached, "cachedFiles": int64(7), "totalBytes": total}},
	}
}

func TestParseReport(t *testing.T) {
	for name, test := range map[string]struct {
		object *unstructured.Unstructured
		err    string
	}{
		"whole":             {object: nodeCacheObject("a", map[string]any{"nodeName": "a"}, statusAt(noon, 5, 10))},
		"name alone":        {object: nodeCacheObject("a", map[string]any{}, statusAt(noon, 5, 10))},
		"for another node":  {object: nodeCacheObject("a", map[string]any{"nodeName": "b"}, statusAt(noon, 5, 10)), err: "spec.nodeName"},
		"without a status":  {object: nodeCacheObject("a", map[string]any{"nodeName": "a"}, nil), err: "status.observedTime"},
		"not a time":        {object: nodeCacheObject("a", nil, map[string]any{"observedTime": "noon"}), err: "status.observedTime"},
		"not a node's name": {object: nodeCacheObject("a", map[string]any{"nodeName": int64(3)}, nil), err: "cannot convert"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := parseReport(test.object)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("error is %v, want one about %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.node != "a" || !r.observed.Equal(noon) || len(r.fileSystems) != 1 || r.fileSystems[0] != (cachedFileSystem{imagenet, 5, 10}) {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestStoreBuildsHoldingsOnlyWhenSomethingChanged(t *testing.T) {
	store := newReportStore()
	if held := store.holdings(noon, time.Minute); held != nil {
		t.Fatalf("an empty store holds %v", held)
	}
	store.put(nodeCacheObject("a", nil, statusAt(noon, 5, 10)))
	first := store.holdings(noon, time.Minute)
	if first[imagenet].byNode["a"] != 5 {
		t.Fatalf("got %v", first)
	}
	first["marker"] = holding{}
	if _, same := store.holdings(noon.Add(time.Second), time.Minute)["marker"]; !same {
		t.Error("built anew although nothing changed")
	}
	if _, same := store.holdings(noon.Add(2*time.Minute), time.Minute)["marker"]; same {
		t.Error("kept although the report expired")
	}
	if held := store.holdings(noon.Add(2*time.Minute), time.Hour); held[imagenet].byNode["a"] != 5 {
		t.Errorf("a longer maxAge finds %v", held)
	}
	store.put(nodeCacheObject("a", nil, map[string]any{"observedTime": "broken"}))
	if held := store.holdings(noon, time.Minute); len(held) != 0 {
		t.Errorf("a report that became unreadable still counts: %v", held)
	}
	store.put(nodeCacheObject("a", nil, statusAt(noon, 5, 10)))
	store.remove(nodeCacheObject("a", nil, nil))
	if held := store.holdings(noon, time.Minute); len(held) != 0 {
		t.Errorf("a removed report still counts: %v", held)
	}
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("never happened: %s", what)
}

func TestWatchWaitsForTheDefinition(t *testing.T) {
	kinds := map[schema.GroupVersionResource]string{nodeCaches: "NodeCacheList"}
	now := time.Now()
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds,
		nodeCacheObject("a", map[string]any{"nodeName": "a"}, statusAt(now, 5, 10)))
	var installed atomic.Bool
	var refused atomic.Int32
	client.PrependReactor("list", "nodecaches", func(clienttesting.Action) (bool, runtime.Object, error) {
		if installed.Load() {
			return false, nil, nil
		}
		refused.Add(1)
		return true, nil, apierrors.NewNotFound(nodeCaches.GroupResource(), "")
	})

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	store := newReportStore()
	store.watch(ctx, client)
	held := func() int64 { return store.holdings(time.Now(), time.Minute)[imagenet].byNode["a"] }

	eventually(t, "a second try while the definition is absent", func() bool { return refused.Load() >= 2 })
	if tries := refused.Load(); tries > 5 {
		t.Errorf("%d tries within seconds: the retries do not back off", tries)
	}
	installed.Store(true)
	eventually(t, "the report is read once the definition is there", func() bool { return held() == 5 })

	objects := client.Resource(nodeCaches)
	if _, err := objects.Update(ctx, nodeCacheObject("a", nil, statusAt(now, 8, 10)), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an update is seen", func() bool { return held() == 8 })
	if err := objects.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a deletion is seen", func() bool { return held() == 0 })
}

func TestStartWithoutAConfigurationDoesNothing(t *testing.T) {
	newReportStore().start(nil)
}
