# SPDX-License-Identifier: Apache-2.0
"""Measurements; each writes build/bench/<name>.json and prints a table."""
