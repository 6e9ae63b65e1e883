# SPDX-License-Identifier: Apache-2.0
"""Every way in which an API server says no has its class and its sentence, and none of them shows bytes or secrets."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from paddleflow_core.kube import errors
from paddleflow_core.kube.answers import Answer, error, expired
from paddleflow_core.kube.connection import Credentials
from paddleflow_core.kube.errors import Asked, FieldProblem, Owner

ASKED = Asked("apply", "ConfigMap", "settings", "team", "v1")
SERVER = "the API server https://lab:6443 (the kubeconfig lab.conf, context lab)"


def refused(code: int, body: Any, asked: Asked = ASKED, credentials: Credentials | None = None) -> errors.StatusError:
    content = body if isinstance(body, bytes) else json.dumps({"kind": "Status", "code": code, **body}).encode()
    return error(Answer(code, content, asked, SERVER, credentials or Credentials()))


def test_forbidden_says_who_may_not_do_what_where() -> None:
    message = (
        'queues.scheduling.volcano.sh "ml" is forbidden: User "ann" cannot patch resource "queues" in API group '
        '"scheduling.volcano.sh" at the cluster scope'
    )
    found = refused(403, {"reason": "Forbidden", "message": message}, Asked("apply", "Queue", "ml"))
    assert isinstance(found, errors.ForbiddenError)
    assert found.permission
    assert str(found) == (
        "Could not apply Queue ml: ann may not patch queues.scheduling.volcano.sh ml at "
        f"{SERVER}: bind it to a role that allows it."
    )


def test_forbidden_in_a_namespace_and_for_a_path() -> None:
    message = 'secrets is forbidden: User "system:serviceaccount:team:job" cannot list resource "secrets" in API group "" in the namespace "team"'
    assert "system:serviceaccount:team:job may not list secrets in the namespace team at" in str(
        refused(403, {"message": message}, Asked("list", "Secret", "", "team"))
    )
    message = 'forbidden: User "ann" cannot get path "/version"'
    assert "ann may not get /version at" in str(refused(403, {"message": message}, Asked("get the version")))


def test_what_admission_refuses_is_no_missing_permission() -> None:
    message = 'admission webhook "grants.paddleflow.org" denied the request: the queue ml is not granted to team'
    found = refused(403, {"reason": "Forbidden", "message": message})
    assert isinstance(found, errors.ForbiddenError)
    assert not found.permission
    assert str(found) == f"Could not apply ConfigMap team/settings: the server refuses it: {message}."


@pytest.mark.parametrize(
    ("body", "kind", "sentence"),
    [
        (
            {"reason": "NotFound", "details": {"name": "settings", "kind": "configmaps"}},
            errors.NotFoundError,
            "Could not apply ConfigMap team/settings: it does not exist.",
        ),
        (
            {"reason": "NotFound", "details": {"name": "team", "kind": "namespaces"}},
            errors.NotFoundError,
            "Could not apply ConfigMap team/settings: the namespace team does not exist: create it first.",
        ),
        (
            b"404 page not found\n",
            errors.KindNotServedError,
            (
                f"Could not apply ConfigMap team/settings: {SERVER} does not serve ConfigMap of v1: install its"
                " CustomResourceDefinition (roles crds and volcano), or correct apiVersion and kind."
            ),
        ),
        (
            {"reason": "NotFound", "message": "the server could not find the requested resource", "details": {}},
            errors.KindNotServedError,
            None,
        ),
    ],
)
def test_a_missing_object_is_not_a_missing_kind(body: Any, kind: type[Exception], sentence: str | None) -> None:
    found = refused(404, body)
    assert found.__class__ is kind
    assert sentence in (None, str(found))


def test_a_conflict_names_fields_and_their_managers() -> None:
    causes = [
        {"reason": "FieldManagerConflict", "message": 'conflict with "kubectl" using v1', "field": ".data.a"},
        {"reason": "FieldManagerConflict", "message": 'conflict with "helm" with subresource "status" using v1', "field": ".status"},
    ]  # fmt: skip
    found = refused(409, {"reason": "Conflict", "details": {"causes": causes}})
    assert isinstance(found, errors.ConflictError)
    assert found.owners == [Owner(".data.a", "kubectl"), Owner(".status", "helm")]
    assert str(found) == (
        "Could not apply ConfigMap team/settings: .data.a belongs to kubectl, .status belongs to helm: "
        "leave these fields to their managers, or take them over with force_conflicts."
    )


def test_a_conflict_of_versions_has_no_owners() -> None:
    found = refused(409, {"reason": "Conflict", "message": "the object has been modified"})
    assert isinstance(found, errors.ConflictError)
    assert found.owners == []
    assert "not in the state that was expected (the object has been modified)" in str(found)


def test_what_exists_already() -> None:
    found = refused(409, {"reason": "AlreadyExists"}, Asked("create", "Queue", "ml"))
    assert isinstance(found, errors.AlreadyExistsError)
    assert str(found) == "Could not create Queue ml: it exists already."


@pytest.mark.parametrize(
    "message",
    [
        "Invalid value: core.PodTemplateSpec{" + "x" * 5000 + "}: field is immutable",
        'Invalid value: "b": cannot be changed',
        "Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
        "Forbidden: pod updates may not change fields other than image",
        'Invalid value: "10.0.0.1": may not change once set',
    ],
)
def test_an_immutable_field_is_recognised_and_named(message: str) -> None:
    causes = [
        {"reason": "FieldValueInvalid", "message": message, "field": "spec.template"},
        {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.name"},
    ]
    found = refused(422, {"reason": "Invalid", "details": {"causes": causes}})
    assert isinstance(found, errors.InvalidError)
    assert found.immutable == ["spec.template"]
    assert "To change spec.template of what exists, it has to be deleted and made anew (recreate)." in str(found)
    assert len(str(found)) < 600


def test_what_a_rule_over_several_fields_was_given_is_not_told() -> None:
    cause = {
        "reason": "FieldValueInvalid",
        "message": 'Invalid value: "object": owner: it stays',
        "field": "spec.owner",
    }
    found = refused(422, {"reason": "Invalid", "details": {"causes": [cause]}})
    assert "spec.owner: owner: it stays." in str(found)


def test_a_field_that_is_wrong_in_two_ways_is_named_once_in_the_remedy() -> None:
    causes = [
        {"reason": "FieldValueInvalid", "message": f"cannot be changed {when}", "field": "spec.uri"}
        for when in ("now", "ever")
    ]
    found = refused(422, {"reason": "Invalid", "details": {"causes": causes}})
    assert "To change spec.uri of what exists" in str(found)


def test_wrong_fields_are_listed() -> None:
    """In one order: the server's is another one each time."""
    causes = [{"reason": "FieldValueInvalid", "message": "no such thing", "field": "<nil>"}]
    causes.append(
        {"reason": "FieldValueInvalid", "message": 'Invalid value: "x": must be a number', "field": "spec.cpu"}
    )
    found = refused(422, {"reason": "Invalid", "details": {"causes": causes}})
    assert str(found) == (
        'Could not apply ConfigMap team/settings: spec.cpu: Invalid value: "x": must be a number; no such thing.'
    )
    assert isinstance(found, errors.InvalidError)
    assert found.immutable == []


def test_values_of_a_secret_are_never_shown() -> None:
    causes = [
        {"reason": "FieldValueInvalid", "message": 'Invalid value: "s3cret": must be base64', "field": "data.a"},
        {"reason": "FieldValueInvalid", "message": 'Invalid value: "s3cret"', "field": "data.b"},
    ]
    found = refused(422, {"details": {"causes": causes}}, Asked("apply", "Secret", "keys", "team"))
    assert str(found) == "Could not apply Secret team/keys: data.a: must be base64; data.b: FieldValueInvalid."
    message = "failed to create typed patch object (team/keys; /v1, Kind=Secret): .data.a: expected string, got &value.valueUnstructured{Value:s3cret}"
    found = refused(500, {"message": message}, Asked("apply", "Secret", "keys", "team"))
    assert str(found) == "Could not apply Secret team/keys: data.a: expected string."


def test_fields_that_a_kind_does_not_have_are_bad_input_though_the_server_says_500() -> None:
    said = ".spec.cpus: field not declared in schema\n.spec.n: expected numeric (int or float), got &value.valueUnstructured{Value:many}"
    found = refused(
        500, {"message": f"failed to create typed patch object (team/settings; /v1, Kind=ConfigMap): {said}"}
    )
    assert isinstance(found, errors.InvalidError)
    assert found.problems == [
        FieldProblem("spec.cpus", "Invalid", "field not declared in schema"),
        FieldProblem("spec.n", "Invalid", "expected numeric (int or float), got many"),
    ]


def test_what_cannot_be_decoded_is_bad_input_too() -> None:
    message = (
        "failed to convert new object (team/keys; /v1, Kind=Secret) to proper version: unable to convert unstructured "
        "object to /v1, Kind=Secret: error decoding from json: illegal base64 data at input byte 3"
    )
    found = refused(500, {"message": message}, Asked("apply", "Secret", "keys", "team"))
    assert found.__class__ is errors.InvalidError
    assert str(found) == "Could not apply Secret team/keys: illegal base64 data at input byte 3."


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (400, errors.InvalidError, "because"),
        (415, errors.InvalidError, "because"),
        (302, errors.InvalidError, "because"),
        (410, errors.GoneError, "too old (because)"),
        (413, errors.TooLargeError, "too large (because)"),
        (429, errors.ThrottledError, "is too busy (because)"),
        (500, errors.ServerError, f"{SERVER} failed with 500 (because)"),
        (503, errors.ServerError, "failed with 503"),
    ],
)
def test_other_codes(code: int, kind: type[Exception], words: str) -> None:
    found = refused(code, {"reason": "Why", "message": "because."})
    assert found.__class__ is kind
    assert words in str(found)
    assert (found.code, found.reason, found.asked) == (code, "Why", ASKED)


def test_a_webhook_that_fails_is_named_instead_of_the_server() -> None:
    message = 'Internal error occurred: failed calling webhook "validatequeue.volcano.sh": connection refused'
    assert "a webhook on its way failed with 500" in str(refused(500, {"message": message}))


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"<html><body>\n<h1>Bad &amp; Gateway</h1></body></html>", "Bad &amp; Gateway"),
        (b"\xff\xfe\x1b[31mred", "\ufffd\ufffd [31mred"),
        (b"", "it gave no reason"),
        (b"[1]", "[1]"),
        (b'{"message": 3}', "3"),
        (b'{"message": "x", "details": {"causes": [3, {"reason": null}]}}', "x"),
        (b'{"message": "x", "details": []}', "x"),
    ],
)  # fmt: skip
def test_whatever_comes_is_told_as_text(body: bytes, shown: str) -> None:
    assert f"({shown})" in str(refused(502, body))
    for code in (400, 401, 403, 404, 409, 410, 413, 422, 429):
        assert "b'" not in str(refused(code, body))


def test_what_is_endless_is_cut() -> None:
    assert len(str(refused(502, {"message": "x" * 10**6}))) < 1000


def token(claims: object) -> str:
    return "e30." + base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=") + ".c2ln"


NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        (token({"exp": 1_700_000_000}), "the token expired on 2023-11-14 22:13 UTC"),
        (token({"exp": 4_000_000_000}), ""),
        (token({"exp": "soon"}), ""),
        (token([]), ""),
        ("opaque", ""),
        ("a.b.c", ""),
        ("", ""),
    ],
)
def test_a_token_that_ran_out_is_told(secret: str, said: str) -> None:
    assert expired(Credentials(token=secret), NOW) == said


def test_unauthorized_says_where_the_credentials_came_from_and_not_what_they_are() -> None:
    found = refused(401, {"message": "Unauthorized"}, credentials=Credentials(token="s3cret"))
    assert isinstance(found, errors.UnauthorizedError)
    assert str(found) == (
        f"Could not apply ConfigMap team/settings: {SERVER} does not accept the credentials (Unauthorized): "
        "log in again, or renew them."
    )


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (NOW, "the client certificate expired on 2026-01-01 00:00 UTC"),
        (NOW.replace(year=2025), ""),
        (NOW.replace(year=2024), "the client certificate is valid from 2025-01-01 00:00 UTC on"),
    ],
)
def test_a_certificate_that_ran_out_is_told(now: datetime, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """How its times are read is plan's matter."""
    times = (datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC))
    monkeypatch.setattr("paddleflow_core.plan.certificate.validity", lambda _pem: times)
    assert expired(Credentials(certificate=b"PEM", key=b"x"), now) == said


def test_a_certificate_that_is_none_is_not_told_as_expired() -> None:
    assert expired(Credentials(certificate=b"nonsense", key=b"x"), NOW) == ""


def test_the_words_of_a_request() -> None:
    assert str(Asked("list", "Pod", "", "team", "v1", "after 500 objects")) == "list Pod in team (after 500 objects)"
    assert str(Asked("get", "Queue", "ml")) == "get Queue ml"
    assert str(Asked("list", "Queue")) == "list Queue"
    assert str(Asked("get the version")) == "get the version"
