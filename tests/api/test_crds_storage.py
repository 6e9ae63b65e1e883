# SPDX-License-Identifier: Apache-2.0
"""The API server takes what the model builds of flavours, file systems, links and data sets, and refuses what the model refuses."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from paddleflow_core.model import filesystem, filesystem_cache, filesystem_link, flavour, samplejob, sampleset

from tests.support.binaries import ROOT
from tests.support.control_plane import ControlPlane
from tests.support.kube_api import define

KINDS = (
    "flavours.paddleflow.org",
    "filesystems.paddleflow.org",
    "filesystemlinks.paddleflow.org",
    "samplesets.batch.paddlepaddle.org",
    "samplejobs.batch.paddlepaddle.org",
)
S3 = {
    "url": "s3://bucket/data",
    "properties": {"endpoint": "https://store.example", "accessKey": "key", "secretKey": "planted"},
}
KERBEROS = {"principal": "hdfs/host", "realm": "EXAMPLE", "kdc": "10.0.0.1:88,kdc.example", "nameNodePrincipal": "nn"}
FILE_SYSTEMS: dict[str, dict[str, Any]] = {
    "s3": S3,
    "bos": {**S3, "url": "bos://bucket", "owner": "alice"},
    "hdfs": {"url": "hdfs://a:8020,b:8020/data", "properties": {"user": "u", "group": "g", "dirMode": "755"}},
    "kerberos": {"url": "hdfs://a:8020/data", "properties": {**KERBEROS, "keyTabData": "aGVsbG8="}},
    "sftp": {"url": "sftp://host:22/data", "properties": {"user": "u", "password": "p", "hostKey": "ssh-rsa AAAA"}},
    "unknown-host": {
        "url": "sftp://host/data",
        "properties": {"user": "u", "privateKey": "p", "insecureSkipVerify": True},
    },
    "local": {"url": "local://mnt/data"},
    "gluster": {"url": "glusterfs://host:volume"},
    "cfs": {"url": "cfs://server/data"},
    "afs": {"url": "afs://cell:1234/x", "properties": {"username": "u", "password": "p"}},
    "mock": {"url": "mock://mnt/x", "properties": {"pvc": "claim", "namespace": "team"}},
    "Named_by-People": S3,
    "cached": {
        **S3,
        "cache": {
            "cacheDir": "/var/cache/fs",
            "metaDriver": "disk",
            "blockSize": 0,
            "quota": "200Gi",
            "resource": {"cpuLimit": "500m", "memoryLimit": 1073741824},
            "nodeTaintToleration": {"dedicated": ""},
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a/b", "operator": "In", "values": ["c"]}]}]
                }
            },
            "extraConfig": {"attr-timeout": "5"},
        },
    },
}


@pytest.fixture(scope="module")
def cluster(api: ControlPlane) -> ControlPlane:
    define(api, *(ROOT / f"crds/{kind}.yaml" for kind in KINDS))
    return api


def create(cluster: ControlPlane, *objects: dict[str, Any], dry: bool = True) -> str:
    """What the API server says against them; nothing when it takes them all."""
    documents = "\n---\n".join(map(json.dumps, objects))
    flags = ["--dry-run=server"] if dry else []
    done = cluster.try_kubectl("create", "--validate=strict", *flags, "--filename=-", stdin=documents)
    assert bool(done.returncode) == bool(done.stderr), done.stdout + done.stderr
    return done.stderr


def change(cluster: ControlPlane, what: str, patch: dict[str, Any], *flags: str) -> str:
    done = cluster.try_kubectl("patch", *what.split("/"), "--type=merge", f"--patch={json.dumps(patch)}", *flags)
    return done.stderr


def phase(cluster: ControlPlane, what: str, word: str) -> None:
    assert change(cluster, what, {"status": {"phase": word}}, "--subresource=status") == ""


def changed(built: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The object with another value at one place, or without it for None."""
    found = copy.deepcopy(built)
    *above, last = path.split("/")
    place = found
    for part in above:
        place = place.setdefault(part, {})
    place[last] = value
    if value is None:
        del place[last]
    return found


def of_file_system(name: str) -> dict[str, Any]:
    return filesystem.build(name, "default", FILE_SYSTEMS[name])[-1]


FLAVOUR = flavour.build("large", "", {"cpu": "4", "memory": "8Gi", "scalarResources": {"nvidia.com/gpu": 1}})[0]
LINK = filesystem_link.build("models", "default", {"fileSystem": "s3", "path": "/models/bert", **S3})[-1]
SET = sampleset.build(
    "pictures",
    "default",
    {
        "partitions": 4,
        "source": {"uri": "s3://my-bucket.my-endpoint/pictures"},
        "secretRef": {"name": "pictures-keys"},
        "cache": {"levels": [{"mediumType": "MEM", "path": "/dev/shm/pictures", "cacheSize": 4096}]},
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": ""}],
    },
)[0]
JOB = samplejob.build(
    "nightly",
    "default",
    {
        "type": "sync",
        "schedule": "30 2 * * *",
        "sampleSetRef": {"name": "pictures"},
        "secretRef": {"name": "pictures-keys"},
        "syncOptions": {"update": True, "threads": 32},
    },
)[0]


def test_what_the_model_builds_is_taken(cluster: ControlPlane) -> None:
    links = [
        filesystem_link.build(f"link {name}", "default", {"fileSystem": "s3", "path": f"/{name}", **spec})
        for name, spec in FILE_SYSTEMS.items()
        if name in ("s3", "hdfs", "sftp", "gluster", "cfs")
    ]
    systems = [filesystem.build(name, "default", spec) for name, spec in FILE_SYSTEMS.items()]
    flavours = [flavour.build(name, "", spec) for name, spec in flavour.BUILT_IN.items()]
    built = [one for several in (*links, *systems, *flavours) for one in several]
    assert create(cluster, *built, SET, JOB, FLAVOUR) == ""


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("spec/cpu", 0, 'spec.cpu: Invalid value: "": must be above 0'),
        ("spec/memory", "0Gi", "must be above 0"),
        ("spec/memory", "much", "should match"),
        ("spec/cpu", None, "spec.cpu: Required value"),
        (
            "spec/scalarResources",
            {"nvidia.com/gpu": -1},
            'spec.scalarResources[nvidia.com/gpu]: Invalid value: "": must be at least 0',
        ),
        ("spec/scalarResources", {"cpu": 1}, "must not name cpu or memory"),
        ("spec/scalarResources", {"a b": 1}, "names are like ^("),
    ],
)
def test_a_wrong_flavour_is_refused(cluster: ControlPlane, path: str, value: Any, said: str) -> None:
    assert said in create(cluster, changed(FLAVOUR, path, value))


@pytest.mark.parametrize(
    ("name", "path", "value", "said"),
    [
        ("s3", "metadata/name", "with.dots", "metadata.name must be a name of small letters, digits and hyphens"),
        ("s3", "metadata/name", "a" * 64, "metadata.name must be a name of small letters, digits and hyphens"),
        ("s3", "spec/url", "ftp://host/path", "must be of one of the types s3, bos, hdfs, sftp"),
        ("s3", "spec/url", "bucket", "must be of one of the types s3, bos, hdfs, sftp"),
        ("s3", "spec/url", "s3:///data", "must be like s3://<bucket>/<path>"),
        ("s3", "spec/url", "s3://bucket/a/../b", "must not have . or .. in its path"),
        ("s3", "spec/url", None, "spec.url: Required value"),
        ("s3", "spec/properties", {"accessKey": "a"}, "type s3 needs properties.endpoint"),
        ("s3", "spec/secretRef", None, "type s3 needs secretRef, a Secret with accessKey and secretKey"),
        ("s3", "spec/properties/secretKey", "planted", 'unknown field "spec.properties.secretKey"'),
        ("s3", "spec/properties/dirMode", "999", "should match"),
        ("s3", "spec/properties/uid", -1, "greater than or equal to 0"),
        ("s3", "spec/owner", "-", "should match"),
        ("bos", "spec/properties/duration", 59, "greater than or equal to 60"),
        ("bos", "spec/properties/duration", 129601, "less than or equal to 129600"),
        ("hdfs", "spec/url", "hdfs://host:8020", "must be like hdfs://<host:port>[,<host:port>...]/<path>"),
        ("hdfs", "spec/properties/blockSize", 0, "must be above 0"),
        ("hdfs", "spec/properties/group", None, "needs properties.user and group, or Kerberos"),
        ("kerberos", "spec/properties/realm", None, "Kerberos needs realm, kdc and nameNodePrincipal beside principal"),
        ("sftp", "spec/properties/hostKey", None, "type sftp needs properties.hostKey"),
        ("sftp", "spec/url", "sftp://user:planted@host/data", "must be like sftp://<host:port>/<path>"),
        ("local", "spec/url", "local://root/data", "must be another directory than /root"),
        ("local", "spec/url", "local:///data", "must be like local://<path>"),
        ("gluster", "spec/url", "glusterfs://host", "must be like glusterfs://<host>:<volume>"),
        ("cfs", "spec/url", "cfs://server", "must be like cfs://<server>/<path>"),
        ("afs", "spec/properties", None, "type afs needs properties.username"),
        (
            "mock",
            "spec/properties/namespace",
            None,
            "type mock needs properties.namespace",
        ),
        ("cached", "spec/cache/cacheDir", "", "cacheDir must be given where metaDriver is disk"),
        ("cached", "spec/cache/cacheDir", "relative", "should match"),
        ("cached", "spec/cache/metaDriver", "badgerdb", "Unsupported value"),
        ("cached", "spec/cache/blockSize", -1, 'spec.cache.blockSize: Invalid value: "": must be at least 0'),
        ("cached", "spec/cache/quota", "-1Gi", "must be at least 0"),
        ("cached", "spec/cache/extraConfig", {"Attr": "5"}, "names are like ^[a-z][a-z0-9-]*$"),
        ("cached", "spec/cache/extraConfig", {"attr\n": "5"}, "names are like ^[a-z][a-z0-9-]*$"),
        ("cached", "spec/cache/extraConfig", {"fs-id": "other"}, "must not say what an agent mounts and as whom"),
        ("cached", "spec/cache/resource/cpuLimit", 3, "must be above 0 and at most 2"),
        ("cached", "spec/cache/resource/memoryLimit", "9Gi", "must be above 0 and at most 8Gi"),
        ("cached", "spec/cache/resource/memoryLimit", 0, "must be above 0 and at most 8Gi"),
    ],
)
def test_a_wrong_file_system_is_refused(cluster: ControlPlane, name: str, path: str, value: Any, said: str) -> None:
    assert said in create(cluster, changed(of_file_system(name), path, value))


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("spec/path", "models", "should match"),
        ("spec/path", "/a/../b", "must not have . or .. as a part"),
        ("spec/fileSystem", "a b", "should match"),
        ("spec/url", "mock://mnt/x", "must be of one of the types hdfs, local, s3"),
        ("spec/url", "local://mnt/x", "properties.debug must be true where a link leads to type local"),
    ],
)
def test_a_wrong_link_is_refused(cluster: ControlPlane, path: str, value: Any, said: str) -> None:
    assert said in create(cluster, changed(LINK, path, value))


@pytest.mark.parametrize(
    ("built", "path", "value", "said"),
    [
        (SET, "metadata/name", "a" * 56, "metadata.name must have at most 55 characters"),
        (SET, "spec/partitions", 0, "greater than or equal to 1"),
        (SET, "spec/source/uri", "s3://a", "at least 10"),
        (SET, "spec/cache/levels", [], "at least 1 items"),
        (SET, "spec/csi", {"driver": "other"}, "Unsupported value"),
        (JOB, "spec/type", "copy", "Unsupported value"),
        (JOB, "spec/type", None, "spec.type: Required value"),
        (JOB, "spec/sampleSetRef", None, "spec.sampleSetRef: Required value"),
        (JOB, "spec/rmrOptions", {"paths": []}, "at least 1 items"),
    ],
)
def test_a_wrong_data_set_is_refused(
    cluster: ControlPlane, built: dict[str, Any], path: str, value: Any, said: str
) -> None:
    assert said in create(cluster, changed(built, path, value))


def test_what_identifies_an_object_cannot_be_changed(cluster: ControlPlane) -> None:
    alice = filesystem.build("owned", "default", {**S3, "owner": "alice"})[-1]
    small = flavour.build("here", "", {"cpu": 1, "memory": "1Gi", "clusterName": "one"})[0]
    assert create(cluster, alice, small, LINK, dry=False) == ""
    assert "owner cannot be changed" in change(cluster, "fs/owned", {"spec": {"owner": "bob"}})
    assert "owner cannot be changed" in change(cluster, "fs/owned", {"spec": {"owner": None}})
    assert "clusterName cannot be changed" in change(cluster, "fl/here", {"spec": {"clusterName": None}})
    assert "cannot be changed" in change(cluster, "fslink/models", {"spec": {"path": "/other"}})
    assert "cannot be changed" in change(cluster, "fslink/models", {"spec": {"fileSystem": "other"}})
    assert change(cluster, "fs/owned", {"spec": {"url": "s3://other/data"}}) == ""


def applied(cluster: ControlPlane, built: dict[str, Any], manager: str) -> str:
    done = cluster.try_kubectl(
        "apply", "--server-side", f"--field-manager={manager}", "--filename=-", stdin=json.dumps(built)
    )
    return done.stderr


def test_the_cache_policy_is_a_part_with_a_manager_of_its_own(cluster: ControlPlane) -> None:
    manager = filesystem_cache.NOUN["manager"]
    (policy,) = filesystem_cache.build("part", "default", {"cacheDir": "/var/cache/fs", "quota": "1Gi"})
    assert "spec.url: Required value" in applied(cluster, policy, manager)  # no file system, no policy
    *_secret, system = filesystem.build("part", "default", S3)

    def live() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(cluster.kubectl("get", "fs", "part", "--output=json"))
        return found

    for turn in range(2):  # neither takes from the other, whoever comes first or again
        assert applied(cluster, system, "paddleflow") == ""
        assert applied(cluster, policy, manager) == ""
        cache = filesystem_cache.declared(live())
        assert cache == {"cacheDir": "/var/cache/fs", "quota": "1Gi", "cleanCache": False, "debug": False}, turn
    both = {**system, "spec": {**system["spec"], "cache": {"quota": "2Gi"}}}
    conflict = applied(cluster, both, "paddleflow")
    assert manager in conflict
    assert ".spec.cache.quota" in conflict
    del policy["spec"]
    assert applied(cluster, policy, manager) == ""
    assert live()["spec"] == {**system["spec"], "independentMountProcess": False}


def test_what_people_see(cluster: ControlPlane) -> None:
    assert create(cluster, of_file_system("bos"), dry=False) == ""
    conditions = [{"type": "Ready", "status": "True", "reason": "Reachable", "message": ""}]
    status = {"status": {"conditions": conditions, "cachedBytes": 5}}
    assert change(cluster, "filesystem/bos", status, "--subresource=status") == ""
    header, line = cluster.kubectl("get", "fs", "bos").splitlines()
    assert header.split() == ["NAME", "URL", "OWNER", "READY", "CACHED", "AGE"]
    assert line.split()[:5] == ["bos", "bos://bucket", "alice", "True", "5"]
    explained = cluster.kubectl("explain", "fs.spec.properties")
    assert "implicitDirectories" in explained
    assert "secretKey" not in explained


class TestDataSet:
    """The changes that come too late."""

    def test_partitions_are_scaled(self, cluster: ControlPlane) -> None:
        assert create(cluster, changed(SET, "metadata/name", "scaled"), dry=False) == ""
        cluster.kubectl("scale", "sps/scaled", "--replicas=7")
        assert cluster.kubectl("get", "sps", "scaled", "--output=jsonpath={.spec.partitions}") == "7"

    def test_what_is_bound_is_frozen(self, cluster: ControlPlane) -> None:
        assert create(cluster, changed(SET, "metadata/name", "frozen"), dry=False) == ""
        uri = {"spec": {"source": {"uri": "s3://another-bucket/pictures"}}}
        secret = {"spec": {"secretRef": {"name": "others"}}}
        assert change(cluster, "sps/frozen", {"spec": {"secretRef": {"name": "mine"}}}) == ""
        phase(cluster, "sps/frozen", "Bound")
        assert "spec.secretRef cannot be changed once its volume is bound" in change(cluster, "sps/frozen", secret)
        late: dict[str, Any] = {"csi": {"driver": "juicefs"}, "cache": None, "tolerations": None, "nodeAffinity": {}}
        for field, value in late.items():
            said = change(cluster, "sps/frozen", {"spec": {field: value}})
            assert f"spec.{field} cannot be changed once its volume is bound" in said
        assert change(cluster, "sps/frozen", uri) == ""
        phase(cluster, "sps/frozen", "Ready")
        uri["spec"]["source"]["uri"] += "/more"
        assert "spec.source.uri cannot be changed once it has been synch" in change(cluster, "sps/frozen", uri)
        assert "spec.noSync cannot be changed" in change(cluster, "sps/frozen", {"spec": {"noSync": True}})
        assert change(cluster, "sps/frozen", {"spec": {"partitions": 5}}) == ""

    def test_a_job_that_succeeded_is_final_unless_it_comes_again(self, cluster: ControlPlane) -> None:
        once = changed(changed(JOB, "spec/schedule", None), "metadata/name", "once")
        assert create(cluster, once, JOB, dry=False) == ""
        threads = {"spec": {"syncOptions": {"threads": 1}}}
        assert change(cluster, "spj/once", threads) == ""
        for name in ("once", "nightly"):
            phase(cluster, f"spj/{name}", "Succeeded")
        threads["spec"]["syncOptions"]["threads"] = 2
        assert "spec cannot be changed once the job has succeeded" in change(cluster, "spj/once", threads)
        assert change(cluster, "spj/nightly", threads) == ""
