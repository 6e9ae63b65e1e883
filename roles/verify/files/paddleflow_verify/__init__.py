# SPDX-License-Identifier: Apache-2.0
"""Proof that an installation works, and the demonstration of the quickstart. Standard library only; drives kubectl."""
