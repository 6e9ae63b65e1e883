# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""The nodes of a cluster as an inventory."""

from __future__ import annotations

DOCUMENTATION = r"""
name: paddleflow
short_description: The nodes of a cluster as hosts, grouped by queue, node group, cached file system, accelerator and role
version_added: 0.1.0
author:
  - The paddleflow.core authors (@paddleflow)
description:
  - Makes a host of every node of a Kubernetes cluster, never of a pod.
  - Takes files whose name ends in C(paddleflow.yml) or C(paddleflow.yaml).
  - >-
    Every host is in the group C(paddleflow_nodes). Further groups are C(role_<role>), C(accelerator_<resource>) for nodes that have that resource,
    C(hardware_<type>), C(cached_<namespace>__<name>) for nodes that hold data of that file system, and C(node_group_<group>), or
    C(nodes_without_group) for nodes that are in none.
  - >-
    For every queue there is a group C(queue_<queue>) with the nodes that its jobs may run on. It holds the group of its node group, that of the nearest
    queue above it which has one, or else C(nodes_without_group).
  - >-
    What cannot be in a group's name becomes an underscore, so the queue C(team-a) has the group C(queue_team_a). Where two queues, node groups or
    file systems could have one name that way, which takes a dot, an underscore or two hyphens in a row, the group's name ends in a digest of the true one.
  - Asks for one list of nodes, pods, queues and caches each, whatever the size of the cluster.
  - >-
    Whatever fails while nodes are read fails the whole source. Ansible goes on with what other sources gave, unless
    E(ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED) or E(ANSIBLE_INVENTORY_UNPARSED_FAILED) says otherwise; AWX sets the latter.
options:
  plugin:
    description: Marks the file as one of this plugin.
    type: str
    required: true
    choices: [paddleflow.core.paddleflow]
  label_selectors:
    description: Only nodes with these labels, such as V(gpu=a100) or V(zone!=b). All nodes when it is not given.
    type: list
    elements: str
  read:
    description:
      - What is read beside the nodes; V(pods) for what is requested and running, V(queues) for groups of queues, V(caches) for cached file systems.
      - When it is not given, it is all that the cluster has and shows to this user.
      - When it is given, a part that the cluster does not have or show is told by a warning, and left out.
    type: list
    elements: str
    choices: [pods, queues, caches]
notes:
  - >-
    Variables of a host are C(ansible_host), C(paddleflow_accelerators), C(paddleflow_addresses), C(paddleflow_allocatable), C(paddleflow_capacity),
    C(paddleflow_conditions), C(paddleflow_hardware_type), C(paddleflow_labels), C(paddleflow_node_group), C(paddleflow_ready), C(paddleflow_roles),
    C(paddleflow_schedulable) and C(paddleflow_taints), with pods also C(paddleflow_jobs), C(paddleflow_pods) and C(paddleflow_requested), with caches
    also C(paddleflow_cached_bytes).
  - The same cluster gives the same inventory, in the same order; no variable holds a time.
extends_documentation_fragment:
  - paddleflow.core.auth
  - constructed
  - inventory_cache
"""

EXAMPLES = r"""
# gpu.paddleflow.yml: nodes with an accelerator, by the credentials of the environment
plugin: paddleflow.core.paddleflow
label_selectors: [nvidia.com/gpu.present=true]
read: [pods, caches]
strict: true
compose:
  free_gpus: >-
    paddleflow_accelerators['nvidia.com/gpu'] | default(0)
    - paddleflow_requested['nvidia.com/gpu'] | default(0) | paddleflow.core.quantity
groups:
  idle: paddleflow_jobs | length == 0
  drained: not paddleflow_schedulable
keyed_groups:
  - key: paddleflow_labels['topology.kubernetes.io/zone'] | default('')
    prefix: zone
    default_value: unknown
"""

import hashlib
import os
import re
import typing as t

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable
from ansible.template import trust_as_template
from ansible_collections.paddleflow.core.plugins.module_utils._core.kube import inventory as reader
from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.errors import KubeError
from ansible_collections.paddleflow.core.plugins.module_utils._core.plan import inventory as plan
from ansible_collections.paddleflow.core.plugins.module_utils._glue import connect

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from ansible.inventory.data import InventoryData
    from ansible.parsing.dataloader import DataLoader
    from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.connection import Connection

_HARMLESS = re.compile(r"[\w .,:/@+=-]*")
FILES = ("paddleflow.yml", "paddleflow.yaml")


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    NAME = "paddleflow.core.paddleflow"

    def verify_file(self, path: str) -> bool:
        return bool(BaseInventoryPlugin.verify_file(self, path)) and str(path).endswith(FILES)

    def parse(self, inventory: InventoryData, loader: DataLoader, path: str, cache: bool = True) -> None:
        super().parse(inventory, loader, path, cache)
        wrong = plan.unknown(BaseInventoryPlugin._read_config_data(self, path), self._names())
        if wrong:
            raise AnsibleParserError(f"{path}: {wrong}")
        try:
            facts = self._facts(path, cache)
        except KubeError as error:
            raise AnsibleParserError(str(error)) from error
        # Nothing is added before everything was read: Ansible keeps what a failed source had added.
        found = plan.inventory(facts)
        _add(inventory, found)
        _construct(self, found)
        _mark(inventory, found, self._option("compose"))

    def _names(self) -> set[str]:
        found = set(self.option_definitions)
        for definition in self.option_definitions.values():
            found.update(definition.get("aliases") or ())
        return found

    def _option(self, name: str) -> t.Any:
        return BaseInventoryPlugin.get_option(self, name)

    def _facts(self, path: str, cache: bool) -> plan.Facts:
        to = connect.connection(lambda name: self.templar.template(self._option(name)), os.environ)
        kept = self._cache if self._option("cache") else {}
        key = self._key(path, to)
        if cache and key in kept:
            found: plan.Facts = kept[key]
            return found
        named = self._option("read")
        with connect.opened(to) as client:
            parts = plan.PARTS if named is None else named
            facts, missing = reader.read(client, parts, ",".join(self._option("label_selectors") or ()))
        for part in missing if named is not None else ():
            self.display.warning(f"The inventory is without {part}: {missing[part]}")
        kept[key] = facts
        return facts

    def _key(self, path: str, to: Connection) -> str:
        """One file may be used for many clusters and users, by its environment alone."""
        told = (str(to), to.impersonate, self._option("read"), self._option("label_selectors"))
        return f"{self.get_cache_key(path)}_{hashlib.sha256(repr(told).encode()).hexdigest()[:16]}"


def _add(inventory: InventoryData, found: plan.Inventory) -> None:
    for group in found.groups:
        inventory.add_group(group)
    for group, parts in found.groups.items():
        for part in parts:
            inventory.add_child(group, part)
    for host in found.hosts:
        inventory.add_host(host.name)
        for group in host.groups:
            inventory.add_child(group, host.name)
        for name, value in host.variables.items():
            inventory.set_variable(host.name, name, value)


def _construct(plugin: Constructable, found: plan.Inventory) -> None:
    """What the user's own expressions add."""
    strict = plugin.get_option("strict")
    compose, groups, keyed = (plugin.get_option(name) for name in ("compose", "groups", "keyed_groups"))
    for host in found.hosts:
        known = {**host.variables, "inventory_hostname": host.name}
        plugin._set_composite_vars(compose, known, host.name, strict)
        plugin._add_host_to_composed_groups(groups, known, host.name, strict)
        plugin._add_host_to_keyed_groups(keyed, known, host.name, strict)


def _mark(inventory: InventoryData, found: plan.Inventory, composed: Collection[str]) -> None:
    """Ansible takes no text of a plugin for a template, and its list writes each such text as a mapping, which AWX keeps as it is.

    So what cannot be a template is marked as harmless, and only the rest is written that way. Harmless is what is made of nothing but
    letters that no template begins with: a text may begin with other delimiters of its own, and whoever may write the status of a node
    would run what they like on the control node.
    """
    for host in found.hosts:
        variables = inventory.hosts[host.name].vars
        for name in {*host.variables, *composed} & set(variables):
            inventory.set_variable(host.name, name, _harmless(variables[name]))


def _harmless(value: t.Any) -> t.Any:
    if isinstance(value, str):
        return trust_as_template(value) if _HARMLESS.fullmatch(value) else value
    if isinstance(value, dict):
        return {key: _harmless(item) for key, item in value.items()}
    return [_harmless(item) for item in value] if isinstance(value, list) else value
