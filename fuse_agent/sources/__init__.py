# SPDX-License-Identifier: Apache-2.0
"""Where files come from. Everything here waits for its answers, and may be called from several threads at once."""
