# SPDX-License-Identifier: Apache-2.0
"""Serves a mount that a supervisor holds."""
