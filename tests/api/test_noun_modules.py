# SPDX-License-Identifier: Apache-2.0
"""The modules of the nouns that are objects of our own, against a real API server: what each does that the others do not.
What all share is tested with the module queue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import modules
from tests.support.control_plane import ControlPlane
from tests.support.kube_api import define, kubeconfig
from tools import tree

NAMESPACE = "nouns"
S3 = {"endpoint": "https://minio.example.org"}
KEYS = {"access_key": "AKEXAMPLE", "secret_key": "planted-secret"}
OTHERS = {"name": "somebody-elses"}


@pytest.fixture(scope="module")
def served(api: ControlPlane) -> ControlPlane:
    define(api, tree.ROOT / "crds")
    api.kubectl("create", "namespace", NAMESPACE)
    return api


def run(api: ControlPlane, module: str, check: bool = False, **options: Any) -> dict[str, Any]:
    place = {} if module == "flavour" else {"namespace": NAMESPACE}
    answer = modules.run(module, {"kubeconfig": str(api.kubeconfig), **place, **options}, check=check, diff=True)
    assert "planted" not in json.dumps({key: value for key, value in answer.items() if key != "invocation"})
    return answer


def done(api: ControlPlane, module: str, **options: Any) -> list[str]:
    answer = run(api, module, **options)
    assert "failed" not in answer, answer
    return [f"{one['kind']} {one['action']}" for one in answer["objects"]]


def live(api: ControlPlane, kind: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(api.kubectl("get", kind, name, f"--namespace={NAMESPACE}", "--output=json"))
    return found


def there(api: ControlPlane, kind: str, name: str) -> bool:
    return bool(api.kubectl("get", kind, name, f"--namespace={NAMESPACE}", "--ignore-not-found", "--output=name"))


def status(api: ControlPlane, kind: str, name: str, **found: Any) -> None:
    """As a controller would write it."""
    patch = json.dumps({"status": found})
    api.kubectl(
        "patch", kind, name, f"--namespace={NAMESPACE}", "--subresource=status", "--type=merge", f"--patch={patch}"
    )


# ---- flavour ----------------------------------------------------------------------------------------------------------


def test_a_flavour_with_a_name_that_no_object_can_have(served: ControlPlane) -> None:
    size: dict[str, Any] = {"cpu": "1000m", "memory": "1Gi"}
    assert done(served, "flavour", name="Größe_1", **size) == ["Flavour created"]
    assert done(served, "flavour", name="Größe_1", cpu=1, memory="1024Mi") == ["Flavour unchanged"]
    assert done(served, "flavour", name="Größe_1", state="absent") == ["Flavour deleted"]


def test_a_field_that_cannot_be_changed_is_named_and_recreate_makes_it_anew(served: ControlPlane) -> None:
    size: dict[str, Any] = {"name": "fixed", "cpu": 1, "memory": "1Gi"}
    assert done(served, "flavour", **size, cluster_name="lab-1") == ["Flavour created"]
    refused = run(served, "flavour", **size, cluster_name="lab-2")
    assert refused["failed"]
    assert "clusterName" in refused["msg"]
    assert "recreate" in refused["msg"]
    assert done(served, "flavour", **size, cluster_name="lab-2", recreate=True) == ["Flavour recreated"]


# ---- filesystem ---------------------------------------------------------------------------------------------------------


def test_keys_go_into_a_secret_and_are_never_shown(served: ControlPlane) -> None:
    options: dict[str, Any] = {"name": "corpus", "url": "s3://corpus/2026", "properties": {**S3, **KEYS}}
    assert done(served, "filesystem", **options) == ["Secret created", "FileSystem created"]
    assert "planted" not in json.dumps(live(served, "filesystem", "corpus"))
    assert done(served, "filesystem", **options) == ["Secret unchanged", "FileSystem unchanged"]
    changed = {**options, "properties": {**S3, **KEYS, "secret_key": "planted-anew"}}
    assert done(served, "filesystem", **changed) == ["Secret changed", "FileSystem changed"]
    assert done(served, "filesystem", name="corpus", state="absent") == ["FileSystem deleted", "Secret deleted"]


def test_a_secret_of_somebody_else_stays(served: ControlPlane) -> None:
    served.kubectl(
        "create", "secret", "generic", OTHERS["name"], "--from-literal=accessKey=a", f"--namespace={NAMESPACE}"
    )
    options: dict[str, Any] = {"name": "shared", "url": "s3://shared/", "properties": S3, "secret_ref": OTHERS}
    assert done(served, "filesystem", **options) == ["FileSystem created"]
    assert done(served, "filesystem", name="shared", state="absent") == ["FileSystem deleted", "Secret unchanged"]
    assert there(served, "secret", OTHERS["name"])


def test_grants_go_with_their_file_system(served: ControlPlane) -> None:
    """Whoever makes another one of that name grants it anew."""
    options = {"name": "Granted_1", "url": "s3://corpora/granted", "properties": {**S3, **KEYS}}
    done(served, "filesystem", **options)
    for name, granted in (("of-it", "Granted_1"), ("of-another", "granted")):
        given = {"name": name, "file_system": f"{NAMESPACE}/{granted}", "namespaces": ["default"]}
        assert modules.run("grant", {"kubeconfig": str(served.kubeconfig), **given})["changed"]
    said = ["FileSystem deleted", "Secret deleted", "ClusterRoleBinding deleted", "ClusterRole deleted"]
    would = run(served, "filesystem", name="Granted_1", state="absent", check=True)
    assert [f"{one['kind']} {one['action']}" for one in would["objects"]] == said
    assert done(served, "filesystem", name="Granted_1", state="absent") == said
    assert done(served, "filesystem", name="Granted_1", state="absent") == ["FileSystem unchanged", "Secret unchanged"]
    left = served.kubectl("get", "clusterroles,clusterrolebindings", "--output=name")
    assert ("paddleflow-grant-of-it" in left, left.count("paddleflow-grant-of-another")) == (False, 2)


def test_keys_that_are_not_declared_any_more_go_with_their_secret(served: ControlPlane) -> None:
    options: dict[str, Any] = {"name": "moved", "url": "bos://moved/"}
    kept = "paddleflow-filesystem-moved"
    done(served, "filesystem", **options, properties={**S3, **KEYS, "session_token": "planted-session"})
    # Fewer keys: the others go out of the Secret.
    assert done(served, "filesystem", **options, properties={**S3, **KEYS}) == ["Secret changed", "FileSystem changed"]
    assert list(live(served, "secret", kept)["data"]) == ["secretKey"]
    # What the object says, declared again, takes nothing away.
    again: dict[str, Any] = {**options, "properties": {**S3, "access_key": "AKEXAMPLE"}, "secret_ref": {"name": kept}}
    assert done(served, "filesystem", **again)[0] == "FileSystem changed"
    assert there(served, "secret", kept)

    referred: dict[str, Any] = {**options, "properties": S3, "secret_ref": OTHERS}
    would = run(served, "filesystem", check=True, **referred)
    assert [(one["kind"], one["action"]) for one in would["objects"]] == [
        ("FileSystem", "changed"),
        ("Secret", "deleted"),
    ]
    assert would["diff"][1]["before_header"] == f"Secret {NAMESPACE}/{kept}"
    assert "secretKey: hidden" in would["diff"][1]["before"]
    assert would["diff"][1]["after"] == ""
    assert there(served, "secret", kept)
    # An object that could not be written still needs it.
    patch = '{"spec":{"independentMountProcess":true}}'
    served.kubectl("patch", "filesystem", "moved", f"--namespace={NAMESPACE}", "--type=merge", f"--patch={patch}")
    refused = run(served, "filesystem", **referred, independent_mount_process=False)
    assert [(one["kind"], one["action"]) for one in refused["objects"]] == [
        ("FileSystem", "failed"),
        ("Secret", "kept"),
    ]
    assert there(served, "secret", kept)
    assert done(served, "filesystem", **referred) == ["FileSystem changed", "Secret deleted"]
    assert not there(served, "secret", kept)
    assert done(served, "filesystem", **referred) == ["FileSystem unchanged"]


def test_a_secret_that_somebody_else_gave_our_name_stays(served: ControlPlane) -> None:
    name = "paddleflow-filesystem-theirs"
    served.kubectl("create", "secret", "generic", name, "--from-literal=a=b", f"--namespace={NAMESPACE}")
    options: dict[str, Any] = {"name": "theirs", "url": "s3://theirs/", "properties": S3, "secret_ref": OTHERS}
    assert done(served, "filesystem", **options) == ["FileSystem created"]
    assert done(served, "filesystem", name="theirs", state="absent") == ["FileSystem deleted", "Secret unchanged"]
    assert there(served, "secret", name)


def test_who_may_not_read_secrets_can_declare_by_reference(served: ControlPlane, tmp_path: Path) -> None:
    served.kubectl("create", "role", "keyless", "--verb=get,list,patch,create", "--resource=filesystems.paddleflow.org",
                   f"--namespace={NAMESPACE}")  # fmt: skip
    served.kubectl("create", "rolebinding", "keyless", "--role=keyless", "--user=keyless", f"--namespace={NAMESPACE}")
    config = tmp_path / "config"
    config.write_text(json.dumps(kubeconfig(served, "keyless")))
    options: dict[str, Any] = {"name": "keyless", "url": "s3://keyless/", "properties": S3}

    def as_keyless(name: str) -> dict[str, Any]:
        given = {**options, "name": name, "secret_ref": OTHERS, "namespace": NAMESPACE}
        return modules.run("filesystem", {**given, "kubeconfig": str(config)})

    assert [one["action"] for one in as_keyless("keyless")["objects"]] == ["created"]
    assert [one["action"] for one in as_keyless("keyless")["objects"]] == ["unchanged"]
    # Where the object says that a Secret was made, not being able to take it away is told.
    done(served, "filesystem", **{**options, "name": "keyed", "properties": {**S3, **KEYS}})
    refused = as_keyless("keyed")
    assert [one["action"] for one in refused["objects"]] == ["changed", "failed"]
    assert "secrets" in refused["msg"]


def test_a_mode_has_to_be_written_as_text(served: ControlPlane) -> None:
    options: dict[str, Any] = {"name": "modes", "url": "sftp://files.example.org:22/data"}
    given = {"user": "reader", "password": "planted-password", "insecure_skip_verify": True}
    refused = run(served, "filesystem", **options, properties={**given, "file_mode": 493})
    assert refused["failed"]
    assert "file_mode is 493" in refused["msg"]
    assert done(served, "filesystem", **options, properties={**given, "file_mode": "755"})[-1] == "FileSystem created"
    assert live(served, "filesystem", "modes")["spec"]["properties"]["fileMode"] == "0755"


def test_the_namespace_counts_as_the_owner(served: ControlPlane) -> None:
    options: dict[str, Any] = {"name": "a" * (60 - len(NAMESPACE)), "url": "local://mnt/data"}
    refused = run(served, "filesystem", **options)
    assert (refused["code"], refused["field"]) == ("FileSystemNameFormatError", "name")
    assert f"name is 60 characters long together with the owner, {NAMESPACE}, but must be at most 59" in refused["msg"]
    assert not there(served, "filesystem", options["name"])
    assert done(served, "filesystem", **options, owner="me") == ["FileSystem created"]


def test_waiting_for_a_file_system_says_what_keeps_it(served: ControlPlane) -> None:
    options: dict[str, Any] = {
        "name": "slow",
        "url": "s3://slow/",
        "properties": S3,
        "secret_ref": OTHERS,
        "wait": True,
    }
    condition = {"type": "Ready", "status": "False", "reason": "Unreachable", "message": "no route to the store"}
    condition["lastTransitionTime"] = "2026-01-31T08:00:00Z"
    run(served, "filesystem", **{**options, "wait": False})
    status(served, "filesystem", "slow", conditions=[condition])
    late = run(served, "filesystem", **options, wait_timeout=1)
    assert late["failed"]
    assert "its condition Ready is False, Unreachable: no route to the store" in late["msg"]
    status(served, "filesystem", "slow", conditions=[{**condition, "status": "True"}])
    assert done(served, "filesystem", **options) == ["FileSystem unchanged"]


# ---- filesystem_cache -----------------------------------------------------------------------------------------------------


def test_a_policy_is_one_part_of_its_file_system(served: ControlPlane) -> None:
    whole: dict[str, Any] = {"name": "cached", "url": "s3://cached/", "properties": S3, "secret_ref": OTHERS}
    done(served, "filesystem", **whole)
    policy: dict[str, Any] = {"name": "cached", "cache_dir": "/var/cache/x", "meta_driver": "disk", "quota": "200Gi"}
    assert done(served, "filesystem_cache", **policy) == ["FileSystem changed"]
    assert done(served, "filesystem_cache", **policy) == ["FileSystem unchanged"]
    # Neither module takes away what the other one declared.
    assert done(served, "filesystem", **whole) == ["FileSystem unchanged"]
    assert live(served, "filesystem", "cached")["spec"]["cache"]["quota"] == "200Gi"
    assert run(served, "filesystem_cache", check=True, name="cached", state="absent")["changed"]
    assert done(served, "filesystem_cache", name="cached", state="absent") == ["FileSystem changed"]
    assert done(served, "filesystem_cache", name="cached", state="absent") == ["FileSystem unchanged"]
    assert "quota" not in live(served, "filesystem", "cached")["spec"].get("cache", {})
    assert live(served, "filesystem", "cached")["spec"]["url"] == "s3://cached/"


def test_a_policy_without_its_file_system_is_refused(served: ControlPlane) -> None:
    refused = run(served, "filesystem_cache", name="nowhere", quota="1Gi")
    assert refused["msg"] == f"FileSystem {NAMESPACE}/nowhere does not exist: declare it first."
    # An earlier task of a play may only have said that it would make it.
    assert run(served, "filesystem_cache", check=True, name="nowhere", quota="1Gi")["changed"]
    assert done(served, "filesystem_cache", name="nowhere", state="absent") == ["FileSystem unchanged"]


def test_both_declaring_one_field_is_a_conflict_that_names_them(served: ControlPlane) -> None:
    whole: dict[str, Any] = {"name": "both", "url": "s3://both/", "properties": S3, "secret_ref": OTHERS}
    done(served, "filesystem", **whole, cache={"quota": "1Gi"})
    refused = run(served, "filesystem_cache", name="both", quota="2Gi")
    assert refused["failed"]
    assert "spec.cache.quota" in refused["msg"]
    assert "paddleflow" in refused["msg"]


# ---- filesystem_link, sampleset, samplejob ----------------------------------------------------------------------------------


def test_a_link_and_its_keys_come_and_go_together(served: ControlPlane) -> None:
    link: dict[str, Any] = {"name": "link", "file_system": "corpus", "path": "/more", "url": "s3://more/"}
    assert done(served, "filesystem_link", **link, properties={**S3, **KEYS}) == [
        "Secret created",
        "FileSystemLink created",
    ]
    assert done(served, "filesystem_link", name="link", state="absent") == ["FileSystemLink deleted", "Secret deleted"]


def test_no_link_is_made_within_another_or_where_there_are_none(served: ControlPlane) -> None:
    store: dict[str, Any] = {"url": "s3://more/", "properties": S3, "secret_ref": OTHERS}
    first = {"name": "outer", "file_system": "shelf", "path": "/a", **store}
    assert done(served, "filesystem_link", **first) == ["FileSystemLink created"]
    within = {"name": "inner", "file_system": "shelf", "path": "/a/b", **store}
    assert run(served, "filesystem_link", **within)["msg"] == (
        f"FileSystemLink {NAMESPACE}/inner: path is '/a/b', but must be outside of the link /a. No link contains another one."
    )
    assert not there(served, "filesystemlink", "inner")
    # Of one declaration too, and of what is taken away by it nothing is said.
    elsewhere = {**first, "name": "twin", "path": "/a/c"}
    both = run(
        served, "filesystem_link", objects=[{**within, "path": "/b"}, {**within, "name": "other", "path": "/b/c"}]
    )
    assert [one["action"] for one in both["objects"]] == ["failed", "failed"]
    moved = run(served, "filesystem_link", objects=[{**elsewhere}, {"name": "outer", "state": "absent"}])
    assert [one["action"] for one in moved["objects"] if one["kind"] == "FileSystemLink"] == ["created", "deleted"]
    done(served, "filesystem", name="floor", url="local://srv/floor", properties={"debug": True})
    local = run(served, "filesystem_link", **{**first, "name": "no", "file_system": "floor"})
    assert "file_system is 'floor', of type local, but must be a file system of one of the types" in local["msg"]


def test_an_old_word_of_a_policy_is_understood_and_told(served: ControlPlane) -> None:
    """[D-12]"""
    done(served, "filesystem", name="worded", url="s3://worded/", properties=S3, secret_ref=OTHERS)
    answer = run(served, "filesystem_cache", name="worded", cache_dir="/x", meta_driver="nutsdb")
    (warning,) = answer["warnings"]
    assert warning == ("filesystem_cache worded: meta_driver is 'nutsdb', but must be 'disk'. The old word will go.")
    assert live(served, "filesystem", "worded")["spec"]["cache"]["metaDriver"] == "disk"
    assert not run(served, "filesystem_cache", name="worded", cache_dir="/x", meta_driver="disk").get("warnings")


def test_a_data_set_is_waited_for_and_a_failed_one_not_any_longer(served: ControlPlane) -> None:
    options: dict[str, Any] = {
        "name": "images",
        "source": {"uri": "s3://images.example.org/train", "secret_ref": OTHERS},
        "secret_ref": OTHERS,
        "csi": {"driver": "juicefs", "juice_fs_mount_options": {"attr_cache": 7, "cache_dir": "/mnt"}},
    }
    assert done(served, "sampleset", **options) == ["SampleSet created"]
    assert live(served, "sampleset", "images")["spec"]["csi"]["juiceFSMountOptions"]["attr-cache"] == 7
    status(served, "sampleset", "images", phase="SyncFailed")
    failed = run(served, "sampleset", **options, wait=True, wait_timeout=60)
    assert failed["failed"]
    assert "its status.phase is 'SyncFailed'" in failed["msg"]
    status(served, "sampleset", "images", phase="PartialReady")
    assert done(served, "sampleset", **options, wait=True, wait_timeout=60) == ["SampleSet unchanged"]


def test_work_on_a_data_set_is_declared_once_or_by_a_schedule(served: ControlPlane) -> None:
    warm: dict[str, Any] = {"name": "warm", "type": "warmup", "sample_set_ref": {"name": "images"}}
    assert done(served, "samplejob", **warm) == ["SampleJob created"]
    assert done(served, "samplejob", **warm) == ["SampleJob unchanged"]
    status(served, "samplejob", "warm", phase="Failed")
    assert "its status.phase is 'Failed'" in run(served, "samplejob", **warm, wait=True, wait_timeout=60)["msg"]
    refused = run(served, "samplejob", **{**warm, "schedule": "every night"})
    assert "schedule is 'every night'" in refused["msg"]
    assert done(served, "samplejob", **warm, schedule="0 3 * * *", time_zone="Europe/Berlin") == ["SampleJob changed"]
