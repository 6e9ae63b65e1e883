# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  vault_connection:
    description:
      - Where Vault is that O(vault) reads from, and as whom. Names and variables are those of C(community.hashi_vault).
      - It needs the Python package C(hvac) where the module runs. Proxies are those of the environment.
    type: dict
    suboptions:
      url:
        description: Address of Vault; E(ANSIBLE_HASHI_VAULT_ADDR) or E(VAULT_ADDR) when it is not given.
        type: str
      namespace:
        description: Namespace of Vault Enterprise; E(ANSIBLE_HASHI_VAULT_NAMESPACE) or E(VAULT_NAMESPACE) when it is not given.
        type: str
      ca_cert:
        description:
          - Path of the authority that Vault's certificate is checked against; E(ANSIBLE_HASHI_VAULT_CA_CERT) or E(VAULT_CACERT) when it is
            not given.
        type: path
        aliases: [cacert]
      validate_certs:
        description: Whether Vault's certificate is checked; the opposite of E(VAULT_SKIP_VERIFY) when it is not given, else V(true).
        type: bool
      auth_method:
        description: How to log in; E(ANSIBLE_HASHI_VAULT_AUTH_METHOD) when it is not given, else V(token).
        type: str
        choices: [token, approle, kubernetes]
      mount_point:
        description: Where the login by V(approle) or V(kubernetes) is mounted; E(ANSIBLE_HASHI_VAULT_MOUNT_POINT), else the name of the method.
        type: str
      token:
        description:
          - Token of V(auth_method=token); E(ANSIBLE_HASHI_VAULT_TOKEN) or E(VAULT_TOKEN), else the one that C(vault login) keeps in
            C(~/.vault-token).
        type: str
      role_id:
        description: Role of V(approle) by its ID, or of V(kubernetes) by its name; E(ANSIBLE_HASHI_VAULT_ROLE_ID) when it is not given.
        type: str
      secret_id:
        description: Secret ID of V(approle); E(ANSIBLE_HASHI_VAULT_SECRET_ID) when it is not given.
        type: str
      jwt:
        description: >-
          Service account's token for V(kubernetes); E(ANSIBLE_HASHI_VAULT_JWT), else that of the pod in which the module runs.
        type: str
"""
