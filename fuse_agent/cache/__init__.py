# SPDX-License-Identifier: Apache-2.0
"""What was read before, on a disk and in memory. Knows nothing of where data come from, nor of who reads them."""
