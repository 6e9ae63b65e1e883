# SPDX-License-Identifier: Apache-2.0
"""The file system: what the kernel asks of it, from what the nodes, the caches and the source know."""
