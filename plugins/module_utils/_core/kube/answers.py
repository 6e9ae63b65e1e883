# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""From the Status with which an API server says no to the error that says why, and what to do."""

from __future__ import annotations

import base64
import json
import re
import typing as t
from datetime import UTC, datetime

from . import errors
from .errors import Asked, FieldProblem, Owner

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .connection import Credentials

# A message quotes values, and a value may be a whole pod template; a policy's says the remedy at its end.
LONGEST = 800
# Of a message about one field.
LONG = 200
_IMMUTABLE = re.compile(
    r"immutable|may not (?:be )?change|cannot (?:be )?change|updates to \w+ spec for fields other than|is not allowed to change"
)
_VALUE = re.compile(r"Invalid value: .*?: (?=[^:]*$)", re.DOTALL)
_CANNOT = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) (?:resource "(?P<resource>[^"]+)"(?: in API group "(?P<group>[^"]*)")?'
    r'|path "(?P<path>[^"]+)")'
)
# Server-side apply says 500 to fields that are not of the kind's schema.
_WRONG_TYPE = re.compile(
    r"failed to (?:create typed|create manager for existing|convert new object).*?; [^)]*\)(?: to proper version)?: (?P<said>.*)",
    re.DOTALL,
)
_GO_VALUE = re.compile(r"&value\.value\w*\{Value:(.*?)\}")
_MANAGER = re.compile(r'conflict with "([^"]*)"')


class Answer(t.NamedTuple):
    code: int
    body: bytes
    asked: Asked
    # Where the server and the credentials came from: "the API server https://… (the kubeconfig …, context lab)".
    server: str
    credentials: Credentials


def status_of(body: bytes) -> Mapping[str, t.Any]:
    """The Status in a body; of anything else (a proxy's page, `404 page not found`) its beginning as the message."""
    try:
        status = json.loads(body)
    except ValueError:
        text = " ".join(re.sub(r"<[^>]*>", " ", body[:4000].decode("utf-8", "replace")).split())
        return {"message": _short(text)}
    return status if isinstance(status, dict) else {"message": _short(str(status))}


def error(answer: Answer) -> errors.StatusError:
    status = status_of(answer.body)
    make = _BY_CODE.get(answer.code) or (_server_error if answer.code >= 500 else _invalid)
    if make is _server_error and _WRONG_TYPE.search(str(status.get("message") or "")):
        make = _wrong_type
    made = make(answer, status)
    made.reason = str(status.get("reason") or "")
    return made


def _short(text: str) -> str:
    text = "".join(letter if letter.isprintable() else " " for letter in text).strip()
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


def _message(status: Mapping[str, t.Any]) -> str:
    return _short(str(status.get("message") or "it gave no reason")).rstrip(".")


def _details(status: Mapping[str, t.Any]) -> Mapping[str, t.Any]:
    details = status.get("details")
    return details if isinstance(details, dict) else {}


def _causes(status: Mapping[str, t.Any]) -> list[Mapping[str, t.Any]]:
    causes = _details(status).get("causes")
    return [cause for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else []


def _unauthorized(answer: Answer, status: Mapping[str, t.Any]) -> errors.StatusError:
    said = expired(answer.credentials, datetime.now(UTC)) or _message(status)
    text = f"Could not {answer.asked}: {answer.server} does not accept the credentials ({said}): log in again, or renew them."
    return errors.UnauthorizedError(text, answer.asked, answer.code)


def expired(credentials: Credentials, now: datetime) -> str:
    """What the server does not say: that a certificate or token has run out. Empty when that is not it."""
    if credentials.certificate:
        from ..plan.certificate import CertificateError, validity

        try:
            begin, end = validity(credentials.certificate.decode("ascii", "replace"))
        except CertificateError:
            return ""
        if now < begin:
            return f"the client certificate is valid from {begin:%Y-%m-%d %H:%M} UTC on"
        return f"the client certificate expired on {end:%Y-%m-%d %H:%M} UTC" if now > end else ""
    claims = credentials.token.split(".")
    try:
        # Of a JSON web token, such as service accounts have; not trusted, only told.
        end = datetime.fromtimestamp(json.loads(base64.urlsafe_b64decode(claims[1] + "=="))["exp"], UTC)
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, OSError):
        return ""
    return f"the token expired on {end:%Y-%m-%d %H:%M} UTC" if now > end else ""


def _forbidden(answer: Answer, status: Mapping[str, t.Any]) -> errors.StatusError:
    message = _message(status)
    found = _CANNOT.search(str(status.get("message") or ""))
    if found is None:
        text = f"Could not {answer.asked}: the server refuses it: {message}."
        made = errors.ForbiddenError(text, answer.asked, answer.code)
        made.permission = False
        return made
    if found["path"]:
        what = found["path"]
    else:
        what = f"{found['resource']}.{found['group']}" if found["group"] else found["resource"]
        what += f" {answer.asked.name}" if answer.asked.name else ""
        what += f" in the namespace {answer.asked.namespace}" if answer.asked.namespace else ""
    text = f"Could not {answer.asked}: {found['user']} may not {found['verb']} {what} at {answer.server}: bind it to a role that allows it."
    return errors.ForbiddenError(text, answer.asked, answer.code)


def _not_found(answer: Answer, status: Mapping[str, t.Any]) -> errors.StatusError:
    asked, details = answer.asked, _details(status)
    if not details.get("name"):
        text = (
            f"Could not {asked}: {answer.server} does not serve {asked.kind} of {asked.api_version}: install its "
            "CustomResourceDefinition (roles crds and volcano), or correct apiVersion and kind."
        )
        return errors.KindNotServedError(text, asked, answer.code)
    if details.get("kind") == "namespaces" and asked.kind != "Namespace":
        text = f"Could not {asked}: the namespace {details['name']} does not exist: create it first."
    else:
        text = f"Could not {asked}: it does not exist."
    return errors.NotFoundError(text, asked, answer.code)


def _conflict(answer: Answer, status: Mapping[str, t.Any]) -> errors.StatusError:
    asked = answer.asked
    if status.get("reason") == "AlreadyExists":
        return errors.AlreadyExistsError(f"Could not {asked}: it exists already.", asked, answer.code)
    owners = []
    for cause in _causes(status):
        if cause.get("reason") == "FieldManagerConflict":
            manager = _MANAGER.search(str(cause.get("message") or ""))
            owners.append(Owner(str(cause.get("field") or ""), manager[1] if manager else "another manager"))
    if owners:
        listed = ", ".join(f"{owner.field} belongs to {owner.manager}" for owner in owners)
        text = f"Could not {asked}: {listed}: leave these fields to their managers, or take them over with force_conflicts."
    else:
        text = f"Could not {asked}: it is not in the state that was expected ({_message(status)}): read it again."
    made = errors.ConflictError(text, asked, answer.code)
    made.owners = owners
    return made


def _gone(answer: Answer, status: Mapping[str, t.Any]) -> errors.StatusError:
    text = f"Could not {answer.asked}: what it goes on from is too old ({_message(status)})."
    return errors.GoneError(text, answer.asked, answer.code)


def _too_large(answer: Answer, status: Mapping[str, t.Any]) -> errors.StatusError:
    text = f"Could not {answer.asked}: the object is too large ({_message(status)}): an API server takes up to 3 MiB, etcd 1.5 MiB."
    return errors.TooLargeError(text, answer.asked, answer.code)


def _invalid(answer: Answer, status: Mapping[str, t.Any]) -> errors.StatusError:
    asked = answer.asked
    problems = [_problem(cause, secret=asked.kind == "Secret") for cause in _causes(status)]
    problems.sort(key=lambda one: (not one.field, one))
    said = _said(problems) or _message(status)
    frozen = [one.field for one in problems if one.reason == "Immutable"]
    remedy = ""
    if frozen:
        remedy = f" To change {' and '.join(dict.fromkeys(frozen))} of what exists, it has to be deleted and made anew (recreate)."
    made = errors.InvalidError(f"Could not {asked}: {said}.{remedy}", asked, answer.code)
    made.problems = problems
    return made


def _said(problems: list[FieldProblem]) -> str:
    return "; ".join(f"{one.field}: {one.message}" if one.field else one.message for one in problems)


def _wrong_type(answer: Answer, status: Mapping[str, t.Any]) -> errors.StatusError:
    asked, found = answer.asked, _WRONG_TYPE.search(str(status.get("message") or ""))
    problems = []
    for line in found["said"].splitlines() if found else ():
        field, _colon, message = line.strip().partition(": ")
        if not field.startswith("."):
            field, message = "", line.rpartition("decoding from json: ")[2]
        message = message.partition(", got")[0] if asked.kind == "Secret" else _GO_VALUE.sub(r"\1", message)
        problems.append(FieldProblem(field.removeprefix("."), "Invalid", _short(message)))
    said = _said(problems)
    made = errors.InvalidError(f"Could not {asked}: {said}.", asked, answer.code)
    made.problems = problems
    return made


def _problem(cause: Mapping[str, t.Any], *, secret: bool) -> FieldProblem:
    """One cause. The value is left out when it is long, or may be secret; so is a dump of Go's structures."""
    # Of a rule over several fields the server says that the value is "object".
    message = str(cause.get("message") or "").removeprefix('Invalid value: "object": ')
    reason = str(cause.get("reason") or "")
    field = str(cause.get("field") or "")
    if field == "<nil>":
        field = ""
    if _IMMUTABLE.search(message):
        reason = "Immutable"
    if secret or len(message) > LONG or "{" in message:
        message = _VALUE.sub("", message)
    if secret and "Invalid value" in message:
        message = reason
    return FieldProblem(field, reason, _short(message).rstrip("."))


def _throttled(answer: Answer, status: Mapping[str, t.Any]) -> errors.StatusError:
    text = f"Could not {answer.asked}: {answer.server} is too busy ({_message(status)}): try again later."
    return errors.ThrottledError(text, answer.asked, answer.code)


def _server_error(answer: Answer, status: Mapping[str, t.Any]) -> errors.StatusError:
    said = _message(status)
    where = "a webhook on its way" if "calling webhook" in said else answer.server
    text = f"Could not {answer.asked}: {where} failed with {answer.code} ({said}): look at its log."
    return errors.ServerError(text, answer.asked, answer.code)


_BY_CODE = {
    401: _unauthorized,
    403: _forbidden,
    404: _not_found,
    409: _conflict,
    410: _gone,
    413: _too_large,
    429: _throttled,
}
