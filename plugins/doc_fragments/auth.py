# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  kubeconfig:
    description:
      - Path of a kubeconfig, or the kubeconfig itself, as a mapping or as text. Several paths are separated by colons and merged as kubectl does.
      - E(K8S_AUTH_KUBECONFIG) when it is not given.
      - >-
        When no option and no E(K8S_AUTH_*) variable names a cluster, it is the one of E(KUBECONFIG), else the one that this runs in, else the
        one of the user's own kubeconfig, else that of K3s if its file can be read.
    type: raw
  context:
    description: Context of the kubeconfig; E(K8S_AUTH_CONTEXT) when it is not given.
    type: str
  host:
    description: Address of the API server, such as V(https://host:6443); E(K8S_AUTH_HOST) when it is not given.
    type: str
  api_key:
    description: Bearer token; E(K8S_AUTH_API_KEY) when it is not given.
    type: str
  username:
    description: User of basic authentication; E(K8S_AUTH_USERNAME) when it is not given.
    type: str
  password:
    description: Password of basic authentication; E(K8S_AUTH_PASSWORD) when it is not given.
    type: str
  validate_certs:
    description: Whether the server's certificate is checked; E(K8S_AUTH_VERIFY_SSL) when it is not given, else V(true).
    type: bool
    aliases: [verify_ssl]
  ca_cert:
    description: Path of the authority that the server's certificate is checked against; E(K8S_AUTH_SSL_CA_CERT) when it is not given.
    type: path
    aliases: [ssl_ca_cert]
  client_cert:
    description: Path of a client certificate; E(K8S_AUTH_CERT_FILE) when it is not given.
    type: path
    aliases: [cert_file]
  client_key:
    description: Path of its key; E(K8S_AUTH_KEY_FILE) when it is not given.
    type: path
    aliases: [key_file]
  proxy:
    description: Address of an HTTP proxy; E(K8S_AUTH_PROXY) when it is not given.
    type: str
  no_proxy:
    description: Hosts, domains and networks that are reached without the proxy; E(K8S_AUTH_NO_PROXY) when it is not given.
    type: str
  proxy_headers:
    description: Headers for the proxy, C(proxy_basic_auth), C(basic_auth) and C(user_agent); E(K8S_AUTH_PROXY_HEADERS_*) when they are not given.
    type: dict
  impersonate_user:
    description: User to act as; E(K8S_AUTH_IMPERSONATE_USER) when it is not given.
    type: str
  impersonate_groups:
    description: Groups to act as; E(K8S_AUTH_IMPERSONATE_GROUPS), separated by commas, when they are not given.
    type: list
    elements: str
"""
