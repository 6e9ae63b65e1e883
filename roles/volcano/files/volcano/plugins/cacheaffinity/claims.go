// SPDX-License-Identifier: Apache-2.0

package cacheaffinity

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/component-helpers/storage/ephemeral"
)

const (
	driverName          = "fs.paddleflow.org"
	fileSystemAttribute = "fileSystem"

	// affinityAnnotation on a claim says what its users want: Prefer (the default), Require or Ignore.
	affinityAnnotation = "paddleflow.org/cache-affinity"
	// waitAnnotation on a claim that says Require: after so many seconds a pod that found no place may go anywhere.
	// Without it the pod waits for a node that holds data.
	waitAnnotation = "paddleflow.org/cache-wait-seconds"
)

// claim is a claim of a pod whose data our agents may hold.
type claim struct {
	name       string // "<namespace>/<name>"
	fileSystem string
	require    bool
}

// claimReader follows a pod's volumes to their file systems. What cannot be followed has no cached data that we know of:
// whether the pod can run at all with a missing claim is for the volume checks of other plugins to say.
type claimReader struct {
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
}

func claimName(pod *corev1.Pod, volume *corev1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		return ephemeral.VolumeClaimName(pod, volume)
	}
	return ""
}

func hasClaims(pod *corev1.Pod) bool {
	return pod != nil && slices.ContainsFunc(pod.Spec.Volumes, func(volume corev1.Volume) bool {
		return claimName(pod, &volume) != ""
	})
}

func (r claimReader) read(pod *corev1.Pod, now time.Time) []claim {
	var result []claim
	for i := range pod.Spec.Volumes {
		name := claimName(pod, &pod.Spec.Volumes[i])
		if name == "" {
			continue
		}
		pvc, err := r.claims.PersistentVolumeClaims(pod.Namespace).Get(name)
		if err != nil || pvc.Spec.VolumeName == "" || pvc.Annotations[affinityAnnotation] == "Ignore" {
			continue
		}
		pv, err := r.volumes.Get(pvc.Spec.VolumeName)
		if err != nil || pv.Spec.CSI == nil || pv.Spec.CSI.Driver != driverName {
			continue
		}
		if fs := pv.Spec.CSI.VolumeAttributes[fileSystemAttribute]; fs != "" {
			result = append(result, claim{name: pvc.Namespace + "/" + pvc.Name, fileSystem: fs, require: required(pvc, pod, now)})
		}
	}
	return result
}

func required(pvc *corev1.PersistentVolumeClaim, pod *corev1.Pod, now time.Time) bool {
	if pvc.Annotations[affinityAnnotation] != "Require" {
		return false
	}
	seconds, err := strconv.Atoi(pvc.Annotations[waitAnnotation])
	if err != nil || seconds < 0 {
		return true
	}
	return now.Sub(pod.CreationTimestamp.Time) < time.Duration(seconds)*time.Second
}

// fileSystems are those of the claims, each once: two claims on one file system share its cached bytes.
func fileSystems(claims []claim) []string {
	var result []string
	for _, c := range claims {
		if !slices.Contains(result, c.fileSystem) {
			result = append(result, c.fileSystem)
		}
	}
	return result
}
