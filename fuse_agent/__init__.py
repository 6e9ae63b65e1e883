# SPDX-License-Identifier: Apache-2.0
"""The file system: a mount over object stores and other sources, with a cache in two tiers."""
