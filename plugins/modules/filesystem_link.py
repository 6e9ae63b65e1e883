#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: filesystem_link
short_description: Declare links from a directory of a file system to another store
version_added: 0.1.0
description:
  - Brings links into the declared state. A link shows a place in another store as a directory of a file system.
  - What is secret is put into a Secret beside the link, and never shown; it may as well stand in a Secret of yours, or in Vault.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Name of the filesystem link.
    type: str
  namespace:
    description: Its namespace; that of the connection when it is not given.
    type: str
  labels:
    description: Further labels of the object.
    type: dict
  annotations:
    description: Further annotations of the object.
    type: dict
  state:
    description:
      - What it shall be; V(present) when nothing is given.
    type: str
    choices:
      - present
      - absent
  file_system:
    description:
      - The file system that it is in, in the same namespace; of type hdfs, s3, sftp or cfs.
      - It cannot be changed.
    type: str
    aliases:
      - fs_name
  path:
    description:
      - Absolute path of the link inside of the file system.
      - Its parent directory is there; itself is not, or is empty; no link contains another one.
      - It cannot be changed.
    type: str
    aliases:
      - fs_path
  url:
    description:
      - Address of the store, by its type.
      - It is s3://<bucket>/<path>, bos://<bucket>/<path>, hdfs://<host:port>/<path> with further hosts after commas, sftp://<host:port>/<path>,
        local://<path>, glusterfs://<host>:<volume>, cfs://<server>/<path>, afs://<address> or mock://<path>.
      - Nothing outside of its path can be reached.
    type: str
  properties:
    description:
      - What the type of the store needs or takes beside its address.
    type: dict
    suboptions:
      endpoint:
        description:
          - Address of the object store, for types s3 and bos.
          - TLS is used when it begins with https.
        type: str
      region:
        description:
          - Region of the object store.
          - When it is not given, it is us-east-1 for type s3 and bj for type bos.
        type: str
      access_key:
        description:
          - Access key of the object store.
          - It may stand in the Secret instead.
        type: str
      secret_key:
        description:
          - Secret key of the object store.
        type: str
      session_token:
        description:
          - Session token for types s3 and bos, when something else renews temporary credentials.
        type: str
      s3_force_path_style:
        description:
          - Whether the bucket is a part of the path and not of the host name.
          - MinIO and most stores like S3 need it.
        type: bool
      insecure_skip_verify:
        description:
          - Whether to trust any certificate, or for type sftp any host key.
        type: bool
      implicit_directories:
        description:
          - Whether a prefix without an object of its own shows as a directory.
          - It does when this is not given.
        type: bool
      sts:
        description:
          - Whether agents use temporary credentials, for types s3 and bos.
          - They are lent by AWS's STS, or for type bos by that of BOS, and others are asked for when a fifth of their time is over.
        type: bool
      duration:
        description:
          - How many seconds temporary credentials are valid.
          - 43200 when it is not given; many stores lend none for less than 900.
        type: int
      acl:
        description:
          - Policy of temporary credentials, in the language of the store.
          - When it is not given, for type bos they reach what is below the path, and for type s3 what the role does.
        type: str
      sts_endpoint:
        description:
          - Address of who lends temporary credentials.
          - When it is not given, it is for type s3 that of the endpoint, or AWS's own where the endpoint is, and for type bos that of BOS.
        type: str
      role_arn:
        description:
          - Role that temporary credentials take on, for type s3.
          - Without one they are those of a session of the same user, which MinIO does not lend; MinIO wants any name here, and looks at the policy
            alone.
        type: str
      web_identity_token_file:
        description:
          - File with a token that is shown to STS in the place of keys, for type s3.
          - It is read again each time.
        type: str
      encryption:
        description:
          - 'How the store encrypts new objects, for type s3: with its own key (SSE-S3), with a key of its key service (SSE-KMS), or with customerKey
            (SSE-C).'
          - What the bucket says holds when this is not given.
          - One of V(SSE-S3), V(SSE-KMS), V(SSE-C), in any case.
        type: str
      kms_key_id:
        description:
          - Key of the key service for SSE-KMS.
          - The bucket's when it is not given.
        type: str
      customer_key:
        description:
          - Key of 32 bytes in base64 for SSE-C, without which nobody reads the objects.
          - The store wants TLS for it.
        type: str
      requester_pays:
        description:
          - Whether requests say that whoever makes them pays for them, which such buckets want.
        type: bool
      checksums:
        description:
          - Whether new objects carry a SHA-256 that the store compares with what it received, for type s3.
        type: bool
      storage_class:
        description:
          - Storage class of new objects, such as STANDARD_IA.
          - The store's when it is not given.
        type: str
      user:
        description:
          - User at the store, for types hdfs and sftp.
        type: str
      group:
        description:
          - Group at the store, for type hdfs.
        type: str
      username:
        description:
          - User at the store, for type afs.
        type: str
      password:
        description:
          - Password at the store, for types sftp and afs.
        type: str
      private_key:
        description:
          - Private key in PEM form, for type sftp.
          - It stands in place of a password.
        type: str
      host_key:
        description:
          - Host key, or text of a known_hosts file, for type sftp.
          - It has to be given unless insecureSkipVerify is true.
        type: str
      block_size:
        description:
          - Size of the blocks of new files, for type hdfs.
          - 64Mi when it is not given.
        type: raw
      replication:
        description:
          - Number of copies of new files, for type hdfs.
          - 3 when it is not given.
        type: int
      key_tab_data:
        description:
          - Kerberos key table in base64, for type hdfs.
        type: str
        aliases:
          - kerberos_keytab_data
      principal:
        description:
          - Kerberos principal, such as hdfs/host.
        type: str
        aliases:
          - kerberos_principal
      realm:
        description:
          - Kerberos realm.
        type: str
        aliases:
          - kerberos_realm
      kdc:
        description:
          - Kerberos key distribution centers as host or host:port, with commas between them.
          - The port is 88 when it is not given.
        type: str
        aliases:
          - kerberos_kdc
      name_node_principal:
        description:
          - Kerberos principal of the name nodes.
          - With an @ in it, it ends in the realm.
        type: str
        aliases:
          - kerberos_namenode_principal
      data_transfer_protection:
        description:
          - How data is protected on its way.
          - One of V(authentication), V(integrity), V(privacy), in any case.
        type: str
        aliases:
          - kerberos_data_transfer_protection
      pvc:
        description:
          - Claim that holds the data, for type mock.
        type: str
      namespace:
        description:
          - Namespace of that claim.
        type: str
      debug:
        description:
          - Has to be true where a link leads to type local, whose content differs from node to node.
        type: bool
      uid:
        description:
          - User that owns entries whose owner the store does not know.
        type: int
      gid:
        description:
          - Group that owns entries whose owner the store does not know.
        type: int
      dir_mode:
        description:
          - Permissions of directories whose permissions the store does not know, as octal text.
          - 0755 when it is not given.
        type: raw
      file_mode:
        description:
          - Permissions of files whose permissions the store does not know, as octal text.
          - 0644 when it is not given.
        type: raw
      umask:
        description:
          - Permissions that no entry has, as octal text.
        type: raw
      ignore_ownership:
        description:
          - Whether a change of owner or permissions that the store cannot keep succeeds silently.
          - It is refused when this is not given.
        type: bool
      persist_attributes:
        description:
          - Whether owner, permissions and times are kept with each object, for types s3 and bos.
        type: bool
      relaxed_open:
        description:
          - Whether a file is opened without asking the store for its version again.
          - For data that nobody writes.
        type: bool
  secret_ref:
    description:
      - The Secret, in the same namespace, that holds what is secret.
      - Its keys are the names of the properties that it stands for.
    type: dict
    suboptions:
      name:
        description:
          - Name of the Secret.
        type: str
  vault:
    description:
      - The secret in Vault, of a KV engine of version 1 or 2, that holds what is secret.
      - It is read by the module, also in check mode, and put into the Secret beside the object.
    type: dict
    suboptions:
      path:
        description:
          - Path of the secret below the engine, without the C(data) that version 2 has in its API.
        type: str
      engine_mount_point:
        description:
          - Where the engine is mounted.
          - Its version is asked for.
          - When nothing is given it is V(secret).
        type: str
      keys:
        description:
          - Which key of the secret holds which property.
          - A property that is named here is not given in O(properties).
        type: dict
        suboptions:
          access_key:
            description:
              - Key with the access key of the object store.
            type: str
          secret_key:
            description:
              - Key with the secret key of the object store.
            type: str
          session_token:
            description:
              - Key with the session token for types s3 and bos.
            type: str
          customer_key:
            description:
              - Key with the customerKey for SSE-C, for type s3.
            type: str
          password:
            description:
              - Key with the password at the store, for types sftp and afs.
            type: str
          private_key:
            description:
              - Key with the private key in PEM form, for type sftp.
            type: str
          key_tab_data:
            description:
              - Key with the Kerberos key table in base64, for type hdfs.
            type: str
  objects:
    description:
      - Several filesystem_link objects at once; each entry has the options of this module.
      - The O(state), the O(labels) and the O(annotations) beside it are the defaults of every entry, and so is the O(namespace).
      - Mutually exclusive with O(name) and the options of a single one.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the filesystem link.
        type: str
      namespace:
        description: Its namespace; that of the connection when it is not given.
        type: str
      labels:
        description: Further labels of the object.
        type: dict
      annotations:
        description: Further annotations of the object.
        type: dict
      state:
        description:
          - What it shall be; V(present) when nothing is given.
        type: str
        choices:
          - present
          - absent
      file_system:
        description:
          - The file system that it is in, in the same namespace; of type hdfs, s3, sftp or cfs.
          - It cannot be changed.
        type: str
        aliases:
          - fs_name
      path:
        description:
          - Absolute path of the link inside of the file system.
          - Its parent directory is there; itself is not, or is empty; no link contains another one.
          - It cannot be changed.
        type: str
        aliases:
          - fs_path
      url:
        description:
          - Address of the store, by its type.
          - It is s3://<bucket>/<path>, bos://<bucket>/<path>, hdfs://<host:port>/<path> with further hosts after commas, sftp://<host:port>/<path>,
            local://<path>, glusterfs://<host>:<volume>, cfs://<server>/<path>, afs://<address> or mock://<path>.
          - Nothing outside of its path can be reached.
        type: str
      properties:
        description:
          - What the type of the store needs or takes beside its address.
        type: dict
        suboptions:
          endpoint:
            description:
              - Address of the object store, for types s3 and bos.
              - TLS is used when it begins with https.
            type: str
          region:
            description:
              - Region of the object store.
              - When it is not given, it is us-east-1 for type s3 and bj for type bos.
            type: str
          access_key:
            description:
              - Access key of the object store.
              - It may stand in the Secret instead.
            type: str
          secret_key:
            description:
              - Secret key of the object store.
            type: str
          session_token:
            description:
              - Session token for types s3 and bos, when something else renews temporary credentials.
            type: str
          s3_force_path_style:
            description:
              - Whether the bucket is a part of the path and not of the host name.
              - MinIO and most stores like S3 need it.
            type: bool
          insecure_skip_verify:
            description:
              - Whether to trust any certificate, or for type sftp any host key.
            type: bool
          implicit_directories:
            description:
              - Whether a prefix without an object of its own shows as a directory.
              - It does when this is not given.
            type: bool
          sts:
            description:
              - Whether agents use temporary credentials, for types s3 and bos.
              - They are lent by AWS's STS, or for type bos by that of BOS, and others are asked for when a fifth of their time is over.
            type: bool
          duration:
            description:
              - How many seconds temporary credentials are valid.
              - 43200 when it is not given; many stores lend none for less than 900.
            type: int
          acl:
            description:
              - Policy of temporary credentials, in the language of the store.
              - When it is not given, for type bos they reach what is below the path, and for type s3 what the role does.
            type: str
          sts_endpoint:
            description:
              - Address of who lends temporary credentials.
              - When it is not given, it is for type s3 that of the endpoint, or AWS's own where the endpoint is, and for type bos that of BOS.
            type: str
          role_arn:
            description:
              - Role that temporary credentials take on, for type s3.
              - Without one they are those of a session of the same user, which MinIO does not lend; MinIO wants any name here, and looks at the
                policy alone.
            type: str
          web_identity_token_file:
            description:
              - File with a token that is shown to STS in the place of keys, for type s3.
              - It is read again each time.
            type: str
          encryption:
            description:
              - 'How the store encrypts new objects, for type s3: with its own key (SSE-S3), with a key of its key service (SSE-KMS), or with
                customerKey (SSE-C).'
              - What the bucket says holds when this is not given.
              - One of V(SSE-S3), V(SSE-KMS), V(SSE-C), in any case.
            type: str
          kms_key_id:
            description:
              - Key of the key service for SSE-KMS.
              - The bucket's when it is not given.
            type: str
          customer_key:
            description:
              - Key of 32 bytes in base64 for SSE-C, without which nobody reads the objects.
              - The store wants TLS for it.
            type: str
          requester_pays:
            description:
              - Whether requests say that whoever makes them pays for them, which such buckets want.
            type: bool
          checksums:
            description:
              - Whether new objects carry a SHA-256 that the store compares with what it received, for type s3.
            type: bool
          storage_class:
            description:
              - Storage class of new objects, such as STANDARD_IA.
              - The store's when it is not given.
            type: str
          user:
            description:
              - User at the store, for types hdfs and sftp.
            type: str
          group:
            description:
              - Group at the store, for type hdfs.
            type: str
          username:
            description:
              - User at the store, for type afs.
            type: str
          password:
            description:
              - Password at the store, for types sftp and afs.
            type: str
          private_key:
            description:
              - Private key in PEM form, for type sftp.
              - It stands in place of a password.
            type: str
          host_key:
            description:
              - Host key, or text of a known_hosts file, for type sftp.
              - It has to be given unless insecureSkipVerify is true.
            type: str
          block_size:
            description:
              - Size of the blocks of new files, for type hdfs.
              - 64Mi when it is not given.
            type: raw
          replication:
            description:
              - Number of copies of new files, for type hdfs.
              - 3 when it is not given.
            type: int
          key_tab_data:
            description:
              - Kerberos key table in base64, for type hdfs.
            type: str
            aliases:
              - kerberos_keytab_data
          principal:
            description:
              - Kerberos principal, such as hdfs/host.
            type: str
            aliases:
              - kerberos_principal
          realm:
            description:
              - Kerberos realm.
            type: str
            aliases:
              - kerberos_realm
          kdc:
            description:
              - Kerberos key distribution centers as host or host:port, with commas between them.
              - The port is 88 when it is not given.
            type: str
            aliases:
              - kerberos_kdc
          name_node_principal:
            description:
              - Kerberos principal of the name nodes.
              - With an @ in it, it ends in the realm.
            type: str
            aliases:
              - kerberos_namenode_principal
          data_transfer_protection:
            description:
              - How data is protected on its way.
              - One of V(authentication), V(integrity), V(privacy), in any case.
            type: str
            aliases:
              - kerberos_data_transfer_protection
          pvc:
            description:
              - Claim that holds the data, for type mock.
            type: str
          namespace:
            description:
              - Namespace of that claim.
            type: str
          debug:
            description:
              - Has to be true where a link leads to type local, whose content differs from node to node.
            type: bool
          uid:
            description:
              - User that owns entries whose owner the store does not know.
            type: int
          gid:
            description:
              - Group that owns entries whose owner the store does not know.
            type: int
          dir_mode:
            description:
              - Permissions of directories whose permissions the store does not know, as octal text.
              - 0755 when it is not given.
            type: raw
          file_mode:
            description:
              - Permissions of files whose permissions the store does not know, as octal text.
              - 0644 when it is not given.
            type: raw
          umask:
            description:
              - Permissions that no entry has, as octal text.
            type: raw
          ignore_ownership:
            description:
              - Whether a change of owner or permissions that the store cannot keep succeeds silently.
              - It is refused when this is not given.
            type: bool
          persist_attributes:
            description:
              - Whether owner, permissions and times are kept with each object, for types s3 and bos.
            type: bool
          relaxed_open:
            description:
              - Whether a file is opened without asking the store for its version again.
              - For data that nobody writes.
            type: bool
      secret_ref:
        description:
          - The Secret, in the same namespace, that holds what is secret.
          - Its keys are the names of the properties that it stands for.
        type: dict
        suboptions:
          name:
            description:
              - Name of the Secret.
            type: str
      vault:
        description:
          - The secret in Vault, of a KV engine of version 1 or 2, that holds what is secret.
          - It is read by the module, also in check mode, and put into the Secret beside the object.
        type: dict
        suboptions:
          path:
            description:
              - Path of the secret below the engine, without the C(data) that version 2 has in its API.
            type: str
          engine_mount_point:
            description:
              - Where the engine is mounted.
              - Its version is asked for.
              - When nothing is given it is V(secret).
            type: str
          keys:
            description:
              - Which key of the secret holds which property.
              - A property that is named here is not given in O(properties).
            type: dict
            suboptions:
              access_key:
                description:
                  - Key with the access key of the object store.
                type: str
              secret_key:
                description:
                  - Key with the secret key of the object store.
                type: str
              session_token:
                description:
                  - Key with the session token for types s3 and bos.
                type: str
              customer_key:
                description:
                  - Key with the customerKey for SSE-C, for type s3.
                type: str
              password:
                description:
                  - Key with the password at the store, for types sftp and afs.
                type: str
              private_key:
                description:
                  - Key with the private key in PEM form, for type sftp.
                type: str
              key_tab_data:
                description:
                  - Key with the Kerberos key table in base64, for type hdfs.
                type: str
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.write
  - paddleflow.core.attributes
  - paddleflow.core.wait
  - paddleflow.core.vault
"""

EXAMPLES = r"""
- name: Another bucket as a directory of a file system
  paddleflow.core.filesystem_link:
    name: corpus-annotations
    namespace: science
    file_system: corpus
    path: /annotations
    url: s3://annotations/2026
    properties:
      endpoint: https://minio.example.org
    secret_ref:
      name: annotation-keys

- name: Take the link away; both places keep their data
  paddleflow.core.filesystem_link:
    name: corpus-annotations
    namespace: science
    state: absent
"""

RETURN = r"""
objects:
  description: What became of each object, in the order of the declaration.
  returned: always
  type: list
  elements: dict
  sample:
    - kind: FileSystemLink
      namespace: team
      name: one
      changed: true
      action: created
  contains:
    kind:
      description: Its kind.
      type: str
    namespace:
      description: Its namespace; empty for kinds that are in none.
      type: str
    name:
      description: Its name.
      type: str
    changed:
      description: Whether it was, or in check mode would be, changed.
      type: bool
    action:
      description: One of V(created), V(changed), V(recreated), V(deleted), V(unchanged), V(failed).
      type: str
    error:
      description: Why it failed, when it did.
      type: str
    object:
      description: The object itself, when O(return_content) asks for it.
      type: dict
problems:
  description: Everything that is wrong with the declaration, of which nothing was written.
  returned: when the declaration is wrong
  type: list
  elements: str
errors:
  description: What a program reads of each problem with a field.
  returned: when the declaration is wrong
  type: list
  elements: dict
  contains:
    code:
      description: The error code, as the reference platform names it.
      type: str
    field:
      description: The option that is wrong, with those that it is in.
      type: str
    hint:
      description: What to do about it.
      type: str
code:
  description: RV(errors[].code) of the first problem.
  returned: when the declaration is wrong
  type: str
field:
  description: RV(errors[].field) of the first problem.
  returned: when the declaration is wrong
  type: str
hint:
  description: RV(errors[].hint) of the first problem.
  returned: when the declaration is wrong
  type: str
"""

from ansible_collections.paddleflow.core.plugins.module_utils._core.kube.links import Links
from ansible_collections.paddleflow.core.plugins.module_utils._core.model import filesystem_link
from ansible_collections.paddleflow.core.plugins.module_utils._glue import stores


def main() -> None:
    stores.run(filesystem_link, Links())


if __name__ == "__main__":
    main()
