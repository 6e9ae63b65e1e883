# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  force_conflicts:
    description: Whether fields that another manager owns are taken over. Without it, such a field is an error that names the manager.
    type: bool
    default: false
  recreate:
    description:
      - Whether an object is removed and made anew when a field of it cannot be changed.
      - It is not when the new one would be refused for another reason, as far as the API server can tell before.
    type: bool
    default: false
  return_content:
    description: Whether each object itself is returned too.
    type: bool
    default: false
  wait_timeout:
    description: Seconds that everything may take, the waiting included.
    type: int
    default: 120
"""
