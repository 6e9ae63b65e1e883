# SPDX-License-Identifier: Apache-2.0
"""What the kernel knows by number: one table in memory that outlives the process that writes it."""
