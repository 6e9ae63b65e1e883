# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Whether ``images_registry`` can be where the images are pushed to and pulled from.

What is wrong with it is told before the node's configuration names the images: a node whose sandbox image cannot be named
starts no pod any more.
"""

from __future__ import annotations

import re
import typing as t

from .finding import Finding

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# The grammar of image references, for a host that no reader takes for a folder of docker.io: with a dot, a port, or localhost.
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = rf"(?:localhost|(?=[^/]*[.:])(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:]+\]))(?::[0-9]{{1,5}})?"
_PREFIX = r"(?:/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*"
_REGISTRY = re.compile(_HOST + _PREFIX)


def registry_findings(registry: str, answers: Sequence[Mapping[str, t.Any]] = ()) -> Iterator[Finding]:
    """What is wrong with the variable, and with the registry as this machine sees it.

    :param registry: the value of ``images_registry``; empty: there is none
    :param answers: results of the requests (module ``uri``), one for each scheme that the push may use; any answer is one
    """
    if not registry:
        return
    if not _REGISTRY.fullmatch(registry):
        yield Finding(
            "error",
            "registry",
            "The variable images_registry",
            f"is {registry!r}",
            "it has to be host[:port]/prefix: the host with a dot, a port or as localhost, the prefix in small letters",
            "set it to something like registry.example.org/platform, without https:// and without a tag",
        )
        return
    asked = [answer for answer in answers if not answer.get("skipped")]
    if asked and all(int(answer.get("status") or -1) < 0 for answer in asked):
        reason = "; ".join(dict.fromkeys(_reason(answer) for answer in asked))
        yield Finding(
            "error",
            "registry",
            f"The registry {registry.partition('/')[0]} of the variable images_registry",
            f"does not answer the control node ({reason})",
            "the images are pushed there",
            "start it or correct the variable; images_push: false says that somebody else brings the images there",
        )


def _reason(answer: Mapping[str, t.Any]) -> str:
    """``uri`` puts a sentence of its own before what the connection said."""
    return str(answer.get("msg") or "no reason was given").rpartition("Request failed: ")[2].rstrip(".")
