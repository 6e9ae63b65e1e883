# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""Argument specifications: the connection and what all modules share, beside a noun's own options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core.model import options

if TYPE_CHECKING:
    from .._core.model.table import Noun

    Spec = dict[str, Any]

# The names of kubernetes.core, so that playbooks, module_defaults and AWX credentials carry over.
AUTH: Spec = {
    "kubeconfig": {"type": "raw"},
    "context": {"type": "str"},
    "host": {"type": "str"},
    "api_key": {"type": "str", "no_log": True},
    "username": {"type": "str"},
    "password": {"type": "str", "no_log": True},
    "validate_certs": {"type": "bool", "aliases": ["verify_ssl"]},
    "ca_cert": {"type": "path", "aliases": ["ssl_ca_cert"]},
    "client_cert": {"type": "path", "aliases": ["cert_file"]},
    "client_key": {"type": "path", "aliases": ["key_file"], "no_log": False},
    "proxy": {"type": "str"},
    "no_proxy": {"type": "str"},
    "proxy_headers": {"type": "dict", "no_log": True},
    "impersonate_user": {"type": "str"},
    "impersonate_groups": {"type": "list", "elements": "str"},
}
WRITE: Spec = {
    "force_conflicts": {"type": "bool", "default": False},
    "recreate": {"type": "bool", "default": False},
    "return_content": {"type": "bool", "default": False},
    "wait_timeout": {"type": "int", "default": 120},
}
# Of what has a state that can be waited for.
WAIT: Spec = {"wait": {"type": "bool", "default": False}}
READ: Spec = {
    "label_selectors": {"type": "list", "elements": "str"},
    "field_selectors": {"type": "list", "elements": "str"},
    "timeout": {"type": "int", "default": 60},
}
# What every object has beside its noun's own fields; given once for a list, they are the defaults of its items.
SHARED: Spec = {"labels": {"type": "dict"}, "annotations": {"type": "dict"}}


def info(noun: Noun) -> Spec:
    """The whole specification of a noun's info module."""
    place: Spec = {"namespace": {"type": "str"}, "all_namespaces": {"type": "bool", "default": False}}
    return {"name": {"type": "str"}, **(place if noun["scope"] == "Namespaced" else {}), **READ, **AUTH}


def of(noun: Noun) -> Spec:
    """The whole specification of a noun's module: one object by its options, or several by `objects`."""
    place: Spec = {"namespace": {"type": "str"}} if noun["scope"] == "Namespaced" else {}
    one: Spec = {
        "name": {"type": "str"},
        **place,
        **({} if noun.get("foreign") else SHARED),
        "state": {"type": "str", "choices": options.states(noun)},
        **options.fields(noun["spec"]),
    }
    wait = WAIT if "ready" in noun else {}
    return {**one, "objects": {"type": "list", "elements": "dict", "options": one}, **AUTH, **WRITE, **wait}
