# SPDX-License-Identifier: Apache-2.0
"""The node's own tool: brings one embedded cluster's network, cgroups, mounts, certificates and services up and down.

Runs on the node with its system Python (3.9 or newer), standard library only. Every verb may be repeated: it looks,
does what is missing, and says what it changed.
"""
