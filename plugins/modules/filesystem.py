#!/usr/bin/python
# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: filesystem
short_description: Declare file systems over object stores and other sources
version_added: 0.1.0
description:
  - Brings file systems into the declared state. A file system is a place in a store that pods mount as a directory.
  - What is secret is put into a Secret beside the file system, and never shown; it may as well stand in a Secret of yours, or in Vault.
  - The data itself is never touched, not even when the file system is taken away. Its grants go with it, where these may be read.
author:
  - The paddleflow.core authors (@paddleflow)
options:
  name:
    description: Name of the filesystem.
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
  owner:
    description:
      - Who it belongs to.
      - The namespace when it is not given.
      - Together with the name it has at most 59 characters.
      - It cannot be changed.
    type: str
  independent_mount_process:
    description:
      - Whether the agent runs as a process of the node's driver and not in a pod of its own.
      - When nothing is given it is V(false).
    type: bool
  cache:
    description:
      - How nodes cache it.
      - The module filesystem_cache writes this part alone.
    type: dict
    suboptions:
      cache_dir:
        description:
          - Directory of the node for cached data.
          - Without one, or when it is empty, nothing is kept on disk.
        type: str
      meta_driver:
        description:
          - Where metadata is cached.
          - In memory when it is not given; on disk, listings outlive a mount.
          - One of V(mem), V(disk), in any case.
        type: str
      block_size:
        description:
          - Bytes of a block of cached data.
          - 20Mi when it is not given; with 0 no data is cached.
        type: raw
      quota:
        description:
          - Bytes of disk that cached data of the file system may take on a node.
          - What was read longest ago goes first.
        type: raw
      clean_cache:
        description:
          - Whether to remove what is cached when the mount ends.
          - When nothing is given it is V(false).
        type: bool
      resource:
        description:
          - Limits of the process that mounts the file system.
        type: dict
        suboptions:
          cpu_limit:
            description:
              - CPU limit, at most 2.
              - There is none when it is not given.
            type: raw
          memory_limit:
            description:
              - Memory limit, at most 8Gi.
              - The cache in memory is a part of it.
            type: raw
      node_taint_toleration:
        description:
          - Taints that mount pods tolerate, as keys and values.
          - An empty value tolerates any.
        type: dict
      node_affinity:
        description:
          - Which nodes it may be, or rather should be, as the node affinity of a pod.
        type: dict
        suboptions:
          required_during_scheduling_ignored_during_execution:
            description:
              - What a node must be like.
            type: dict
            suboptions:
              node_selector_terms:
                description:
                  - Terms, one of which the node fulfils.
                type: list
                elements: dict
                suboptions:
                  match_expressions:
                    description:
                      - Conditions on labels of the node, all of which it fulfils.
                    type: list
                    elements: dict
                    suboptions:
                      key:
                        description:
                          - Name of the label.
                        type: str
                      operator:
                        description:
                          - How the label and the values are compared.
                          - One of V(In), V(NotIn), V(Exists), V(DoesNotExist), V(Gt), V(Lt), in any case.
                        type: str
                      values:
                        description:
                          - Values to compare with; none for Exists and DoesNotExist, one number for Gt and Lt.
                        type: list
                        elements: str
                  match_fields:
                    description:
                      - Conditions on fields of the node, all of which it fulfils.
                    type: list
                    elements: dict
                    suboptions:
                      key:
                        description:
                          - Name of the field.
                        type: str
                      operator:
                        description:
                          - How the field and the values are compared.
                          - One of V(In), V(NotIn), V(Exists), V(DoesNotExist), V(Gt), V(Lt), in any case.
                        type: str
                      values:
                        description:
                          - Values to compare with.
                        type: list
                        elements: str
          preferred_during_scheduling_ignored_during_execution:
            description:
              - What a node should be like.
            type: list
            elements: dict
            suboptions:
              weight:
                description:
                  - How much the term counts, from 1 to 100.
                type: int
              preference:
                description:
                  - The term.
                type: dict
                suboptions:
                  match_expressions:
                    description:
                      - Conditions on labels of the node, all of which it fulfils.
                    type: list
                    elements: dict
                    suboptions:
                      key:
                        description:
                          - Name of the label.
                        type: str
                      operator:
                        description:
                          - How the label and the values are compared.
                          - One of V(In), V(NotIn), V(Exists), V(DoesNotExist), V(Gt), V(Lt), in any case.
                        type: str
                      values:
                        description:
                          - Values to compare with; none for Exists and DoesNotExist, one number for Gt and Lt.
                        type: list
                        elements: str
                  match_fields:
                    description:
                      - Conditions on fields of the node, all of which it fulfils.
                    type: list
                    elements: dict
                    suboptions:
                      key:
                        description:
                          - Name of the field.
                        type: str
                      operator:
                        description:
                          - How the field and the values are compared.
                          - One of V(In), V(NotIn), V(Exists), V(DoesNotExist), V(Gt), V(Lt), in any case.
                        type: str
                      values:
                        description:
                          - Values to compare with.
                        type: list
                        elements: str
      extra_config:
        description:
          - Further flags of the agent, as names without their hyphens, and values.
        type: dict
      debug:
        description:
          - Whether the agent writes a detailed log.
          - When nothing is given it is V(false).
        type: bool
  objects:
    description:
      - Several filesystem objects at once; each entry has the options of this module.
      - The O(state), the O(labels) and the O(annotations) beside it are the defaults of every entry, and so is the O(namespace).
      - Mutually exclusive with O(name) and the options of a single one.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the filesystem.
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
      owner:
        description:
          - Who it belongs to.
          - The namespace when it is not given.
          - Together with the name it has at most 59 characters.
          - It cannot be changed.
        type: str
      independent_mount_process:
        description:
          - Whether the agent runs as a process of the node's driver and not in a pod of its own.
          - When nothing is given it is V(false).
        type: bool
      cache:
        description:
          - How nodes cache it.
          - The module filesystem_cache writes this part alone.
        type: dict
        suboptions:
          cache_dir:
            description:
              - Directory of the node for cached data.
              - Without one, or when it is empty, nothing is kept on disk.
            type: str
          meta_driver:
            description:
              - Where metadata is cached.
              - In memory when it is not given; on disk, listings outlive a mount.
              - One of V(mem), V(disk), in any case.
            type: str
          block_size:
            description:
              - Bytes of a block of cached data.
              - 20Mi when it is not given; with 0 no data is cached.
            type: raw
          quota:
            description:
              - Bytes of disk that cached data of the file system may take on a node.
              - What was read longest ago goes first.
            type: raw
          clean_cache:
            description:
              - Whether to remove what is cached when the mount ends.
              - When nothing is given it is V(false).
            type: bool
          resource:
            description:
              - Limits of the process that mounts the file system.
            type: dict
            suboptions:
              cpu_limit:
                description:
                  - CPU limit, at most 2.
                  - There is none when it is not given.
                type: raw
              memory_limit:
                description:
                  - Memory limit, at most 8Gi.
                  - The cache in memory is a part of it.
                type: raw
          node_taint_toleration:
            description:
              - Taints that mount pods tolerate, as keys and values.
              - An empty value tolerates any.
            type: dict
          node_affinity:
            description:
              - Which nodes it may be, or rather should be, as the node affinity of a pod.
            type: dict
            suboptions:
              required_during_scheduling_ignored_during_execution:
                description:
                  - What a node must be like.
                type: dict
                suboptions:
                  node_selector_terms:
                    description:
                      - Terms, one of which the node fulfils.
                    type: list
                    elements: dict
                    suboptions:
                      match_expressions:
                        description:
                          - Conditions on labels of the node, all of which it fulfils.
                        type: list
                        elements: dict
                        suboptions:
                          key:
                            description:
                              - Name of the label.
                            type: str
                          operator:
                            description:
                              - How the label and the values are compared.
                              - One of V(In), V(NotIn), V(Exists), V(DoesNotExist), V(Gt), V(Lt), in any case.
                            type: str
                          values:
                            description:
                              - Values to compare with; none for Exists and DoesNotExist, one number for Gt and Lt.
                            type: list
                            elements: str
                      match_fields:
                        description:
                          - Conditions on fields of the node, all of which it fulfils.
                        type: list
                        elements: dict
                        suboptions:
                          key:
                            description:
                              - Name of the field.
                            type: str
                          operator:
                            description:
                              - How the field and the values are compared.
                              - One of V(In), V(NotIn), V(Exists), V(DoesNotExist), V(Gt), V(Lt), in any case.
                            type: str
                          values:
                            description:
                              - Values to compare with.
                            type: list
                            elements: str
              preferred_during_scheduling_ignored_during_execution:
                description:
                  - What a node should be like.
                type: list
                elements: dict
                suboptions:
                  weight:
                    description:
                      - How much the term counts, from 1 to 100.
                    type: int
                  preference:
                    description:
                      - The term.
                    type: dict
                    suboptions:
                      match_expressions:
                        description:
                          - Conditions on labels of the node, all of which it fulfils.
                        type: list
                        elements: dict
                        suboptions:
                          key:
                            description:
                              - Name of the label.
                            type: str
                          operator:
                            description:
                              - How the label and the values are compared.
                              - One of V(In), V(NotIn), V(Exists), V(DoesNotExist), V(Gt), V(Lt), in any case.
                            type: str
                          values:
                            description:
                              - Values to compare with; none for Exists and DoesNotExist, one number for Gt and Lt.
                            type: list
                            elements: str
                      match_fields:
                        description:
                          - Conditions on fields of the node, all of which it fulfils.
                        type: list
                        elements: dict
                        suboptions:
                          key:
                            description:
                              - Name of the field.
                            type: str
                          operator:
                            description:
                              - How the field and the values are compared.
                              - One of V(In), V(NotIn), V(Exists), V(DoesNotExist), V(Gt), V(Lt), in any case.
                            type: str
                          values:
                            description:
                              - Values to compare with.
                            type: list
                            elements: str
          extra_config:
            description:
              - Further flags of the agent, as names without their hyphens, and values.
            type: dict
          debug:
            description:
              - Whether the agent writes a detailed log.
              - When nothing is given it is V(false).
            type: bool
extends_documentation_fragment:
  - paddleflow.core.auth
  - paddleflow.core.write
  - paddleflow.core.attributes
  - paddleflow.core.wait
  - paddleflow.core.vault
"""

EXAMPLES = r"""
- name: A bucket, with its keys from the environment of the play
  paddleflow.core.filesystem:
    name: corpus
    namespace: science
    url: s3://corpus/2026
    properties:
      endpoint: https://minio.example.org
      s3_force_path_style: true
      access_key: "{{ lookup('ansible.builtin.env', 'CORPUS_ACCESS_KEY', default='example-access-key') }}"
      secret_key: "{{ lookup('ansible.builtin.env', 'CORPUS_SECRET_KEY', default='example-secret-key') }}"

- name: The same bucket, with its keys in a Secret that somebody else keeps
  paddleflow.core.filesystem:
    name: corpus-shared
    namespace: science
    url: s3://corpus/2026
    properties:
      endpoint: https://minio.example.org
    secret_ref:
      name: corpus-keys

- name: The same bucket, with its keys in Vault, whose address and token stand in the environment
  paddleflow.core.filesystem:
    name: corpus-vault
    namespace: science
    url: s3://corpus/2026
    properties:
      endpoint: https://minio.example.org
    vault:
      path: science/corpus
      keys:
        access_key: access_key
        secret_key: secret_key

- name: A directory of an HDFS cluster
  paddleflow.core.filesystem:
    name: logs
    namespace: science
    url: hdfs://namenode.example.org:8020/logs
    properties:
      user: reader
      group: science

- name: Take a file system away; its data stays where it is
  paddleflow.core.filesystem:
    name: logs
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
    - kind: FileSystem
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

from ansible_collections.paddleflow.core.plugins.module_utils._core.model import filesystem
from ansible_collections.paddleflow.core.plugins.module_utils._glue import grants, stores


def main() -> None:
    stores.run(filesystem, follow=grants.of_file_systems)


if __name__ == "__main__":
    main()
