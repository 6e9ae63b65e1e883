# SPDX-License-Identifier: Apache-2.0
"""What is known of names and folders, and for how long: asked of the source, or kept by an earlier mount."""
