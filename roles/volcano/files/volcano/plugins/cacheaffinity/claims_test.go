// SPDX-License-Identifier: Apache-2.0

package cacheaffinity

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"volcano.sh/volcano/pkg/scheduler/util"
)

// readerOf returns a reader that knows the given claims and volumes.
func readerOf(t *testing.T, objects ...any) claimReader {
	t.Helper()
	claims := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	volumes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, object := range objects {
		index := claims
		if _, isVolume := object.(*corev1.PersistentVolume); isVolume {
			index = volumes
		}
		if err := index.Add(object); err != nil {
			t.Fatal(err)
		}
	}
	return claimReader{claims: corelisters.NewPersistentVolumeClaimLister(claims), volumes: corelisters.NewPersistentVolumeLister(volumes)}
}

func TestReadClaims(t *testing.T) {
	data, dataVolume := volume("data", driverName, imagenet, "Require")
	again, againVolume := volume("again", driverName, imagenet, "")
	other, otherVolume := volume("other", "nfs.example.org", corpus, "Require")
	ignored, ignoredVolume := volume("ignored", driverName, corpus, "Ignore")
	unnamed, unnamedVolume := volume("unnamed", driverName, "", "")
	lost, _ := volume("lost", driverName, corpus, "")
	scratch, scratchVolume := volume("trainer-scratch", driverName, corpus, "")
	unbound := util.BuildPVC("team", "unbound", nil, "")
	local, localVolume := volume("local", driverName, corpus, "")
	localVolume.Spec.CSI = nil

	reader := readerOf(t, data, dataVolume, again, againVolume, other, otherVolume, ignored, ignoredVolume,
		unnamed, unnamedVolume, lost, scratch, scratchVolume, unbound, local, localVolume)
	pod := util.BuildPod("team", "trainer", "", corev1.PodPending, nil, "", nil, nil)
	if hasClaims(pod) || hasClaims(nil) {
		t.Error("claims found where there are none")
	}
	for _, name := range []string{"data", "again", "other", "ignored", "unnamed", "lost", "unbound", "local", "missing"} {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes,
		corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
		corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})

	want := []claim{
		{name: "team/data", fileSystem: imagenet, require: true},
		{name: "team/again", fileSystem: imagenet},
		{name: "team/trainer-scratch", fileSystem: corpus},
	}
	if got := reader.read(pod, noon); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := fileSystems(want); !slices.Equal(got, []string{imagenet, corpus}) {
		t.Errorf("file systems are %v", got)
	}
	if !hasClaims(pod) {
		t.Error("no claims found")
	}
}
