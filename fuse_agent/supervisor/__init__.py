# SPDX-License-Identifier: Apache-2.0
"""Holds a mount, and what its workers know, while workers come and go."""
