# SPDX-License-Identifier: Apache-2.0
"""What files hold: from the caches or the source, before somebody asks where that pays."""
