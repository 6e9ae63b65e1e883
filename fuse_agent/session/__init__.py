# SPDX-License-Identifier: Apache-2.0
"""Between the kernel and the file system: who reads requests, answers them, and mounts."""
