# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""What the API server asks before it takes an object that uses a queue or a file system: admission policies, in its own
language. Written to crds/policies by `make generate`; the role crds puts the site's settings in and applies them.

Who asks is judged by their own permissions, unless it is a controller: a controller does what somebody's template says, so
the namespace is judged, by the permissions of its service account `default`. Permissions come from grants (grant.py).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import own

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VOLCANO = "volcano-system"
SCHEDULER = "volcano"
DRIVER = "fs.paddleflow.org"
# Of a claim: the file system that it is for, as <namespace>/<object's name>; without a namespace, one of its own.
FILE_SYSTEM = "paddleflow.org/file-system"
# What becomes of a request that a policy is against.
ACTIONS = {"enforce": ["Deny"], "warn": ["Warn", "Audit"], "audit": ["Audit"]}

# Of pods: the one that Volcano reads, and the one that it writes for people to see.
QUEUE_KEY = "scheduling.volcano.sh/queue-name"
QUEUE_KEYS = (QUEUE_KEY, "volcano.sh/queue-name")
GROUP_KEYS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
# Kinds that name a queue, by group.
KINDS: dict[str, tuple[str, ...]] = {
    "scheduling.volcano.sh": ("podgroups",),
    "batch.volcano.sh": ("cronjobs", "jobs"),
    "flow.volcano.sh": ("jobtemplates",),
    "batch.paddlepaddle.org": ("paddlejobs", "samplejobs"),
    "paddlepaddle.org": ("trainingjobs",),
    "paddleflow.org": ("pipelineruns", "pipelineschedules"),
}
# What controllers make for these has their queue, which was asked about when they were made.
_OWNERS = ["v1/Pod", "batch.volcano.sh/Job", "batch.paddlepaddle.org/PaddleJob", "paddlepaddle.org/TrainingJob"]

_KNOWN = """\
// A controller acts for the namespace, whoever wrote the template.
request.userInfo.username in variables.controllers ||
request.userInfo.?groups.orValue([]).exists(group, group in variables.controllers)
"""
_WHAT = """\
request.kind.kind + " " + request.namespace + "/" +
object.metadata.?name.orValue(object.metadata.?generateName.orValue("") + "*")
"""
_DERIVED = f"""\
// What a controller makes for an object that was asked about when it was made.
variables.known && object.metadata.?ownerReferences.orValue([]).exists(owner,
  owner.?controller.orValue(false) &&
  owner.apiVersion.split("/")[0] + "/" + owner.kind in {json.dumps(_OWNERS, indent=4)})
"""
_ASKING = {
    "known": _KNOWN,
    "what": _WHAT,
    "derived": _DERIVED,
    "subject": 'variables.known ? authorizer.serviceAccount(request.namespace, "default") : authorizer',
    "whom": 'variables.known ? "the namespace " + request.namespace : "the user " + request.userInfo.username',
    "grantee": "variables.known ? request.namespace : request.userInfo.username",
    "list": 'variables.known ? "namespaces" : "users"',
}
# The queue of an object of any of the kinds. Volcano's own are in the queue default when they name none; a kind of ours
# that names none leaves it to the jobs that are made for it.
_NAMED = f"""\
object.?spec.?queue
  .or(object.?spec.?schedulingPolicy.?queue)
  .or(object.?spec.?jobTemplate.?spec.?queue)
  .or(object.?metadata.?annotations[?"{QUEUE_KEY}"])
  .orValue("")
"""
_QUEUE = """\
variables.named == "" && request.resource.group.endsWith("volcano.sh") ? "default" : variables.named
"""
# The queue that Volcano puts a pod into: that of its group, of its annotation, of its namespace, or the default.
_POD_QUEUE = f"""\
object.metadata.?annotations[?"{QUEUE_KEY}"].orValue("") != "" ?
  object.metadata.annotations["{QUEUE_KEY}"] :
object.spec.?schedulerName.orValue("") != variables.scheduler ||
object.metadata.?annotations[?"{GROUP_KEYS[0]}"].orValue("") != "" ?
  "" :
  namespaceObject.metadata.?annotations[?"{QUEUE_KEY}"].orValue("default")
"""


def _was(expression: str) -> str:
    """Of an expression about the object: the same about what it was before; nothing when it was not there."""
    return f'oldObject == null ? "" :\n{expression.replace("object.", "oldObject.").replace("object[", "oldObject[")}'


def _annotation(key: str) -> str:
    return f'object.metadata.?annotations[?"{key}"].orValue("")\n'


def _queue_check(now: str, before: str) -> dict[str, str]:
    """The queue that a variable names is granted; `before` is the variable with what it was."""
    return {
        "expression": f"""\
// What keeps its queue keeps its place, also when the grant has gone.
variables.{now} == "" || (oldObject != null && variables.{now} == variables.{before}) || variables.derived ||
variables.subject.group("scheduling.volcano.sh").resource("queues").name(variables.{now}).check("use").allowed()
""",
        "reason": "Forbidden",
        "message": "the queue is not granted to whom it is asked for: see the module paddleflow.core.grant",
        "messageExpression": f"""\
variables.what + ": the queue '" + variables.{now} + "' is not granted to " + variables.whom +
". An administrator grants it by the task: paddleflow.core.grant: {{name: '" + variables.{now} + " for " +
variables.grantee + "', queue: '" + variables.{now} + "', " + variables.list + ": ['" + variables.grantee + "']}}"
""",
    }


def _queues() -> tuple[dict[str, Any], dict[str, Any]]:
    rules = [_rule(group, resources, "CREATE", "UPDATE") for group, resources in KINDS.items()]
    variables = {"named": _NAMED, "queue": _QUEUE, "namedBefore": _was(_NAMED)}
    variables |= {"before": _QUEUE.replace("named", "namedBefore"), **_ASKING}
    return _policy("paddleflow-queues", rules, variables, [_queue_check("queue", "before")])


def _pods() -> tuple[dict[str, Any], dict[str, Any]]:
    """Pods that say which queue or which group of pods they belong to."""
    variables = {"queue": _POD_QUEUE, "before": _was(_POD_QUEUE)}
    variables |= {"shown": _annotation(QUEUE_KEYS[1]), "shownBefore": _was(_annotation(QUEUE_KEYS[1]))}
    checks = [_queue_check("queue", "before"), _queue_check("shown", "shownBefore")]
    for number, key in enumerate(GROUP_KEYS):
        group = f"group{number}"
        variables |= {group: _annotation(key), f"{group}Before": _was(_annotation(key))}
        allowed = '.group("scheduling.volcano.sh").resource("podgroups")\n  .namespace(request.namespace)'
        allowed += f'.name(variables.{group}).check("update").allowed()'
        checks.append({
            "expression": f"""\
// Who puts a pod into a group of pods could as well write the group. Volcano's controllers may; other controllers act for
// the namespace.
variables.{group} == "" || variables.{group} == variables.{group}Before ||
authorizer{allowed} ||
variables.known && variables.subject{allowed}
""",
            "reason": "Forbidden",
            "message": "a pod may join only a PodGroup that its maker may update",
            "messageExpression": f"""\
variables.what + ": the annotation {key} puts it into the PodGroup '" + variables.{group} + "', which " +
variables.whom + " may not update. Leave the annotation out, or let an administrator bind a role with the verb update" +
" of podgroups in the namespace " + request.namespace
""",
        })  # fmt: skip
    rules = [_rule("", ("pods",), "CREATE", "UPDATE")]
    return _policy("paddleflow-pods", rules, {**variables, **_ASKING}, checks, exempt=True)


def _placement() -> tuple[dict[str, Any], dict[str, Any]]:
    """In a namespace that is bound to a queue nothing runs beside the queue, whoever makes the pod."""
    variables = {
        "what": _WHAT,
        "beside": """\
object.spec.?nodeName.orValue("") != "" ? "names the node " + object.spec.nodeName :
object.spec.?schedulerName.orValue("") != variables.scheduler ?
  "is for the scheduler " + object.spec.?schedulerName.orValue("") : ""
""",
        "bound": """\
// A grant says it of this namespace alone; who may do anything anywhere was told nothing of it.
authorizer.serviceAccount(request.namespace, "default").group("paddleflow.org").resource("boundnamespaces")
  .name(request.namespace).check("use").allowed() &&
!authorizer.serviceAccount(request.namespace, "default").group("paddleflow.org").resource("boundnamespaces")
  .name("*").check("use").allowed()
""",
    }
    check = {
        "expression": """\
// Static pods are the node's own. Who may bind pods to nodes is a scheduler, or an administrator.
variables.beside == "" || "system:nodes" in request.userInfo.?groups.orValue([]) || !variables.bound ||
authorizer.group("").resource("pods").subresource("binding").namespace(request.namespace).check("create").allowed()
""",
        "reason": "Forbidden",
        "message": "in a namespace that is bound to a queue, pods are placed by the queue's scheduler",
        "messageExpression": f"""\
variables.what + " " + variables.beside + ", but the namespace " + request.namespace +
" is bound to a queue, and its pods are placed by the queue's scheduler. Set schedulerName: " + variables.scheduler +
" and the annotation {QUEUE_KEY}, leave nodeName out, or use another namespace"
""",
    }
    return _policy("paddleflow-placement", [_rule("", ("pods",), "CREATE")], variables, [check], exempt=True)


def _file_systems() -> tuple[dict[str, Any], dict[str, Any]]:
    """A claim names a file system; one of another namespace has to be granted to the namespace that the claim is in. (A
    link can name none of another namespace at all: its definition has no room for one.)"""
    named = _annotation(FILE_SYSTEM)
    variables = {"what": _WHAT, "named": named, "before": _was(named)}
    check = {
        "expression": """\
// Those of its own namespace are the namespace's. A name of the wrong form is never granted.
!variables.named.contains("/") || variables.named.startsWith(request.namespace + "/") ||
variables.named == variables.before ||
authorizer.serviceAccount(request.namespace, "default").group("paddleflow.org").resource("filesystems")
  .name(variables.named).check("use").allowed()
""",
        "reason": "Forbidden",
        "message": "the file system is not granted to the namespace: see the module paddleflow.core.grant",
        "messageExpression": """\
variables.what + ": the file system '" + variables.named + "' is not granted to the namespace " + request.namespace +
". An administrator grants it by the task: paddleflow.core.grant: {name: '" + variables.named + " for " +
request.namespace + "', file_system: '" + variables.named + "', namespaces: ['" + request.namespace + "']}"
""",
    }
    rules = [_rule("", ("persistentvolumeclaims",), "CREATE", "UPDATE")]
    return _policy("paddleflow-file-systems", rules, variables, [check])


def _volumes() -> tuple[dict[str, Any], dict[str, Any]]:
    check = {
        "expression": f"""\
// A volume in the pod itself would need no claim, and so no grant.
object.spec.?volumes.orValue([]).all(volume, volume.?csi.?driver.orValue("") != "{DRIVER}")
""",
        "reason": "Forbidden",
        "message": "a file system is mounted by a claim, not by a volume of the pod's own",
        "messageExpression": f"""\
variables.what + ": a volume of the driver {DRIVER} stands in the pod itself, but a file system is mounted by a claim: " +
"use persistentVolumeClaim, and the annotation {FILE_SYSTEM} of the claim"
""",
    }
    return _policy("paddleflow-volumes", [_rule("", ("pods",), "CREATE")], {"what": _WHAT}, [check], exempt=True)


def _rule(group: str, resources: Sequence[str], *operations: str) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "resources": list(resources),
        "operations": list(operations),
    }


def _policy(
    name: str,
    rules: Sequence[Mapping[str, Any]],
    variables: Mapping[str, str],
    checks: Sequence[Mapping[str, str]],
    exempt: bool = False,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The policy, and the binding that puts it into force."""
    metadata = {"name": name, "labels": dict(own.MANAGED)}
    constraints: dict[str, Any] = {"resourceRules": list(rules)}
    if exempt:
        outside = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": exempt_namespaces()}
        constraints["namespaceSelector"] = {"matchExpressions": [outside]}
    written = {**settings(), **variables}
    used = "".join([*variables.values(), *(text for check in checks for text in check.values())])
    api = "admissionregistration.k8s.io/v1"
    policy = {
        "apiVersion": api,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata,
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": constraints,
            "variables": [
                {"name": variable, "expression": text.strip()}
                for variable, text in written.items()
                if variable in variables or f"variables.{variable}" in used
            ],
            "validations": [{key: text.strip() for key, text in check.items()} for check in checks],
        },
    }
    spec = {"policyName": name, "validationActions": ACTIONS["enforce"]}
    return policy, {"apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata, "spec": spec}


def exempt_namespaces(volcano: str = VOLCANO) -> list[str]:
    """Their pods are the cluster's own: nothing here may keep them away."""
    return sorted({"kube-system", "paddleflow-system", volcano})


def settings(further: Sequence[str] = (), volcano: str = VOLCANO, scheduler: str = SCHEDULER) -> dict[str, str]:
    """What a site may say otherwise, as variables of the policies. JSON's texts and lists are the language's own too."""
    # Users and groups that make objects from templates of others. Any other controller is a user like everybody.
    controllers = [
        "system:kube-controller-manager",
        "system:serviceaccounts:kube-system",
        "system:serviceaccounts:paddleflow-system",
        f"system:serviceaccount:{volcano}:volcano-controllers",
    ]
    return {
        "controllers": json.dumps([*controllers, *(one for one in further if one not in controllers)], indent=2),
        "scheduler": json.dumps(scheduler),
    }


def policies() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """All of them, each with its binding."""
    return [_file_systems(), _placement(), _pods(), _queues(), _volumes()]


def configured(
    objects: Sequence[Mapping[str, Any]],
    action: str,
    controllers: Sequence[str] = (),
    volcano: str = VOLCANO,
    scheduler: str = SCHEDULER,
) -> list[dict[str, Any]]:
    """The generated objects with a site's settings: `controllers` are further ones, `volcano` is its namespace."""
    if action not in ACTIONS:
        raise ValueError(f"the action of grants is {action!r}, but must be one of {', '.join(ACTIONS)}")
    values, exempt = settings(controllers, volcano, scheduler), exempt_namespaces(volcano)
    return [_with(found, action, values, exempt) for found in objects]


def _with(found: Mapping[str, Any], action: str, values: Mapping[str, str], exempt: list[str]) -> dict[str, Any]:
    spec = dict(found["spec"])
    if "policyName" in spec:
        return {**found, "spec": {**spec, "validationActions": ACTIONS[action]}}
    spec["variables"] = [
        {**variable, "expression": values.get(variable["name"], variable["expression"])}
        for variable in spec.get("variables", ())
    ]
    constraints = dict(spec["matchConstraints"])
    if "namespaceSelector" in constraints:
        (outside,) = constraints["namespaceSelector"]["matchExpressions"]
        constraints["namespaceSelector"] = {"matchExpressions": [{**outside, "values": exempt}]}
    return {**found, "spec": {**spec, "matchConstraints": constraints}}
