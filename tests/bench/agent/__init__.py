# SPDX-License-Identifier: Apache-2.0
"""The agent beside its peers: what is measured, of whom, on which stand."""
