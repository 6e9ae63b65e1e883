# SPDX-License-Identifier: Apache-2.0
"""What passes over /dev/fuse: bytes on one side, plain values on the other. No input or output, and no state."""
