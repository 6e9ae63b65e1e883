# SPDX-License-Identifier: Apache-2.0
"""The file systems that are declared for a machine, brought to what is declared. The role fuse_agent calls it."""
