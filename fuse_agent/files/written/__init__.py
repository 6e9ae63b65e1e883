# SPDX-License-Identifier: Apache-2.0
"""What is written, from its first byte until the source has it, whoever dies meanwhile."""
