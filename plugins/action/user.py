# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.paddleflow.core.plugins.modules import user
from ansible_collections.paddleflow.core.plugins.plugin_utils.here import HereAction


class ActionModule(HereAction):
    MODULE = user
