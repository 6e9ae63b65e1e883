# SPDX-License-Identifier: Apache-2.0
"""What the tests against real parts share: the compiled binaries, a control plane, plays, and the state of the host."""
