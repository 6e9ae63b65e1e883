# SPDX-License-Identifier: Apache-2.0
"""Buckets of S3 and of what speaks like it, as a store of objects."""
