#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: job
short_description: Declare, run, wait for and stop jobs
version_added: 0.1.0
description:
  - Runs jobs, single ones and distributed ones of every framework, in the queues of the scheduler.
  - A job that is there with the same declaration is left alone, whatever has become of it.
  - Of a job that runs, priority, labels and the number of elastic members can be changed. Everything else is another job, which O(recreate) makes
    in its place; so it is with a job that has ended.
  - With O(wait), waits until the job has succeeded, and fails as soon as it cannot any more, with what its pods said.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Name of the job.
    type: str
  namespace:
    description: Its namespace; that of the connection when it is not given.
    type: str
  labels:
    description:
      - Labels of the job and its pods.
      - A member's are added to the job's and win.
      - Pods that are there keep theirs when the job's are changed; an empty value takes a label away.
    type: dict
  annotations:
    description:
      - Annotations of the job and its pods, as with O(labels).
      - C(paddleflow/job-kind-group-version) asks for another kind of object, such as V(PyTorchJob.kubeflow.org/v1); C(paddleflow/job-ttl-seconds)
        is short for O(ttl_seconds) of jobs that succeeded or failed.
    type: dict
  state:
    description:
      - What it shall be; V(present) when nothing is given.
      - V(stopped) ends a job and keeps what is known of it; a job that is not there does not run either.
      - V(absent) takes a job away with all of its pods.
    type: str
    choices:
      - present
      - absent
      - stopped
  kind:
    description:
      - V(single) is one pod, V(distributed) are the pods of O(members), V(workflow) is the Argo Workflow in O(extension_template).
      - It cannot be changed.
      - When nothing is given it is V(single).
      - One of V(single), V(distributed), V(workflow), in any case.
    type: str
  framework:
    description:
      - What joins the pods of a distributed job; the environment that it needs is written for it.
      - It cannot be changed.
      - One of V(standalone), V(paddle), V(pytorch), V(tensorflow), V(mpi), V(spark), V(ray), V(aitj), in any case.
    type: str
  display_name:
    description:
      - A name for people; any text.
    type: str
  scheduling_policy:
    description:
      - When and where the job runs.
    type: dict
    suboptions:
      queue:
        description:
          - The queue that the job runs in.
          - It has to be open, and cannot be changed.
        type: str
      priority:
        description:
          - Jobs of a higher priority run before others of their queue.
          - It can be changed until the job runs.
          - When nothing is given it is V(NORMAL).
          - One of V(VERY_LOW), V(LOW), V(NORMAL), V(HIGH), V(VERY_HIGH), in any case.
        type: str
      scheduler_name:
        description:
          - The scheduler that places the pods.
          - When nothing is given it is V(volcano).
        type: str
      preemptable:
        description:
          - Whether the job may be evicted for another one that is entitled to its place.
          - When nothing is given it is V(true).
        type: bool
      requeue_on_preempt:
        description:
          - Whether a job that was evicted waits for another place and starts anew; else it ends as preempted.
          - An eviction never counts as a failure.
          - When nothing is given it is V(true).
        type: bool
      network_topology:
        description:
          - How near to each other the pods have to be.
        type: dict
        suboptions:
          mode:
            description:
              - V(hard) keeps the job waiting for such a place, V(soft) prefers it.
              - When nothing is given it is V(hard).
              - One of V(hard), V(soft), in any case.
            type: str
          highest_tier_allowed:
            description:
              - The highest tier of the network that the pods may span.
            type: int
  flavour:
    description:
      - What a pod asks for, by a flavour's name or in place.
    type: dict
    suboptions:
      name:
        description:
          - Name of a flavour; without it, or as V(customFlavour), the resources are those given here.
        type: str
      cpu:
        description:
          - Processors, V(1) unless given.
        type: raw
      memory:
        description:
          - Memory, V(1Gi) unless given.
        type: raw
        aliases:
          - mem
      scalar_resources:
        description:
          - Other resources, such as accelerators.
        type: dict
  limit_flavour:
    description:
      - What a pod may use, at least what it asks for; that is the limit when this is not given.
      - The name V(NONE) takes the limit away.
      - Accelerators are always limited to what is asked for.
    type: dict
    suboptions:
      name:
        description:
          - Name of a flavour; without it, or as V(customFlavour), the resources are those given here.
        type: str
      cpu:
        description:
          - Processors, V(1) unless given.
        type: raw
      memory:
        description:
          - Memory, V(1Gi) unless given.
        type: raw
        aliases:
          - mem
      scalar_resources:
        description:
          - Other resources, such as accelerators.
        type: dict
  fs:
    description:
      - The file system that the command runs in.
    type: dict
    suboptions:
      name:
        description:
          - The file system's name; of one that another namespace granted to the job's, V(<namespace>/<name>).
        type: str
      id:
        description:
          - The file system's identifier, instead of its name.
        type: str
      type:
        description:
          - The kind of its store, as its URL begins; what it is need not be said.
        type: str
      mount_path:
        description:
          - Directory of the pod, below C(/home/paddleflow/storage/mnt) unless given.
        type: str
      sub_path:
        description:
          - Directory of the file system, all of it unless given.
        type: str
      read_only:
        description:
          - Whether the pod can only read it.
          - When nothing is given it is V(false).
        type: bool
  extra_fs:
    description:
      - Other file systems.
      - Without O(fs) the command runs in the first one.
    type: list
    elements: dict
    suboptions:
      name:
        description:
          - The file system's name; of one that another namespace granted to the job's, V(<namespace>/<name>).
        type: str
      id:
        description:
          - The file system's identifier, instead of its name.
        type: str
      type:
        description:
          - The kind of its store, as its URL begins; what it is need not be said.
        type: str
      mount_path:
        description:
          - Directory of the pod, below C(/home/paddleflow/storage/mnt) unless given.
        type: str
      sub_path:
        description:
          - Directory of the file system, all of it unless given.
        type: str
      read_only:
        description:
          - Whether the pod can only read it.
          - When nothing is given it is V(false).
        type: bool
  image:
    description:
      - Image of the pods.
    type: str
  env:
    description:
      - Environment of the pods.
      - A member's is added to the job's and wins.
      - Names that are written for every job are refused.
      - C(PF_MOUNT_PATH) V(NONE) leaves the command in the image's own directory.
    type: dict
  command:
    description:
      - What the pods run, as a line of a shell.
      - Of MPI, Ray and Spark only the leading pod runs it.
      - A pod that is told to stop passes that on and has 25 seconds.
    type: str
  args:
    description:
      - Arguments that are appended to the command, each as it is.
      - Of Ray they are start parameters, as C(key:value).
    type: list
    elements: str
  port:
    description:
      - A port that the pods listen on; of the member that leads also the port that a framework's pods find each other by.
      - V(0) is none.
      - When nothing is given it is V(0).
    type: int
  restart_policy:
    description:
      - Whether Kubernetes starts a container again when it ends, without end.
      - V(Never) leaves that to O(retry_limit).
      - When nothing is given it is V(Never).
      - One of V(Never), V(OnFailure), V(Always), in any case.
    type: str
  retry_limit:
    description:
      - How often a command that failed is started again in its pod, before the job has failed.
      - Being evicted, preempted or stopped is no failure.
      - When nothing is given it is V(0).
    type: int
  min_available:
    description:
      - 'How many pods have to fit at once before any of them starts: all of them unless given.'
      - Fewer is for jobs that can be resized while they run.
    type: int
  ttl_seconds:
    description:
      - What happens to a job by itself, by its state.
      - What is not given does not happen.
      - 'Engines keep one time for both ends: until our controller of jobs is there, both have to be given, the longer one holds, and V(pending)
        ends nothing.'
    type: dict
    suboptions:
      succeeded:
        description:
          - After how many seconds a job that succeeded is removed.
        type: int
      failed:
        description:
          - After how many seconds a job that failed is removed.
        type: int
      pending:
        description:
          - After how many seconds a job that has not started is ended.
        type: int
  extension_template:
    description:
      - A manifest of the object that the job becomes, or of a pod.
      - It wins for labels, annotations, environment and volumes; what is said of image, resources, replicas and command wins over it.
    type: dict
  members:
    description:
      - The pods of a distributed job, by role.
      - What stands beside it holds for every member that does not say it for itself.
    type: list
    elements: dict
    suboptions:
      role:
        description:
          - V(pserver) and V(master) with V(worker) for PaddlePaddle, PyTorch and TensorFlow, V(master) and V(worker) for MPI and Ray, V(driver)
            and V(executor) for Spark.
          - One of V(pserver), V(master), V(worker), V(driver), V(executor), in any case.
        type: str
      replicas:
        description:
          - How many pods of the role.
          - When nothing is given it is V(1).
        type: int
      max_replicas:
        description:
          - The most to which replicas may be raised while the job runs.
        type: int
      labels:
        description:
          - Labels of the job and its pods.
          - A member's are added to the job's and win.
          - Pods that are there keep theirs when the job's are changed; an empty value takes a label away.
        type: dict
      annotations:
        description:
          - Annotations of the job and its pods, as with O(labels).
          - C(paddleflow/job-kind-group-version) asks for another kind of object, such as V(PyTorchJob.kubeflow.org/v1); C(paddleflow/job-ttl-seconds)
            is short for O(ttl_seconds) of jobs that succeeded or failed.
        type: dict
      scheduling_policy:
        description:
          - When and where the job runs.
        type: dict
        suboptions:
          queue:
            description:
              - The queue that the job runs in.
              - It has to be open, and cannot be changed.
            type: str
          priority:
            description:
              - Jobs of a higher priority run before others of their queue.
              - It can be changed until the job runs.
              - One of V(VERY_LOW), V(LOW), V(NORMAL), V(HIGH), V(VERY_HIGH), in any case.
            type: str
      flavour:
        description:
          - What a pod asks for, by a flavour's name or in place.
        type: dict
        suboptions:
          name:
            description:
              - Name of a flavour; without it, or as V(customFlavour), the resources are those given here.
            type: str
          cpu:
            description:
              - Processors, V(1) unless given.
            type: raw
          memory:
            description:
              - Memory, V(1Gi) unless given.
            type: raw
            aliases:
              - mem
          scalar_resources:
            description:
              - Other resources, such as accelerators.
            type: dict
      limit_flavour:
        description:
          - What a pod may use, at least what it asks for; that is the limit when this is not given.
          - The name V(NONE) takes the limit away.
          - Accelerators are always limited to what is asked for.
        type: dict
        suboptions:
          name:
            description:
              - Name of a flavour; without it, or as V(customFlavour), the resources are those given here.
            type: str
          cpu:
            description:
              - Processors, V(1) unless given.
            type: raw
          memory:
            description:
              - Memory, V(1Gi) unless given.
            type: raw
            aliases:
              - mem
          scalar_resources:
            description:
              - Other resources, such as accelerators.
            type: dict
      fs:
        description:
          - The file system that the command runs in.
        type: dict
        suboptions:
          name:
            description:
              - The file system's name; of one that another namespace granted to the job's, V(<namespace>/<name>).
            type: str
          id:
            description:
              - The file system's identifier, instead of its name.
            type: str
          type:
            description:
              - The kind of its store, as its URL begins; what it is need not be said.
            type: str
          mount_path:
            description:
              - Directory of the pod, below C(/home/paddleflow/storage/mnt) unless given.
            type: str
          sub_path:
            description:
              - Directory of the file system, all of it unless given.
            type: str
          read_only:
            description:
              - Whether the pod can only read it.
              - When nothing is given it is V(false).
            type: bool
      extra_fs:
        description:
          - Other file systems.
          - Without O(fs) the command runs in the first one.
        type: list
        elements: dict
        suboptions:
          name:
            description:
              - The file system's name; of one that another namespace granted to the job's, V(<namespace>/<name>).
            type: str
          id:
            description:
              - The file system's identifier, instead of its name.
            type: str
          type:
            description:
              - The kind of its store, as its URL begins; what it is need not be said.
            type: str
          mount_path:
            description:
              - Directory of the pod, below C(/home/paddleflow/storage/mnt) unless given.
            type: str
          sub_path:
            description:
              - Directory of the file system, all of it unless given.
            type: str
          read_only:
            description:
              - Whether the pod can only read it.
              - When nothing is given it is V(false).
            type: bool
      image:
        description:
          - Image of the pods.
        type: str
      env:
        description:
          - Environment of the pods.
          - A member's is added to the job's and wins.
          - Names that are written for every job are refused.
          - C(PF_MOUNT_PATH) V(NONE) leaves the command in the image's own directory.
        type: dict
      command:
        description:
          - What the pods run, as a line of a shell.
          - Of MPI, Ray and Spark only the leading pod runs it.
          - A pod that is told to stop passes that on and has 25 seconds.
        type: str
      args:
        description:
          - Arguments that are appended to the command, each as it is.
          - Of Ray they are start parameters, as C(key:value).
        type: list
        elements: str
      port:
        description:
          - A port that the pods listen on; of the member that leads also the port that a framework's pods find each other by.
          - V(0) is none.
        type: int
      restart_policy:
        description:
          - Whether Kubernetes starts a container again when it ends, without end.
          - V(Never) leaves that to O(retry_limit).
          - One of V(Never), V(OnFailure), V(Always), in any case.
        type: str
      retry_limit:
        description:
          - How often a command that failed is started again in its pod, before the job has failed.
          - Being evicted, preempted or stopped is no failure.
        type: int
      min_available:
        description:
          - 'How many pods have to fit at once before any of them starts: all of them unless given.'
          - Fewer is for jobs that can be resized while they run.
        type: int
  objects:
    description:
      - Several job objects at once; each entry has the options of this module.
      - The O(state), the O(labels) and the O(annotations) beside it are the defaults of every entry, and so is the O(namespace).
      - Mutually exclusive with O(name) and the options of a single one.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the job.
        type: str
      namespace:
        description: Its namespace; that of the connection when it is not given.
        type: str
      labels:
        description:
          - Labels of the job and its pods.
          - A member's are added to the job's and win.
          - Pods that are there keep theirs when the job's are changed; an empty value takes a label away.
        type: dict
      annotations:
        description:
          - Annotations of the job and its pods, as with O(labels).
          - C(paddleflow/job-kind-group-version) asks for another kind of object, such as V(PyTorchJob.kubeflow.org/v1); C(paddleflow/job-ttl-seconds)
            is short for O(ttl_seconds) of jobs that succeeded or failed.
        type: dict
      state:
        description:
          - What it shall be; V(present) when nothing is given.
          - V(stopped) ends a job and keeps what is known of it; a job that is not there does not run either.
          - V(absent) takes a job away with all of its pods.
        type: str
        choices:
          - present
          - absent
          - stopped
      kind:
        description:
          - V(single) is one pod, V(distributed) are the pods of O(members), V(workflow) is the Argo Workflow in O(extension_template).
          - It cannot be changed.
          - When nothing is given it is V(single).
          - One of V(single), V(distributed), V(workflow), in any case.
        type: str
      framework:
        description:
          - What joins the pods of a distributed job; the environment that it needs is written for it.
          - It cannot be changed.
          - One of V(standalone), V(paddle), V(pytorch), V(tensorflow), V(mpi), V(spark), V(ray), V(aitj), in any case.
        type: str
      display_name:
        description:
          - A name for people; any text.
        type: str
      scheduling_policy:
        description:
          - When and where the job runs.
        type: dict
        suboptions:
          queue:
            description:
              - The queue that the job runs in.
              - It has to be open, and cannot be changed.
            type: str
          priority:
            description:
              - Jobs of a higher priority run before others of their queue.
              - It can be changed until the job runs.
              - When nothing is given it is V(NORMAL).
              - One of V(VERY_LOW), V(LOW), V(NORMAL), V(HIGH), V(VERY_HIGH), in any case.
            type: str
          scheduler_name:
            description:
              - The scheduler that places the pods.
              - When nothing is given it is V(volcano).
            type: str
          preemptable:
            description:
              - Whether the job may be evicted for another one that is entitled to its place.
              - When nothing is given it is V(true).
            type: bool
          requeue_on_preempt:
            description:
              - Whether a job that was evicted waits for another place and starts anew; else it ends as preempted.
              - An eviction never counts as a failure.
              - When nothing is given it is V(true).
            type: bool
          network_topology:
            description:
              - How near to each other the pods have to be.
            type: dict
            suboptions:
              mode:
                description:
                  - V(hard) keeps the job waiting for such a place, V(soft) prefers it.
                  - When nothing is given it is V(hard).
                  - One of V(hard), V(soft), in any case.
                type: str
              highest_tier_allowed:
                description:
                  - The highest tier of the network that the pods may span.
                type: int
      flavour:
        description:
          - What a pod asks for, by a flavour's name or in place.
        type: dict
        suboptions:
          name:
            description:
              - Name of a flavour; without it, or as V(customFlavour), the resources are those given here.
            type: str
          cpu:
            description:
              - Processors, V(1) unless given.
            type: raw
          memory:
            description:
              - Memory, V(1Gi) unless given.
            type: raw
            aliases:
              - mem
          scalar_resources:
            description:
              - Other resources, such as accelerators.
            type: dict
      limit_flavour:
        description:
          - What a pod may use, at least what it asks for; that is the limit when this is not given.
          - The name V(NONE) takes the limit away.
          - Accelerators are always limited to what is asked for.
        type: dict
        suboptions:
          name:
            description:
              - Name of a flavour; without it, or as V(customFlavour), the resources are those given here.
            type: str
          cpu:
            description:
              - Processors, V(1) unless given.
            type: raw
          memory:
            description:
              - Memory, V(1Gi) unless given.
            type: raw
            aliases:
              - mem
          scalar_resources:
            description:
              - Other resources, such as accelerators.
            type: dict
      fs:
        description:
          - The file system that the command runs in.
        type: dict
        suboptions:
          name:
            description:
              - The file system's name; of one that another namespace granted to the job's, V(<namespace>/<name>).
            type: str
          id:
            description:
              - The file system's identifier, instead of its name.
            type: str
          type:
            description:
              - The kind of its store, as its URL begins; what it is need not be said.
            type: str
          mount_path:
            description:
              - Directory of the pod, below C(/home/paddleflow/storage/mnt) unless given.
            type: str
          sub_path:
            description:
              - Directory of the file system, all of it unless given.
            type: str
          read_only:
            description:
              - Whether the pod can only read it.
              - When nothing is given it is V(false).
            type: bool
      extra_fs:
        description:
          - Other file systems.
          - Without O(fs) the command runs in the first one.
        type: list
        elements: dict
        suboptions:
          name:
            description:
              - The file system's name; of one that another namespace granted to the job's, V(<namespace>/<name>).
            type: str
          id:
            description:
              - The file system's identifier, instead of its name.
            type: str
          type:
            description:
              - The kind of its store, as its URL begins; what it is need not be said.
            type: str
          mount_path:
            description:
              - Directory of the pod, below C(/home/paddleflow/storage/mnt) unless given.
            type: str
          sub_path:
            description:
              - Directory of the file system, all of it unless given.
            type: str
          read_only:
            description:
              - Whether the pod can only read it.
              - When nothing is given it is V(false).
            type: bool
      image:
        description:
          - Image of the pods.
        type: str
      env:
        description:
          - Environment of the pods.
          - A member's is added to the job's and wins.
          - Names that are written for every job are refused.
          - C(PF_MOUNT_PATH) V(NONE) leaves the command in the image's own directory.
        type: dict
      command:
        description:
          - What the pods run, as a line of a shell.
          - Of MPI, Ray and Spark only the leading pod runs it.
          - A pod that is told to stop passes that on and has 25 seconds.
        type: str
      args:
        description:
          - Arguments that are appended to the command, each as it is.
          - Of Ray they are start parameters, as C(key:value).
        type: list
        elements: str
      port:
        description:
          - A port that the pods listen on; of the member that leads also the port that a framework's pods find each other by.
          - V(0) is none.
          - When nothing is given it is V(0).
        type: int
      restart_policy:
        description:
          - Whether Kubernetes starts a container again when it ends, without end.
          - V(Never) leaves that to O(retry_limit).
          - When nothing is given it is V(Never).
          - One of V(Never), V(OnFailure), V(Always), in any case.
        type: str
      retry_limit:
        description:
          - How often a command that failed is started again in its pod, before the job has failed.
          - Being evicted, preempted or stopped is no failure.
          - When nothing is given it is V(0).
        type: int
      min_available:
        description:
          - 'How many pods have to fit at once before any of them starts: all of them unless given.'
          - Fewer is for jobs that can be resized while they run.
        type: int
      ttl_seconds:
        description:
          - What happens to a job by itself, by its state.
          - What is not given does not happen.
          - 'Engines keep one time for both ends: until our controller of jobs is there, both have to be given, the longer one holds, and V(pending)
            ends nothing.'
        type: dict
        suboptions:
          succeeded:
            description:
              - After how many seconds a job that succeeded is removed.
            type: int
          failed:
            description:
              - After how many seconds a job that failed is removed.
            type: int
          pending:
            description:
              - After how many seconds a job that has not started is ended.
            type: int
      extension_template:
        description:
          - A manifest of the object that the job becomes, or of a pod.
          - It wins for labels, annotations, environment and volumes; what is said of image, resources, replicas and command wins over it.
        type: dict
      members:
        description:
          - The pods of a distributed job, by role.
          - What stands beside it holds for every member that does not say it for itself.
        type: list
        elements: dict
        suboptions:
          role:
            description:
              - V(pserver) and V(master) with V(worker) for PaddlePaddle, PyTorch and TensorFlow, V(master) and V(worker) for MPI and Ray, V(driver)
                and V(executor) for Spark.
              - One of V(pserver), V(master), V(worker), V(driver), V(executor), in any case.
            type: str
          replicas:
            description:
              - How many pods of the role.
              - When nothing is given it is V(1).
            type: int
          max_replicas:
            description:
              - The most to which replicas may be raised while the job runs.
            type: int
          labels:
            description:
              - Labels of the job and its pods.
              - A member's are added to the job's and win.
              - Pods that are there keep theirs when the job's are changed; an empty value takes a label away.
            type: dict
          annotations:
            description:
              - Annotations of the job and its pods, as with O(labels).
              - C(paddleflow/job-kind-group-version) asks for another kind of object, such as V(PyTorchJob.kubeflow.org/v1); C(paddleflow/job-ttl-seconds)
                is short for O(ttl_seconds) of jobs that succeeded or failed.
            type: dict
          scheduling_policy:
            description:
              - When and where the job runs.
            type: dict
            suboptions:
              queue:
                description:
                  - The queue that the job runs in.
                  - It has to be open, and cannot be changed.
                type: str
              priority:
                description:
                  - Jobs of a higher priority run before others of their queue.
                  - It can be changed until the job runs.
                  - One of V(VERY_LOW), V(LOW), V(NORMAL), V(HIGH), V(VERY_HIGH), in any case.
                type: str
          flavour:
            description:
              - What a pod asks for, by a flavour's name or in place.
            type: dict
            suboptions:
              name:
                description:
                  - Name of a flavour; without it, or as V(customFlavour), the resources are those given here.
                type: str
              cpu:
                description:
                  - Processors, V(1) unless given.
                type: raw
              memory:
                description:
                  - Memory, V(1Gi) unless given.
                type: raw
                aliases:
                  - mem
              scalar_resources:
                description:
                  - Other resources, such as accelerators.
                type: dict
          limit_flavour:
            description:
              - What a pod may use, at least what it asks for; that is the limit when this is not given.
              - The name V(NONE) takes the limit away.
              - Accelerators are always limited to what is asked for.
            type: dict
            suboptions:
              name:
                description:
                  - Name of a flavour; without it, or as V(customFlavour), the resources are those given here.
                type: str
              cpu:
                description:
                  - Processors, V(1) unless given.
                type: raw
              memory:
                description:
                  - Memory, V(1Gi) unless given.
                type: raw
                aliases:
                  - mem
              scalar_resources:
                description:
                  - Other resources, such as accelerators.
                type: dict
          fs:
            description:
              - The file system that the command runs in.
            type: dict
            suboptions:
              name:
                description:
                  - The file system's name; of one that another namespace granted to the job's, V(<namespace>/<name>).
                type: str
              id:
                description:
                  - The file system's identifier, instead of its name.
                type: str
              type:
                description:
                  - The kind of its store, as its URL begins; what it is need not be said.
                type: str
              mount_path:
                description:
                  - Directory of the pod, below C(/home/paddleflow/storage/mnt) unless given.
                type: str
              sub_path:
                description:
                  - Directory of the file system, all of it unless given.
                type: str
              read_only:
                description:
                  - Whether the pod can only read it.
                  - When nothing is given it is V(false).
                type: bool
          extra_fs:
            description:
              - Other file systems.
              - Without O(fs) the command runs in the first one.
            type: list
            elements: dict
            suboptions:
              name:
                description:
                  - The file system's name; of one that another namespace granted to the job's, V(<namespace>/<name>).
                type: str
              id:
                description:
                  - The file system's identifier, instead of its name.
                type: str
              type:
                description:
                  - The kind of its store, as its URL begins; what it is need not be said.
                type: str
              mount_path:
                description:
                  - Directory of the pod, below C(/home/paddleflow/storage/mnt) unless given.
                type: str
              sub_path:
                description:
                  - Directory of the file system, all of it unless given.
                type: str
              read_only:
                description:
                  - Whether the pod can only read it.
                  - When nothing is given it is V(false).
                type: bool
          image:
            description:
              - Image of the pods.
            type: str
          env:
            description:
              - Environment of the pods.
              - A member's is added to the job's and wins.
              - Names that are written for every job are refused.
              - C(PF_MOUNT_PATH) V(NONE) leaves the command in the image's own directory.
            type: dict
          command:
            description:
              - What the pods run, as a line of a shell.
              - Of MPI, Ray and Spark only the leading pod runs it.
              - A pod that is told to stop passes that on and has 25 seconds.
            type: str
          args:
            description:
              - Arguments that are appended to the command, each as it is.
              - Of Ray they are start parameters, as C(key:value).
            type: list
            elements: str
          port:
            description:
              - A port that the pods listen on; of the member that leads also the port that a framework's pods find each other by.
              - V(0) is none.
            type: int
          restart_policy:
            description:
              - Whether Kubernetes starts a container again when it ends, without end.
              - V(Never) leaves that to O(retry_limit).
              - One of V(Never), V(OnFailure), V(Always), in any case.
            type: str
          retry_limit:
            description:
              - How often a command that failed is started again in its pod, before the job has failed.
              - Being evicted, preempted or stopped is no failure.
            type: int
          min_available:
            description:
              - 'How many pods have to fit at once before any of them starts: all of them unless given.'
              - Fewer is for jobs that can be resized while they run.
            type: int
  wait_until:
    description: What O(wait) waits for; V(running) is every member at once.
    type: str
    choices:
      - running
      - succeeded
    default: succeeded
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.write
  - paddleflow.core.attributes
  - paddleflow.core.wait
"""

EXAMPLES = r"""
- name: A queue for the jobs below
  paddleflow.core.queue:
    name: vision
    namespace: science

- name: Run one program, wait for its end and show what failed if it did
  paddleflow.core.job:
    name: hello
    namespace: science
    framework: standalone
    image: registry.example.org/tools:1
    command: echo hello
    flavour: {cpu: 1, memory: 1Gi}
    scheduling_policy: {queue: vision}
    wait: true
    wait_timeout: 600

- name: Train on four workers that start together
  paddleflow.core.job:
    name: train
    namespace: science
    kind: distributed
    framework: paddle
    image: registry.example.org/paddle:3.0
    command: python train.py
    scheduling_policy: {queue: vision, priority: HIGH}
    members:
      - role: worker
        replicas: 4
        flavour: {cpu: 8, memory: 32Gi}

- name: Stop it, and keep what is known of it
  paddleflow.core.job:
    name: train
    namespace: science
    state: stopped

- name: Take both away
  paddleflow.core.job:
    namespace: science
    state: absent
    objects:
      - name: hello
      - name: train
"""

RETURN = r"""
objects:
  description: What became of each object, in the order of the declaration.
  returned: always
  type: list
  elements: dict
  sample:
    - kind: Job
      namespace: team
      name: one
      changed: true
      action: created
  contains:
    kind:
      description: Its kind.
      type: str
    namespace:
      description: Its namespace; empty for kinds that are in none.
      type: str
    name:
      description: Its name.
      type: str
    changed:
      description: Whether it was, or in check mode would be, changed.
      type: bool
    action:
      description: One of V(created), V(changed), V(recreated), V(deleted), V(stopped), V(unchanged), V(failed).
      type: str
    error:
      description: Why it failed, when it did.
      type: str
    object:
      description: The object itself, when O(return_content) asks for it.
      type: dict
problems:
  description: Everything that is wrong with the declaration, of which nothing was written.
  returned: when the declaration is wrong
  type: list
  elements: str
errors:
  description: What a program reads of each problem with a field.
  returned: when the declaration is wrong
  type: list
  elements: dict
  contains:
    code:
      description: The error code, as the reference platform names it.
      type: str
    field:
      description: The option that is wrong, with those that it is in.
      type: str
    hint:
      description: What to do about it.
      type: str
code:
  description: RV(errors[].code) of the first problem.
  returned: when the declaration is wrong
  type: str
field:
  description: RV(errors[].field) of the first problem.
  returned: when the declaration is wrong
  type: str
hint:
  description: RV(errors[].hint) of the first problem.
  returned: when the declaration is wrong
  type: str
"""

from ansible_collections.paddleflow.core.plugins.module_utils._glue import jobs


def main() -> None:
    jobs.run()


if __name__ == "__main__":
    main()
