# SPDX-License-Identifier: Apache-2.0
"""Which cluster is asked as whom: each step of the order, and what is given up for what."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from paddleflow_core.kube import config
from paddleflow_core.kube.connection import Connection, Credentials
from paddleflow_core.kube.errors import ConfigError

Write = Callable[..., Path]


class Site:
    """A home with nothing in it, and the places where a cluster can be named."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.account, self.k3s = folder / "serviceaccount", folder / "k3s.yaml"
        self.environment = {"HOME": str(folder / "home")}

    def resolve(self, **options: Any) -> Connection:
        return config.resolve(options, self.environment, service_account=self.account, k3s=self.k3s)

    def refusal(self, **options: Any) -> str:
        with pytest.raises(ConfigError) as raised:
            self.resolve(**options)
        return str(raised.value)

    def kubeconfig(self, name: str, path: str = "", **cluster: Any) -> str:
        """One with the cluster, user and context ``name``."""
        file = self.folder / (path or f"{name}.conf")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(named(name, **cluster)), encoding="utf-8")
        return str(file)

    def pod(self) -> None:
        self.account.mkdir()
        for name, content in (("token", "pod-token\n"), ("ca.crt", "PEM"), ("namespace", "team\n")):
            (self.account / name).write_text(content, encoding="utf-8")
        self.environment |= {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def named(name: str, **cluster: Any) -> dict[str, Any]:
    return {
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443", **cluster}}],
        "users": [{"name": name, "user": {"token": f"{name}-token"}}],
    }


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


# ---- the order ------------------------------------------------------------------------------------------------------


def everything(site: Site) -> dict[str, Any]:
    """Every place names a cluster of its own; what is returned are the options."""
    site.environment |= {
        "K8S_AUTH_HOST": "https://by-variable",
        "K8S_AUTH_API_KEY": "variable-token",
        "KUBECONFIG": site.kubeconfig("ambient"),
    }
    site.pod()
    site.kubeconfig("home", "home/.kube/config")
    site.kubeconfig("k3s", "k3s.yaml")
    return {"host": "https://by-option", "api_key": "option-token", "kubeconfig": site.kubeconfig("named")}


def test_each_place_counts_when_those_before_it_say_nothing(site: Site) -> None:
    options = everything(site)
    found = []

    def look(**given: Any) -> None:
        made = site.resolve(**given)
        found.append((made.server, made.credentials.token, made.source))

    look(**options)
    look(kubeconfig=options["kubeconfig"])
    del site.environment["K8S_AUTH_HOST"], site.environment["K8S_AUTH_API_KEY"]
    look(kubeconfig=options["kubeconfig"])
    look()
    del site.environment["KUBECONFIG"]
    look()
    del site.environment["KUBERNETES_SERVICE_HOST"]
    look()
    (site.folder / "home/.kube/config").unlink()
    look()
    at = str(site.folder)
    assert found == [
        (
            "https://by-option",
            "option-token",
            "the server from the option host, the credentials from the option api_key, the option kubeconfig not used",
        ),
        (
            "https://by-variable",
            "variable-token",
            "the server from K8S_AUTH_HOST, the credentials from K8S_AUTH_API_KEY, the option kubeconfig not used",
        ),
        ("https://named:6443", "named-token", f"the kubeconfig {at}/named.conf, context named"),
        ("https://ambient:6443", "ambient-token", f"the kubeconfig {at}/ambient.conf, context ambient"),
        ("https://10.0.0.1:443", "pod-token", "the pod's service account"),
        ("https://home:6443", "home-token", f"the kubeconfig {at}/home/.kube/config, context home"),
        ("https://k3s:6443", "k3s-token", f"the kubeconfig {at}/k3s.yaml, context k3s"),
    ]


def test_nothing_names_a_cluster(site: Site) -> None:
    home = site.folder / "home/.kube/config"
    assert site.refusal() == (
        "No cluster is named by options, K8S_AUTH_*, KUBECONFIG, a pod's service account, "
        f"{home} or {site.k3s}: set kubeconfig, or host and api_key."
    )


def test_a_file_that_may_not_be_read_is_mentioned(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    path = site.kubeconfig("k3s", "k3s.yaml")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may read everything
    assert f"; {path} may not be read by this user: set" in site.refusal()


def test_an_option_beats_its_own_variable_only(site: Site) -> None:
    site.environment |= {"K8S_AUTH_HOST": "https://by-variable/", "K8S_AUTH_API_KEY": "variable-token"}
    made = site.resolve(api_key="option-token")
    assert (made.server, made.credentials.token) == ("https://by-variable", "option-token")


@pytest.mark.parametrize(
    ("variable", "other"),
    [("VALIDATE_CERTS", "VERIFY_SSL"), ("CA_CERT", "SSL_CA_CERT"), ("CLIENT_CERT", "CERT_FILE"), ("CLIENT_KEY", "KEY_FILE")],
)  # fmt: skip
def test_variables_have_both_names_of_kubernetes_core(site: Site, variable: str, other: str) -> None:
    """AWX sets K8S_AUTH_VERIFY_SSL and K8S_AUTH_SSL_CA_CERT."""
    file = site.folder / "file.pem"
    file.write_text("PEM", encoding="utf-8")
    value = "False" if variable == "VALIDATE_CERTS" else str(file)
    pair = {"K8S_AUTH_CERT_FILE": str(file), "K8S_AUTH_KEY_FILE": str(file)} if "CLIENT" in variable else {}
    host = {"HOME": "/", "K8S_AUTH_HOST": "https://lab", **({} if pair else {"K8S_AUTH_API_KEY": "x"})}
    made = []
    for name in (variable, other):
        missing = {key: text for key, text in pair.items() if key != f"K8S_AUTH_{other}"}
        site.environment = {**host, **missing, f"K8S_AUTH_{name}": value}
        made.append(site.resolve())
    assert made[0].credentials == made[1].credentials
    assert (made[0].ca, made[0].verify) == (made[1].ca, made[1].verify)
    assert (made[0].ca, made[0].verify, made[0].credentials.key) != ("", True, b"")


@pytest.mark.parametrize(
    ("given", "verify"),
    [("false", False), ("0", False), ("No", False), ("off", False), ("True", True), ("1", True), ("yes", True)],
)
def test_a_variable_that_is_a_truth(site: Site, given: str, verify: bool) -> None:
    site.environment |= {"K8S_AUTH_VERIFY_SSL": given}
    assert site.resolve(host="https://lab", api_key="x").verify is verify


def test_an_option_that_is_false_is_given(site: Site) -> None:
    site.environment |= {"K8S_AUTH_VERIFY_SSL": "true"}
    assert not site.resolve(host="https://lab", api_key="x", validate_certs=False).verify


def test_what_the_environment_of_awx_names(site: Site) -> None:
    """As its built-in bearer token credential sets it."""
    ca = site.folder / "tmp-ca"
    ca.write_text("AUTHORITY", encoding="utf-8")
    site.environment = {
        "HOME": "/home/runner",
        "K8S_AUTH_HOST": "https://lab:6443",
        "K8S_AUTH_API_KEY": "awx-token",
        "K8S_AUTH_VERIFY_SSL": "True",
        "K8S_AUTH_SSL_CA_CERT": str(ca),
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
    }
    made = site.resolve()
    assert (made.server, made.credentials, made.ca, made.verify) == (
        "https://lab:6443",
        Credentials(token="awx-token"),
        "AUTHORITY",
        True,
    )


# ---- what is given over what is found -------------------------------------------------------------------------------


def test_a_context_is_of_a_kubeconfig_and_never_of_a_pod(site: Site) -> None:
    site.pod()
    site.kubeconfig("home", "home/.kube/config")
    assert site.resolve(context="home").server == "https://home:6443"
    assert site.resolve().server == "https://10.0.0.1:443"


def test_several_clusters_by_context(site: Site) -> None:
    one, two = site.kubeconfig("one"), site.kubeconfig("two")
    site.environment["KUBECONFIG"] = f"{one}:{two}:/missing"
    assert [site.resolve(context=name).server for name in ("one", "two", "")] == [
        "https://one:6443",
        "https://two:6443",
        "https://one:6443",
    ]


def test_a_kubeconfig_can_be_data(site: Site) -> None:
    made = site.resolve(kubeconfig=named("inline", **{"certificate-authority-data": "UEVN"}))
    assert (made.server, made.ca) == ("https://inline:6443", "PEM")
    assert made.source == "the kubeconfig in the option kubeconfig, context inline"


@pytest.mark.parametrize("write", [yaml.safe_dump, json.dumps])
def test_a_kubeconfig_can_be_text(site: Site, write: Callable[[Any], str]) -> None:
    made = site.resolve(kubeconfig=write(named("data")))
    assert made == site.resolve(kubeconfig=named("data"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: b: s3cret\n  key: s3cret", "The kubeconfig in the option kubeconfig is no YAML (mapping values are not"),
        ("a: 2026-99-99\nb: s3cret", "is no YAML (it cannot be decoded): fetch it again."),
        ("s3cret:6443\ns3cret", "The kubeconfig in the option kubeconfig holds no kubeconfig: write it anew, or name"),
    ],
)
def test_a_text_that_is_no_kubeconfig_is_not_quoted(site: Site, text: str, sentence: str) -> None:
    said = site.refusal(kubeconfig=text)
    assert sentence in said
    assert "s3cret" not in said


@pytest.mark.parametrize("variable", ["K8S_AUTH_KUBECONFIG", "KUBECONFIG"])
def test_a_variable_names_kubeconfigs_and_holds_none(site: Site, variable: str) -> None:
    site.environment[variable] = yaml.safe_dump(named("data"))
    assert site.refusal() == (
        f"{variable} holds a kubeconfig, and not the path of one: write it to a file, and name that."
    )


def test_a_home_is_the_environments(site: Site) -> None:
    site.kubeconfig("mine", "home/clusters/mine")
    assert site.resolve(kubeconfig="~/clusters/mine").server == "https://mine:6443"


def test_a_host_replaces_the_server_of_a_kubeconfig(site: Site) -> None:
    made = site.resolve(kubeconfig=site.kubeconfig("lab"), host="https://127.0.0.1:1234")
    assert (made.server, made.credentials.token) == ("https://127.0.0.1:1234", "lab-token")
    assert made.source.endswith("lab.conf, context lab, the server from the option host")


def test_credentials_replace_all_of_a_user(site: Site) -> None:
    """Were its certificate kept, the API server would take the certificate and not the token."""
    config_ = named("lab")
    config_["users"][0]["user"] = {"client-certificate-data": "UEVN", "client-key-data": "UEVN"}
    made = site.resolve(kubeconfig=config_, api_key="mine")
    assert made.credentials == Credentials(token="mine")


def test_a_password(site: Site) -> None:
    made = site.resolve(host="https://lab", username="ann", password="s3cret")
    assert made.credentials == Credentials(username="ann", password="s3cret")
    assert made.source == "the server from the option host, the credentials from the option username"


def test_a_host_alone_is_asked_without_credentials(site: Site) -> None:
    """As behind `kubectl proxy`."""
    made = site.resolve(host="http://127.0.0.1:8001")
    assert (made.server, made.credentials, made.renew) == ("http://127.0.0.1:8001", Credentials(), None)


@pytest.mark.parametrize("groups", [["a", "b"], "a, b"])
def test_impersonation(site: Site, groups: Any) -> None:
    made = site.resolve(host="https://lab", api_key="x", impersonate_user="ann", impersonate_groups=groups)
    assert made.impersonate == (("Impersonate-User", "ann"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    assert made.source.endswith("as ann")
    site.environment |= {"K8S_AUTH_IMPERSONATE_USER": "ann", "K8S_AUTH_IMPERSONATE_GROUPS": "a,b"}
    assert site.resolve(host="https://lab", api_key="x").impersonate == made.impersonate


# ---- a pod ----------------------------------------------------------------------------------------------------------


def test_what_a_pod_finds_in_itself(site: Site) -> None:
    site.pod()
    made = site.resolve()
    assert (made.ca, made.namespace, made.credentials.token) == ("PEM", "team", "pod-token")
    (site.account / "token").write_text("rotated", encoding="utf-8")
    assert made.renew is not None
    assert made.renew().token == "rotated"


def test_a_pod_with_an_address_of_version_6_and_no_namespace(site: Site) -> None:
    site.pod()
    (site.account / "namespace").unlink()
    site.environment["KUBERNETES_SERVICE_HOST"] = "fd00::1"
    made = site.resolve()
    assert (made.server, made.namespace) == ("https://[fd00::1]:443", "default")


def test_a_pod_without_a_token_is_none(site: Site) -> None:
    site.pod()
    (site.account / "token").unlink()
    assert site.refusal().startswith("No cluster is named")


# ---- what is wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"host": "lab:6443", "api_key": "x"},
            "The server from the option host, the credentials from the option api_key names the server 'lab:6443': write it as https://host:port.",
        ),
        ({"host": "https://ann:s3cret@lab", "api_key": "x"}, "names the server 'https://lab': write it"),
        ({"host": "https://", "api_key": "x"}, "names the server 'https:': write it"),
        ({"host": "https://[fe80::1:6443", "api_key": "x"}, "names the server 'https://[fe80::1:6443': write it"),
        ({"host": "https://lab:port", "api_key": "x"}, "names the server 'https://lab:port': write it"),
        ({"host": "https://lab", "api_key": "x", "proxy": "http://u:s3cret@[::1"}, "The proxy http://[::1 is no HTTP proxy"),
        ({"host": "https://lab", "api_key": "x", "proxy": "u:s3cret@p:port"}, "The proxy http://p:port is no HTTP proxy"),
        ({"host": "https://lab", "api_key": "a\nb"}, "The option api_key holds characters that no token has"),
        ({"host": "https://lab", "client_cert": "/x"}, "The option client_cert comes without client_key: give both"),
        ({"host": "https://lab", "client_key": "/x"}, "The option client_key comes without client_cert: give both"),
        ({"host": "https://lab", "api_key": "x", "ca_cert": "/nowhere"}, "names /nowhere as an authority's certificate"),
        ({"host": "https://lab", "api_key": "x", "impersonate_groups": "g"}, "The option impersonate_groups impersonates"),
        ({"kubeconfig": "/nowhere"}, "The kubeconfig /nowhere does not exist: set kubeconfig"),
        ({"kubeconfig": "/tmp"}, "names /tmp as a kubeconfig, which cannot be read (Is a directory)"),
        ({"kubeconfig": {}}, "The kubeconfig in the option kubeconfig has no current context: set context to one of none"),
        ({"host": "https://lab", "api_key": "x", "proxy": "socks5://p:1"}, "The proxy socks5://p:1 is no HTTP proxy"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_source(site: Site, options: dict[str, Any], sentence: str) -> None:
    said = site.refusal(**options)
    assert sentence in said
    assert "s3cret" not in said


def test_a_variable_is_named_when_it_is_wrong(site: Site) -> None:
    site.environment |= {"K8S_AUTH_HOST": "https://lab", "K8S_AUTH_API_KEY": "x", "K8S_AUTH_SSL_CA_CERT": "/nowhere"}
    assert site.refusal().startswith("K8S_AUTH_SSL_CA_CERT names /nowhere")


def test_a_token_is_taken_as_people_paste_it(site: Site) -> None:
    assert site.resolve(host="https://lab", api_key=" Bearer abc\n").credentials.token == "abc"


def test_nothing_secret_is_in_a_repr(site: Site) -> None:
    made = site.resolve(
        host="https://lab", username="ann", password="s3cret", proxy="http://u:s3cret@proxy:1", proxy_headers={"basic_auth": "s3cret"}
    )  # fmt: skip
    assert "s3cret" not in f"{made!r} {made} {site.resolve(host='https://lab', api_key='s3cret')!r}"


# ---- proxies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "environment", "proxy"),
    [
        ({}, {}, ""),
        ({"proxy": "http://p:1"}, {"HTTPS_PROXY": "http://q:1"}, "http://p:1"),
        ({}, {"K8S_AUTH_PROXY": "p:1"}, "http://p:1"),
        ({}, {"HTTPS_PROXY": "http://q:1"}, "http://q:1"),
        ({}, {"https_proxy": "http://q:1"}, "http://q:1"),
        ({}, {"HTTPS_PROXY": "http://q:1", "https_proxy": "http://r:1"}, "http://q:1"),
        ({}, {"HTTP_PROXY": "http://q:1"}, ""),
        ({}, {"HTTPS_PROXY": "http://q:1", "NO_PROXY": "other, .example.org"}, ""),
        ({}, {"HTTPS_PROXY": "http://q:1", "no_proxy": "*.example.org"}, ""),
        ({}, {"HTTPS_PROXY": "http://q:1", "NO_PROXY": "lab.example.org:6443"}, ""),
        ({}, {"HTTPS_PROXY": "http://q:1", "NO_PROXY": "lab.example.org:443"}, "http://q:1"),
        ({}, {"HTTPS_PROXY": "http://q:1", "NO_PROXY": "*"}, ""),
        ({"no_proxy": "x"}, {"HTTPS_PROXY": "http://q:1", "NO_PROXY": "*"}, "http://q:1"),
        ({"proxy": "http://p:1"}, {"NO_PROXY": "example.org"}, ""),
        ({"proxy": "http://p:1", "no_proxy": "example.org"}, {}, ""),
        ({"proxy": "http://p:1"}, {"K8S_AUTH_NO_PROXY": "example.org"}, ""),
    ],
)
def test_which_proxy(site: Site, options: dict[str, str], environment: dict[str, str], proxy: str) -> None:
    site.environment |= environment
    assert site.resolve(host="https://lab.example.org:6443", api_key="x", **options).proxy == proxy


@pytest.mark.parametrize(
    ("server", "no_proxy", "proxied"),
    [
        ("https://10.1.2.3:6443", "10.0.0.0/8", False),
        ("https://10.1.2.3:6443", "10.2.0.0/16", True),
        ("https://[fd00::1]:6443", "fd00::/8", False),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", False),
        ("https://[fd00::1]:6443", "[fd00::1]:443", True),
        ("https://127.0.0.1:6443", "", False),
        ("https://localhost", "", False),
        ("https://[::1]:6443", "", False),
    ],
)
def test_addresses_that_are_exempt(site: Site, server: str, no_proxy: str, proxied: bool) -> None:
    site.environment |= {"HTTPS_PROXY": "http://q:1", "NO_PROXY": no_proxy}
    assert bool(site.resolve(host=server, api_key="x").proxy) is proxied


def test_a_kubeconfigs_own_proxy_is_for_this_server_whatever_the_environment_exempts(site: Site) -> None:
    site.environment |= {"HTTPS_PROXY": "http://q:1", "NO_PROXY": "*"}
    path = site.kubeconfig("lab", **{"proxy-url": "http://own:1"})
    assert site.resolve(kubeconfig=path).proxy == "http://own:1"
    assert site.resolve(kubeconfig=path, proxy="http://p:1", no_proxy="x").proxy == "http://p:1"
    assert site.resolve(kubeconfig=path, no_proxy="lab").proxy == ""


def test_proxy_headers(site: Site) -> None:
    site.environment |= {"K8S_AUTH_PROXY_HEADERS_USER_AGENT": "us/1", "K8S_AUTH_PROXY_HEADERS_BASIC_AUTH": "lost"}
    headers = {"proxy_basic_auth": "ann:pw", "basic_auth": "bob:pw", "user_agent": None}
    assert site.resolve(host="https://lab", api_key="x", proxy_headers=headers).proxy_headers == {
        "proxy-authorization": "Basic YW5uOnB3",
        "authorization": "Basic Ym9iOnB3",
        "user-agent": "us/1",
    }
