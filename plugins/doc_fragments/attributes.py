# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
    details: Asks the API server what it would do, and writes nothing. What is not there yet, such as a kind or a namespace, is told from the declaration.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: full
    details: Secrets are hidden; that one changed is shown.
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second invocation indicates no change.
    support: full
  action:
    description: Indicates this has a corresponding action plugin so some parts of the options can be executed on the controller.
    support: full
    details: Where it would run on the control node, as the same user and by the same Python, no process is started for it.
  action_group:
    description: Use C(group/paddleflow.core.paddleflow) in C(module_defaults) to set the connection for all modules.
    support: full
    membership: [paddleflow.core.paddleflow]
  platform:
    description: Target OS or families that can be operated against.
    platforms: posix
    support: full
"""

    INFO = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
    details: It only reads.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: none
    details: It changes nothing.
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second invocation indicates no change.
    support: full
  action:
    description: Indicates this has a corresponding action plugin so some parts of the options can be executed on the controller.
    support: full
    details: Where it would run on the control node, as the same user and by the same Python, no process is started for it.
  action_group:
    description: Use C(group/paddleflow.core.paddleflow) in C(module_defaults) to set the connection for all modules.
    support: full
    membership: [paddleflow.core.paddleflow]
  platform:
    description: Target OS or families that can be operated against.
    platforms: posix
    support: full
"""
